// Groups of wgmma that a warp has not waited for yet: what they read and write.
#ifndef SASSAY_PROFILER_SERVICE_EMULATOR_OPS_TENSOR_WGMMA_GROUPS_H_
#define SASSAY_PROFILER_SERVICE_EMULATOR_OPS_TENSOR_WGMMA_GROUPS_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "profiler_service/emulator/exec/block.h"

namespace sassay::emulator {

// Checked launches only: results are there at once, and nobody may look before the wait.
class WgmmaGroups : public BlockExtension {
 public:
  static constexpr size_t kMost = 256;  // groups of a warp, past which the oldest count as waited for
  // 16 bytes of shared memory that an operation of the open group reads.
  struct Read {
    uint32_t offset = 0;
    const Inst* inst = nullptr;
  };

  // The number of the group that `warp` fills now.
  uint32_t Open(const Warp& warp) { return Of(warp).committed + 1; }
  void NoteRead(Warp& warp, const Inst& inst, uint32_t offset);
  // wgmma.fence; and what asks for a product without one ever before is told.
  void Fence(const Warp& warp) { Of(warp).fenced = true; }
  void CheckFence(Warp& warp, const Inst& inst);
  void Commit(Warp& warp);
  void Wait(Warp& warp, size_t stay);

 private:
  struct Groups {
    std::vector<Read> open;
    std::deque<std::vector<Read>> pending;  // oldest first
    uint32_t committed = 0;
    bool fenced = false;
  };
  Groups& Of(const Warp& warp) { return groups_[warp.index()]; }
  void EndOldest(Warp& warp, Groups& groups);

  std::array<Groups, kMaxWarps> groups_;
};

}  // namespace sassay::emulator

#endif  // SASSAY_PROFILER_SERVICE_EMULATOR_OPS_TENSOR_WGMMA_GROUPS_H_
