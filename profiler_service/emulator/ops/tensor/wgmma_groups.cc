#include "profiler_service/emulator/ops/tensor/wgmma_groups.h"

#include <algorithm>
#include <utility>

#include "profiler_service/emulator/exec/access.h"

namespace sassay::emulator {
namespace {

constexpr uint32_t kPiece = 16;

}  // namespace

bool WgmmaGroups::AsksFirst(const Warp& warp) {
  uint32_t& most = products_[warp.index() / kWarpgroup];
  if (++Of(warp).products <= most) return false;
  most = Of(warp).products;
  return true;
}

void WgmmaGroups::NoteRead(Warp& warp, const Inst& inst, uint32_t offset) {
  NoteUnitRead(warp, inst, 0, warp.block(), offset, kPiece);
  Of(warp).open.push_back({offset, &inst});
}

void WgmmaGroups::CheckFence(Warp& warp, const Inst& inst) {
  constexpr auto kCode = sassay::v1::VERDICT_CODE_ASYNC_RACE;
  if (Of(warp).fenced || !warp.launch().report.Wants(kCode, inst.id, warp.block().index())) return;
  Misuse misuse;
  misuse.code = kCode;
  misuse.where = warp.PlaceOf(inst, 0);
  misuse.buffer = "registers";
  misuse.message =
      "wgmma.mma_async by a warp that has executed no wgmma.fence: what it did to registers and shared memory before "
      "is not ordered before the product";
  warp.launch().report.Add(std::move(misuse));
}

void WgmmaGroups::Commit(Warp& warp) {
  Groups& groups = Of(warp);
  ++groups.committed;
  warp.block().WakeUnits();
  if (!warp.checked()) return;
  groups.pending.push_back(std::exchange(groups.open, {}));
  warp.block().shared().Publish(warp.index(), asked_[warp.index() / kWarpgroup]);
  if (groups.pending.size() > kMost) EndOldest(warp, groups);
}

void WgmmaGroups::EndOldest(Warp& waiting, Groups& groups) {
  for (const Read& read : groups.pending.front()) NoteUnitReadEnd(waiting, *read.inst, 0, read.offset, kPiece);
  groups.pending.pop_front();
}

bool WgmmaGroups::Wait(Warp& warp, uint32_t stay) {
  Groups& groups = Of(warp);
  const auto& warps = warp.block().warps();
  const uint32_t over = groups.committed - std::min(groups.committed, stay);
  const uint32_t first = warp.index() / kWarpgroup * kWarpgroup;
  const uint32_t end = std::min(first + kWarpgroup, warp.block().warp_count());
  uint32_t least = groups.committed;
  for (uint32_t other = first; other < end; ++other) {
    if (!warps[other]->done()) least = std::min(least, groups_[other].committed);
  }
  groups.wanted = over;
  groups.waits = least < over;
  if (groups.waits) return false;
  // The last one to come lets the others go first, so that the warps go on in their order.
  const auto ready = [&](const Groups& its) { return its.waits && its.wanted <= least; };
  const bool others = std::any_of(groups_.begin() + first, groups_.begin() + end, ready);
  groups.gave_way = others && !groups.gave_way;
  warp.block().WakeUnits();
  if (groups.gave_way) return false;
  if (!warp.checked()) return true;
  SharedMemory& shared = warp.block().shared();
  Past& asked = asked_[warp.index() / kWarpgroup];
  shared.Observe(warp.index(), asked);
  for (uint32_t other = first; other < end; ++other) {
    Groups& its = groups_[other];
    while (!its.pending.empty() && its.committed - its.pending.size() < over) EndOldest(warp, its);
  }
  shared.Publish(warp.index(), asked);
  warp.EndRegisters(AsyncUnit::kWgmma, over);
  return true;
}

std::string WgmmaGroups::Waiting(uint32_t warp) const {
  return groups_[warp].waits ? "waiting for products that another warp of its warpgroup has not asked for" : "";
}

}  // namespace sassay::emulator
