// Groups of wgmma that a warp has not waited for yet: what they read and write.
#ifndef SASSAY_PROFILER_SERVICE_EMULATOR_OPS_TENSOR_WGMMA_GROUPS_H_
#define SASSAY_PROFILER_SERVICE_EMULATOR_OPS_TENSOR_WGMMA_GROUPS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "profiler_service/emulator/exec/block.h"

namespace sassay::emulator {

// The four warps of a warpgroup make each product together, each its own rows of the result, and nobody's wait is over
// before all four have asked for what it waits for: one thread may then tell others, for all of them, that the operands
// have been used. Results are there at once; in checked launches nobody may look before the wait.
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
  // Checked launches: `warp` asks for its next product; whether it is the first of its warpgroup to do so.
  bool AsksFirst(const Warp& warp);
  void NoteRead(Warp& warp, const Inst& inst, uint32_t offset);
  // wgmma.fence; and what asks for a product without one ever before is told.
  void Fence(const Warp& warp) { Of(warp).fenced = true; }
  void CheckFence(Warp& warp, const Inst& inst);
  void Commit(Warp& warp);
  // False: another warp of the warpgroup has not asked for all of it yet, or waits for this one's turn to go on in.
  bool Wait(Warp& warp, uint32_t stay);
  std::string Waiting(uint32_t warp) const override;

 private:
  struct Groups {
    std::vector<Read> open;
    std::deque<std::vector<Read>> pending;             // oldest first
    uint32_t committed = 0, products = 0, wanted = 0;  // `wanted`: what it waits for
    bool fenced = false, waits = false, gave_way = false;
  };
  static constexpr uint32_t kWarpgroup = 4;
  Groups& Of(const Warp& warp) { return groups_[warp.index()]; }
  static void EndOldest(Warp& waiting, Groups& groups);

  std::array<Groups, kMaxWarps> groups_;
  std::array<uint32_t, kMaxWarps / kWarpgroup> products_{};  // checked launches: by warpgroup, the most of its warps
  std::array<Past, kMaxWarps / kWarpgroup> asked_;  // checked launches: by warpgroup, what happens before its waits end
};

}  // namespace sassay::emulator

#endif  // SASSAY_PROFILER_SERVICE_EMULATOR_OPS_TENSOR_WGMMA_GROUPS_H_
