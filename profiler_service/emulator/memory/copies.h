// Asynchronous copies under way in one block: which bytes of shared memory will change at any time, and which bytes of
// global memory will be read at any time.
#ifndef SASSAY_PROFILER_SERVICE_EMULATOR_MEMORY_COPIES_H_
#define SASSAY_PROFILER_SERVICE_EMULATOR_MEMORY_COPIES_H_

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"

namespace sassay::emulator {

// A copy, for a finding: the last one begun that touches a word.
struct CopyMark {
  uint32_t inst = 0;  // Inst::id
  uint16_t thread = 0;
  uint8_t rank = 0;      // of the thread's block in its cluster
  bool of_unit = false;  // by TMA or a tensor core: waited for through a barrier or a group, by whomever it may be
  uint64_t count = 0;    // copies under way that touch the word
};

// Between the issue of a copy and its thread's wait, nobody may touch its destination or write to its source (PTX ISA,
// cp.async: no ordering without a wait). Words of four bytes, the least that a copy moves.
// Thread-compatible.
class CopiesUnderWay {
 public:
  void Reset() {
    shared_.clear();
    reads_.clear();
    sources_.clear();
  }
  bool any() const { return !shared_.empty() || !reads_.empty(); }

  // `shared_bytes`: of the block. `offset`: of the destination. `from`: null where nothing is read. `by`: who asked;
  // its count is not used.
  void Begin(uint32_t shared_bytes, uint32_t offset, const uint8_t* from, uint32_t bytes, const CopyMark& by);
  void End(uint32_t offset, const uint8_t* from, uint32_t bytes);

  // The same for what a unit reads out of shared memory, 16 bytes at a time: nobody may write there.
  void BeginRead(uint32_t shared_bytes, uint32_t offset, uint32_t bytes, const CopyMark& by);
  void EndRead(uint32_t offset, uint32_t bytes);
  const CopyMark* ReadAt(uint32_t offset, uint32_t bytes) const { return Find(reads_, kPiece, offset, bytes); }

  // The copy that a range meets, or null.
  const CopyMark* AtShared(uint32_t offset, uint32_t bytes) const { return Find(shared_, 4, offset, bytes); }
  const CopyMark* AtSource(const uint8_t* at, uint32_t bytes) const;

 private:
  static uintptr_t Word(const uint8_t* at) { return reinterpret_cast<uintptr_t>(at) / 4; }
  static void Mark(CopyMark& word, const CopyMark& by);
  static constexpr uint32_t kPiece = 16;
  // `unit`: how many bytes one mark stands for.
  static const CopyMark* Find(const std::vector<CopyMark>& marks, uint32_t unit, uint32_t offset, uint32_t bytes);
  std::vector<CopyMark> shared_, reads_;  // by word and by piece; empty until the first one
  absl::flat_hash_map<uintptr_t, CopyMark> sources_;
};

}  // namespace sassay::emulator

#endif  // SASSAY_PROFILER_SERVICE_EMULATOR_MEMORY_COPIES_H_
