// Endless loops, proven: the emulator is deterministic, so lanes that come back to the state they were in, while the
// memory that they read has not changed, will come back to it for ever.
#ifndef SASSAY_PROFILER_SERVICE_EMULATOR_EXEC_LOOP_WATCH_H_
#define SASSAY_PROFILER_SERVICE_EMULATOR_EXEC_LOOP_WATCH_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace sassay::emulator {

struct Code;
struct Frame;
struct Split;

// What a warp's loop has had to do with the world, counted.
struct LoopFacts {
  uint64_t reads = 0;    // of shared and global memory, and of whatever else others or time may change
  uint64_t changes = 0;  // of what the block's warps can see of each other: memory, barriers, exits
  uint64_t local = 0;    // a hash of local memory, which the snapshot does not hold
  uint32_t carry = 0;
};

// Watches the one split of a warp that can run (its other lanes wait or have left). At a backward branch it keeps the
// split's place and registers, and compares with them at later ones: Brent's method, so that a loop of any period is
// found. An honest loop differs where it differed last time, so a lap costs one comparison of 32 bytes.
//
// Life cycle: Forget when another block begins. Thread-compatible.
class LoopWatch {
 public:
  enum Verdict : uint8_t {
    kUnknown,
    kIdle,     // it goes round for as long as nobody else changes memory
    kEndless,  // it goes round whatever the others do
  };
  void Forget();
  // Others may have changed memory: a snapshot of a loop that reads it is void.
  void WorldChanged(uint64_t reads);
  Verdict AtBackwardBranch(const Split& split, const LoopFacts& facts);

 private:
  void Keep(const Split& split, const LoopFacts& facts);
  void Renew(uint32_t pause);
  bool SameFrames(const Frame* frame) const;
  bool SameRegisters();

  bool kept_ = false;
  uint32_t pause_ = 0;       // laps until the next snapshot
  uint32_t next_pause_ = 0;  // grows while snapshots turn out useless
  uint64_t laps_ = 0, most_laps_ = 0;
  LoopFacts facts_;
  uint32_t pc_ = 0, mask_ = 0;
  size_t probe_ = 0;  // where the registers differed last
  struct Activation {
    const Frame* frame;
    const Code* code;
    uint32_t return_pc;
  };
  std::vector<Activation> frames_;
  std::vector<uint8_t> registers_;  // of the split's frame, then of its callers
};

}  // namespace sassay::emulator

#endif  // SASSAY_PROFILER_SERVICE_EMULATOR_EXEC_LOOP_WATCH_H_
