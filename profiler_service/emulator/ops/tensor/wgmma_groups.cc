#include "profiler_service/emulator/ops/tensor/wgmma_groups.h"

#include <utility>

#include "profiler_service/emulator/exec/access.h"

namespace sassay::emulator {
namespace {

constexpr uint32_t kPiece = 16;

}  // namespace

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
  groups.pending.push_back(std::exchange(groups.open, {}));
  ++groups.committed;
  if (groups.pending.size() > kMost) EndOldest(warp, groups);
}

void WgmmaGroups::EndOldest(Warp& warp, Groups& groups) {
  for (const Read& read : groups.pending.front()) NoteUnitReadEnd(warp, *read.inst, 0, read.offset, kPiece);
  groups.pending.pop_front();
}

void WgmmaGroups::Wait(Warp& warp, size_t stay) {
  Groups& groups = Of(warp);
  while (groups.pending.size() > stay) EndOldest(warp, groups);
  warp.EndRegisters(AsyncUnit::kWgmma, groups.committed - static_cast<uint32_t>(groups.pending.size()));
}

}  // namespace sassay::emulator
