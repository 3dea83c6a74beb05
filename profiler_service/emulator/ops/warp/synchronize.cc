#include <bit>
#include <thread>

#include "absl/strings/str_cat.h"
#include "profiler_service/emulator/exec/block.h"
#include "profiler_service/emulator/ops/families.h"
#include "profiler_service/emulator/ops/lanes.h"

namespace sassay::emulator {
namespace {

// Inst::a is 1 for bar.red.and and 2 for bar.red.or; Inst::b is 1 for those that wait; Inst::c is 1 for aligned ones.
struct BarrierFacts {
  bool has_count = false;
  bool has_predicate = false;
};

// Lanes that name the same barrier arrive together.
Flow ArriveAtBarrier(Warp& warp, const Inst& inst) {
  const BarrierFacts& facts = *static_cast<const BarrierFacts*>(inst.extra);
  const int first = std::countr_zero(warp.mask());
  const Operand* sources = inst.o + inst.destinations;
  const uint32_t id = warp.In<uint32_t>(sources[0])[first];
  const uint32_t wanted = facts.has_count ? warp.In<uint32_t>(sources[1])[first] : 0;
  if (id >= Block::kBarriers || wanted % kLanes != 0 || wanted > 1024) {
    return warp.Fault(sassay::v1::VERDICT_CODE_ILLEGAL_INSTRUCTION, inst,
                      absl::StrCat("barrier ", id, " with ", wanted,
                                   " threads; there are barriers 0 to 15, and counts are multiples of 32"),
                      first);
  }
  const uint32_t same = Collect([&](int i) { return warp.In<uint32_t>(sources[0])[i] == id; });
  if ((warp.mask() & ~same) != 0) return warp.Part(same);
  const uint32_t votes = facts.has_predicate ? warp.PredicateIn(sources[inst.sources - 1]) : 0;
  Block& block = warp.block();
  if (inst.b == 0) {
    block.Arrive(warp, id, wanted, warp.mask(), false, votes);
    return Flow::kNext;
  }
  const uint32_t mask = warp.mask();
  warp.WaitAtBarrier(id);
  block.Arrive(warp, id, wanted, mask, true, votes);
  return Flow::kBlocked;
}

absl::Status DecodeBarrier(Decoder& d) {
  if (d.Has("cluster")) return DecodeClusterBarrier(d);
  if (d.Has("warp")) return d.Malformed("a known form");
  const bool reduces = d.Has("red"), arrives = d.Has("arrive");
  BarrierFacts facts;
  size_t at = 0;
  if (reduces) {
    d.inst().a = d.Has("and") ? 1 : 2;
    RETURN_IF_ERROR(d.NeedOperands(3, 4));
    RETURN_IF_ERROR(d.Destination(d.operand(at++), d.Has("popc") ? 4 : 0));
  }
  const size_t left = d.operand_count() - at - (reduces ? 1 : 0);
  if (left < 1 || left > 2) return d.Malformed("a barrier and perhaps a thread count");
  RETURN_IF_ERROR(d.Source(d.operand(at++), Type::kU32));
  facts.has_count = left == 2;
  if (facts.has_count) RETURN_IF_ERROR(d.Source(d.operand(at++), Type::kU32));
  facts.has_predicate = reduces;
  if (reduces) RETURN_IF_ERROR(d.Predicate(d.operand(at)));
  if (arrives && !facts.has_count) return d.Malformed("a thread count");
  d.inst().b = !arrives;
  d.inst().c = d.Part(0) == "bar" || d.Has("aligned");
  d.Attach(facts);
  return d.Set(ArriveAtBarrier, kSync | kTaintStops);
}

// bar.warp.sync: lanes of the mask meet, at whatever bar.warp.sync with this mask each of them has reached.
Flow WarpSync(Warp& warp, const Inst& inst) {
  const uint32_t members = warp.In<uint32_t>(inst.o[0])[std::countr_zero(warp.mask())];
  return warp.Met(members) ? Flow::kNext : Flow::kBlocked;
}

absl::Status DecodeBar(Decoder& d) {
  if (!d.Has("warp")) return DecodeBarrier(d);
  RETURN_IF_ERROR(d.NeedOperands(1, 1));
  RETURN_IF_ERROR(d.Source(d.operand(0), Type::kB32));
  return d.Set(WarpSync, kSync);
}

// Memory is sequentially consistent per host thread; between host threads a read-modify-write orders it (a plain fence
// would too, but ThreadSanitizer does not understand fences).
Flow Fence(Warp&, const Inst&) {
  static uint32_t everyone = 0;
  __atomic_fetch_add(&everyone, 1, __ATOMIC_SEQ_CST);
  return Flow::kNext;
}

// fence.proxy.async: what this warp has seen written, TMA and tensor cores will see, too.
Flow FenceProxy(Warp& warp, const Inst& inst) {
  if (warp.checked()) warp.block().shared().FenceProxy(warp.index());
  return Fence(warp, inst);
}

absl::Status DecodeFence(Decoder& d) { return d.Set(d.Has("proxy") && d.Has("async") ? FenceProxy : Fence); }

Flow Nanosleep(Warp&, const Inst&) {
  std::this_thread::yield();
  return Flow::kNext;
}
absl::Status DecodeNanosleep(Decoder& d) { return d.Set(Nanosleep, kSpins); }

}  // namespace

void RegisterSynchronize(OpTable& table) {
  table.Add("bar", DecodeBar);
  table.Add("barrier", DecodeBarrier);
  table.Add("membar", DecodeFence);
  table.Add("fence", DecodeFence);
  table.Add("nanosleep", DecodeNanosleep);
}

}  // namespace sassay::emulator
