#include "profiler_service/emulator/ops/async/barrier_access.h"

#include <bit>
#include <utility>

#include "absl/strings/str_cat.h"
#include "profiler_service/emulator/exec/block.h"

namespace sassay::emulator {

AccessFacts BarrierAccess(const Decoder& d) {
  AccessFacts facts;
  for (const absl::string_view part : d.source().parts) {
    if (part == "shared" || part == "shared::cta") facts.space = Space::kShared;
    if (part == "shared::cluster") facts.of_cluster = true, facts.space = Space::kShared;
  }
  facts.kind = AccessKind::kAtomic;
  facts.bytes = 8;
  facts.atomic = true;
  facts.tells_changes = true;
  return facts;
}

bool FindBarriers(Warp& warp, const Inst& inst, const Operand& address, const AccessFacts& facts, int64_t displacement,
                  BarrierPlace (&places)[kLanes], uint32_t& here) {
  uint64_t addresses[kLanes];
  Lanes lanes;
  Addresses(warp, address, displacement, addresses);
  if (!Access(warp, inst, facts, addresses, lanes)) return false;
  here = lanes.shared;
  for (uint32_t rest = lanes.mask; rest != 0; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    if ((lanes.shared >> lane & 1) == 0) {
      if (!ReportBarrierMisuse(warp, inst, lane, "an mbarrier that is not in shared memory")) return false;
      continue;
    }
    places[lane].block = lanes.block[lane];
    places[lane].offset = static_cast<uint32_t>(lanes.at[lane] - places[lane].block->shared().data());
    places[lane].unwritten = lanes.unwritten[lane];
  }
  return true;
}

bool CheckBarrier(Warp& warp, const Inst& inst, int lane, const BarrierPlace& place) {
  const Mbarriers::Trouble trouble = place.block->mbarriers().Check(place.offset);
  if (trouble == Mbarriers::Trouble::kNone) return true;
  const std::string where = place.block->NameOfShared(place.offset);
  ReportBarrierMisuse(warp, inst, lane,
                      trouble == Mbarriers::Trouble::kNeverInitialised
                          ? absl::StrCat("no mbarrier has been initialised at ", where)
                          : absl::StrCat("the mbarrier at ", where, " has been written over since it was initialised"));
  return false;
}

bool ReportBarrierMisuse(Warp& warp, const Inst& inst, int lane, std::string message) {
  constexpr auto kCode = sassay::v1::VERDICT_CODE_BARRIER_MISUSE;
  if (!warp.checked()) {
    warp.Fault(kCode, inst, std::move(message), lane);
    return false;
  }
  if (!warp.launch().report.Wants(kCode, inst.id, warp.block().index())) return true;
  Misuse misuse;
  misuse.code = kCode;
  misuse.where = warp.PlaceOf(inst, lane);
  misuse.buffer = "shared";
  misuse.message = std::move(message);
  warp.launch().report.Add(std::move(misuse));
  return true;
}

}  // namespace sassay::emulator
