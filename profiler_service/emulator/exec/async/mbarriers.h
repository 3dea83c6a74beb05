// The mbarriers of one block: what their words in shared memory say, and beside it what only a report needs.
#ifndef SASSAY_PROFILER_SERVICE_EMULATOR_EXEC_ASYNC_MBARRIERS_H_
#define SASSAY_PROFILER_SERVICE_EMULATOR_EXEC_ASYNC_MBARRIERS_H_

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "profiler_service/emulator/memory/shared_memory.h"

namespace sassay::emulator {

class Block;
class Warp;

// An mbarrier's 64 bits, which PTX calls opaque (PTX ISA 9.0, 9.7.13.15). The fields have the ranges that the ISA
// names: counts of 20 bits, a tx-count of 21 bits with sign. One bit is always set, so that zeros are no barrier.
struct MbarrierWord {
  static constexpr uint32_t kMostCount = (1 << 20) - 1;
  uint32_t expected = 0;  // arrivals of the next phase
  uint32_t pending = 0;   // arrivals that this phase still waits for, modulo 2^20
  int32_t bytes = 0;      // the tx-count: announced, and not yet come
  bool odd = false;       // the present phase's parity

  static MbarrierWord FromBits(uint64_t bits);
  uint64_t ToBits() const;
};

// What the async proxy (TMA, tensor cores) still has to do, and then tells an mbarrier. It is done as late as an honest
// kernel could notice: when somebody looks at the barrier. So code that does not wait finds what was there before.
class AsyncWork {
 public:
  virtual ~AsyncWork() = default;
  // Does it, and tells the barrier (Mbarriers::Complete, Arrive).
  virtual void Finish(Block& block) = 0;
};

// One barrier, told from its offset in the block's shared memory.
struct Mbarrier {
  MbarrierWord word;
  uint64_t phase = 0;        // since it was initialised
  uint32_t init_inst = 0;    // Inst::id
  uint32_t expect_inst = 0;  // of the last expect_tx, Inst::id
  bool expects_bytes = false;
  // Of the present phase.
  uint64_t announced_bytes = 0, come_bytes = 0;
  uint32_t arrivals = 0;
  // Who has ever arrived, (rank of the block, warp), and in which phase last.
  std::map<std::pair<uint32_t, uint32_t>, uint64_t> arrivers;
  Past arriving, over;  // checked launches: what happens before the present phase ends, and before the last one did
  std::vector<std::unique_ptr<AsyncWork>> work;
};

// Barriers begin with Init. The truth is the word in shared memory: a barrier whose word somebody has written over is
// none any more. A phase that ends wakes whoever waits (Warp::WaitAtMbarrier).
//
// Life cycle: Reset for each block. Thread-compatible.
class Mbarriers {
 public:
  enum class Trouble : uint8_t { kNone, kNeverInitialised, kOverwritten };
  static constexpr size_t kMostWork = 1 << 16;  // deferred to one barrier

  explicit Mbarriers(Block& block) : block_(block) {}
  void Reset() { barriers_.clear(); }
  bool any() const { return !barriers_.empty(); }

  Trouble Check(uint32_t offset) const;
  void Init(uint32_t offset, uint32_t count, uint32_t inst);
  void Invalidate(uint32_t offset) { barriers_.erase(offset); }

  // All of these ask for a barrier that Check finds good. `warp`: who does it; null for the async proxy.
  const Mbarrier& At(uint32_t offset) const { return barriers_.at(offset); }
  void Expect(uint32_t offset, uint32_t bytes, uint32_t inst);
  // Bytes have come, whose way began with `cause` (null where nobody looks for races).
  void Complete(uint32_t offset, uint32_t bytes, const Past* cause = nullptr);
  // What arrives next comes from another block of the cluster, `from`, and orders as SharedMemory::PublishAll says.
  // `cause`: what that block had done by then; null: all that it has done so far.
  void ComeFromAnotherBlock(uint32_t offset, Block& from, const Past* cause);
  // False: more arrivals than the phase waits for.
  bool Arrive(uint32_t offset, uint32_t count, bool drops, Warp* warp, const Past* cause = nullptr);
  // The present phase waits for one more arrival (cp.async.mbarrier.arrive without .noinc).
  void WaitForOneMore(uint32_t offset);
  // False: the barrier has more to wait for than it can hold.
  bool Defer(uint32_t offset, std::unique_ptr<AsyncWork> work);
  // Does all that was deferred.
  void Settle(uint32_t offset);
  // Whether the phase of this parity is over, for somebody who looks: Settles if it is not.
  bool Over(uint32_t offset, bool odd);

  // "the mbarrier at offset 73728 of shared memory: phase 0, 1 of 1 arrivals and 8192 of 32768 bytes are missing"
  std::string Describe(uint32_t offset) const;
  // What keeps a waiter for the phase of parity `odd` from going on, most likely. Certain: the barrier itself shows
  // that something is wrong; else somebody may merely be late because of another barrier.
  struct Cause {
    std::string text;
    bool certain = false;
  };
  Cause LikelyCause(uint32_t offset, bool odd) const;

 private:
  void Store(uint32_t offset, const Mbarrier& barrier);
  void TryComplete(uint32_t offset, Mbarrier& barrier);

  Block& block_;
  std::map<uint32_t, Mbarrier> barriers_;
};

}  // namespace sassay::emulator

#endif  // SASSAY_PROFILER_SERVICE_EMULATOR_EXEC_ASYNC_MBARRIERS_H_
