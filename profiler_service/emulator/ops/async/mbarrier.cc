#include <bit>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "profiler_service/emulator/exec/access.h"
#include "profiler_service/emulator/exec/block.h"
#include "profiler_service/emulator/ops/async/barrier_access.h"
#include "profiler_service/emulator/ops/families.h"
#include "profiler_service/emulator/ops/lanes.h"

// mbarrier.* (PTX ISA 9.0, 9.7.13.15): lanes go one after the other, in their order.
namespace sassay::emulator {
namespace {

enum Operation : uint8_t {
  kInit,
  kInval,
  kExpect,
  kComplete,
  kArrive,
  kTest,
};

struct Facts {
  AccessFacts access;
  Operation operation = kInit;
  bool expects = false;  // arrive.expect_tx: the last source counts bytes
  bool drops = false;
  bool returns = false;  // arrive gives the state
  bool has_count = false;
  bool waits = false;  // try_wait
  bool by_parity = false;
};

// One value of the lane's last source, where there is a count.
uint32_t CountOf(Warp& warp, const Inst& inst, const Facts& facts, int lane) {
  if (!facts.has_count) return 1;
  return warp.In<uint32_t>(inst.o[inst.destinations + 1])[lane];
}

bool Init(Warp& warp, const Inst& inst, int lane, BarrierPlace place) {
  const uint32_t count = warp.In<uint32_t>(inst.o[1])[lane];
  if (count == 0 || count > MbarrierWord::kMostCount) {
    return ReportBarrierMisuse(warp, inst, lane,
                               absl::StrCat("mbarrier.init with a count of ", count, "; 1 to 1048575 are allowed"));
  }
  place.block->mbarriers().Init(place.offset, count, inst.id);
  if (place.unwritten != nullptr) std::memset(place.unwritten, 0, sizeof(uint64_t));
  return true;
}

bool Arrive(Warp& warp, const Inst& inst, const Facts& facts, int lane, BarrierPlace place) {
  Mbarriers& barriers = place.block->mbarriers();
  if (facts.returns) warp.SetLane(inst.o[0], lane, barriers.At(place.offset).word.ToBits());
  uint32_t count = CountOf(warp, inst, facts, lane);
  if (facts.expects) {
    barriers.Expect(place.offset, count, inst.id);
    count = 1;
  }
  const uint32_t wanted = barriers.At(place.offset).word.expected;
  if (barriers.Arrive(place.offset, count, facts.drops, &warp)) return true;
  return ReportBarrierMisuse(warp, inst, lane,
                             absl::StrCat("more arrivals than the ", wanted, " that ", barriers.Describe(place.offset),
                                          " was initialised for"));
}

bool DoOne(Warp& warp, const Inst& inst, const Facts& facts, int lane, BarrierPlace place) {
  if (facts.operation == kInit) return Init(warp, inst, lane, place);
  if (!CheckBarrier(warp, inst, lane, place)) return !warp.launch().stop;
  Mbarriers& barriers = place.block->mbarriers();
  switch (facts.operation) {
    case kInval:
      barriers.Invalidate(place.offset);
      return true;
    case kExpect:
      barriers.Expect(place.offset, warp.In<uint32_t>(inst.o[1])[lane], inst.id);
      return true;
    case kComplete:
      barriers.Complete(place.offset, warp.In<uint32_t>(inst.o[1])[lane]);
      return true;
    default:
      return Arrive(warp, inst, facts, lane, place);
  }
}

Flow Change(Warp& warp, const Inst& inst) {
  const Facts& facts = *static_cast<const Facts*>(inst.extra);
  BarrierPlace places[kLanes];
  uint32_t here = 0;
  if (!FindBarriers(warp, inst, inst.o[inst.destinations], facts.access, inst.immediate, places, here))
    return Flow::kRedirected;
  for (uint32_t rest = here; rest != 0; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    if (!DoOne(warp, inst, facts, lane, places[lane])) return Flow::kRedirected;
  }
  return Flow::kNext;
}

bool Odd(Warp& warp, const Inst& inst, const Facts& facts, int lane) {
  if (facts.by_parity) return (warp.In<uint32_t>(inst.o[2])[lane] & 1) != 0;
  return MbarrierWord::FromBits(warp.In<uint64_t>(inst.o[2])[lane]).odd;
}

// test_wait and try_wait: p, [barrier], state or parity. try_wait waits where all lanes that fail wait for the same.
Flow Test(Warp& warp, const Inst& inst) {
  const Facts& facts = *static_cast<const Facts*>(inst.extra);
  BarrierPlace places[kLanes];
  uint32_t here = 0, over = 0;
  if (!FindBarriers(warp, inst, inst.o[1], facts.access, inst.immediate, places, here)) return Flow::kRedirected;
  for (uint32_t rest = here; rest != 0; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    if (!CheckBarrier(warp, inst, lane, places[lane])) {
      if (warp.launch().stop) return Flow::kRedirected;
      over |= 1u << lane;  // reported; go on
      continue;
    }
    Mbarriers& barriers = places[lane].block->mbarriers();
    if (!barriers.Over(places[lane].offset, Odd(warp, inst, facts, lane))) continue;
    if (warp.launch().stop) return Flow::kRedirected;
    over |= 1u << lane;
    if (warp.checked()) warp.block().shared().Observe(warp.index(), barriers.At(places[lane].offset).over);
  }
  if (warp.launch().stop) return Flow::kRedirected;
  const bool timed_out = std::exchange(warp.split().timed_out, false);
  if (facts.waits && over == 0 && here != 0 && !timed_out) {
    const int first = std::countr_zero(here);
    const bool odd = Odd(warp, inst, facts, first);
    const uint32_t same = Collect([&](int i) {
      return (here >> i & 1) != 0 && places[i].offset == places[first].offset && Odd(warp, inst, facts, i) == odd;
    });
    if (same == here) return warp.WaitAtMbarrier(places[first].offset, odd);
  }
  warp.SetPredicate(inst.o[0], over);
  return Flow::kNext;
}

// mbarrier.pending_count: what a state says of the arrivals that were missing.
Flow PendingCount(Warp& warp, const Inst& inst) {
  const uint64_t* states = warp.In<uint64_t>(inst.o[1]);
  Map<uint32_t>(warp, inst.o[0], [=](int i) { return MbarrierWord::FromBits(states[i]).pending; });
  return Flow::kNext;
}

absl::Status DecodeTest(Decoder& d, Facts facts) {
  RETURN_IF_ERROR(d.NeedOperands(3, facts.waits ? 4 : 3));  // a fourth is a time, which says nothing here
  facts.operation = kTest;
  facts.by_parity = d.Has("parity");
  facts.access.kind = AccessKind::kRead;
  if (facts.access.of_cluster) return d.Malformed("a barrier of the block itself");
  RETURN_IF_ERROR(d.Destination(d.operand(0), 0));
  RETURN_IF_ERROR(d.Address(d.operand(1)));
  RETURN_IF_ERROR(d.Source(d.operand(2), facts.by_parity ? Type::kU32 : Type::kB64));
  d.Attach(facts);
  return d.Set(Test, kTaintStops | kSpins);
}

// {state or _,} [barrier] {, count or bytes}. Where `state` is left out the address comes first.
absl::Status DecodeArrive(Decoder& d, Facts facts) {
  RETURN_IF_ERROR(d.NeedOperands(1, 3));
  facts.operation = kArrive;
  facts.expects = d.Has("expect_tx");
  facts.drops = d.Part(1) == "arrive_drop";
  size_t at = 0;
  if (d.operand(0).kind != ptx::Operand::kAddress) {
    facts.returns = d.operand(0).kind != ptx::Operand::kSink;
    if (facts.returns) RETURN_IF_ERROR(d.Destination(d.operand(0), 8));
    ++at;
  }
  RETURN_IF_ERROR(d.Address(d.operand(at++)));
  facts.has_count = at < d.operand_count();
  if (facts.has_count) RETURN_IF_ERROR(d.Source(d.operand(at), Type::kU32));
  if (facts.expects && !facts.has_count) return d.Malformed("a count of bytes");
  d.Attach(facts);
  return d.Set(Change, kTaintStops);
}

absl::Status DecodeCount(Decoder& d, Facts facts, Operation operation) {
  facts.operation = operation;
  RETURN_IF_ERROR(d.NeedOperands(operation == kInval ? 1 : 2, operation == kInval ? 1 : 2));
  RETURN_IF_ERROR(d.Address(d.operand(0)));
  if (operation != kInval) RETURN_IF_ERROR(d.Source(d.operand(1), Type::kU32));
  d.Attach(facts);
  return d.Set(Change, kTaintStops);
}

absl::Status DecodeMbarrier(Decoder& d) {
  const absl::string_view what = d.Part(1);
  if (what == "pending_count") return Regular(d, PendingCount, Type::kU32, {Type::kB64});
  if (!d.Has("b64")) return d.Malformed(".b64");
  Facts facts;
  facts.access = BarrierAccess(d);
  if (what == "init") {
    facts.access.atomic = false;  // who uses it must have been told
    return DecodeCount(d, facts, kInit);
  }
  if (what == "inval") return DecodeCount(d, facts, kInval);
  if (what == "expect_tx") return DecodeCount(d, facts, kExpect);
  if (what == "complete_tx") return DecodeCount(d, facts, kComplete);
  if (what == "arrive" || what == "arrive_drop") return DecodeArrive(d, facts);
  facts.waits = what == "try_wait";
  if (what == "try_wait" || what == "test_wait") return DecodeTest(d, facts);
  return d.Lacks();
}

}  // namespace

void RegisterMbarrier(OpTable& table) { table.Add("mbarrier", DecodeMbarrier); }

}  // namespace sassay::emulator
