#include <algorithm>
#include <bit>

#include "profiler_service/emulator/exec/block.h"
#include "profiler_service/emulator/ops/families.h"
#include "profiler_service/emulator/ops/lanes.h"

namespace sassay::emulator {
namespace {

// The member mask of a .sync instruction: the last source, uniform among its lanes.
uint32_t Members(Warp& warp, const Inst& inst) {
  return warp.In<uint32_t>(inst.o[inst.destinations + inst.sources - 1])[std::countr_zero(warp.mask())];
}

enum ShuffleMode : uint32_t { kUp, kDown, kBfly, kIdx };

// shfl.sync (PTX ISA 9.7.9.6). Reading a lane that is not here gives that lane's register as it stands, as hardware
// does.
Flow Shuffle(Warp& warp, const Inst& inst) {
  if (!warp.Gathered(Members(warp, inst))) return Flow::kBlocked;
  const Operand* sources = inst.o + inst.destinations;
  const uint32_t* a = warp.In<uint32_t>(sources[0]);
  const uint32_t* b = warp.In<uint32_t>(sources[1]);
  const uint32_t* c = warp.In<uint32_t>(sources[2]);
  uint32_t values[kLanes];
  uint32_t inside = 0;
  for (int i = 0; i < kLanes; ++i) {
    const int lane_or_delta = static_cast<int>(b[i] & 31), clamp = static_cast<int>(c[i] & 31);
    const int segment = static_cast<int>(c[i] >> 8 & 31);
    const int most = (i & segment) | (clamp & ~segment), least = i & segment;
    int from = i;
    bool valid = false;
    switch (inst.a) {
      case kUp:
        from = i - lane_or_delta;
        valid = from >= most;
        break;
      case kDown:
        from = i + lane_or_delta;
        valid = from <= most;
        break;
      case kBfly:
        from = i ^ lane_or_delta;
        valid = from <= most;
        break;
      default:
        from = least | (lane_or_delta & ~segment);
        valid = from <= most;
        break;
    }
    values[i] = a[valid ? from & 31 : i];
    inside |= uint32_t{valid} << i;
  }
  Map<uint32_t>(warp, inst.o[0], [&](int i) { return values[i]; });
  if (inst.destinations == 2) warp.SetPredicate(inst.o[1], inside);
  return Flow::kNext;
}

absl::Status DecodeShuffle(Decoder& d) {
  if (!d.Has("sync")) return d.Lacks();
  RETURN_IF_ERROR(d.NeedOperands(5, 5));
  d.inst().a = d.Has("up") ? kUp : d.Has("down") ? kDown : d.Has("bfly") ? kBfly : kIdx;
  const auto destinations = Decoder::Elements(d.operand(0));
  if (destinations.empty() || destinations.size() > 2) return d.Malformed("d or d|p");
  RETURN_IF_ERROR(d.Destination(*destinations[0], 4));
  if (destinations.size() == 2) RETURN_IF_ERROR(d.Destination(*destinations[1], 0));
  for (size_t i = 1; i <= 4; ++i) RETURN_IF_ERROR(d.Source(d.operand(i), Type::kB32));
  return d.Set(Shuffle, kSync | kJoins | kTaintStops);
}

enum VoteMode : uint32_t { kAll, kAny, kUni, kBallot };

Flow Vote(Warp& warp, const Inst& inst) {
  const uint32_t members = Members(warp, inst);
  if (!warp.Gathered(members)) return Flow::kBlocked;
  const uint32_t here = warp.mask() & members;
  const uint32_t votes = warp.PredicateIn(inst.o[1]) & here;
  switch (inst.a) {
    case kBallot:
      Map<uint32_t>(warp, inst.o[0], [&](int) { return votes; });
      break;
    case kAll:
      warp.SetPredicate(inst.o[0], votes == here ? ~0u : 0);
      break;
    case kAny:
      warp.SetPredicate(inst.o[0], votes != 0 ? ~0u : 0);
      break;
    default:
      warp.SetPredicate(inst.o[0], votes == here || votes == 0 ? ~0u : 0);
      break;
  }
  return Flow::kNext;
}

absl::Status DecodeVote(Decoder& d) {
  if (!d.Has("sync")) return d.Lacks();
  RETURN_IF_ERROR(d.NeedOperands(3, 3));
  d.inst().a = d.Has("ballot") ? kBallot : d.Has("all") ? kAll : d.Has("any") ? kAny : kUni;
  RETURN_IF_ERROR(d.Destination(d.operand(0), d.inst().a == kBallot ? 4 : 0));
  RETURN_IF_ERROR(d.Predicate(d.operand(1)));
  RETURN_IF_ERROR(d.Source(d.operand(2), Type::kB32));
  return d.Set(Vote, kSync | kJoins | kTaintStops);
}

// match.any and match.all: `a` 1 for all.
template <class T>
Flow Match(Warp& warp, const Inst& inst) {
  const uint32_t members = Members(warp, inst);
  if (!warp.Gathered(members)) return Flow::kBlocked;
  const uint32_t here = warp.mask() & members;
  const T* a = warp.In<T>(inst.o[inst.destinations]);
  auto equals = [&](int lane) { return Collect([&](int i) { return a[i] == a[lane]; }) & here; };
  if (inst.a == 0) {
    uint32_t found[kLanes];
    for (int i = 0; i < kLanes; ++i) found[i] = equals(i);
    Map<uint32_t>(warp, inst.o[0], [&](int i) { return found[i]; });
    return Flow::kNext;
  }
  const bool all = equals(std::countr_zero(here)) == here;
  Map<uint32_t>(warp, inst.o[0], [&](int) { return all ? here : 0; });
  if (inst.destinations == 2) warp.SetPredicate(inst.o[1], all ? ~0u : 0);
  return Flow::kNext;
}

absl::Status DecodeMatch(Decoder& d) {
  RETURN_IF_ERROR(d.NeedOperands(3, 3));
  const Type type = d.type();
  d.inst().a = d.Has("all");
  const auto destinations = Decoder::Elements(d.operand(0));
  if (destinations.empty() || destinations.size() > 2) return d.Malformed("d or d|p");
  RETURN_IF_ERROR(d.Destination(*destinations[0], 4));
  if (destinations.size() == 2) RETURN_IF_ERROR(d.Destination(*destinations[1], 0));
  RETURN_IF_ERROR(d.Source(d.operand(1), type));
  RETURN_IF_ERROR(d.Source(d.operand(2), Type::kB32));
  return d.Set(SizeOf(type) == 8 ? Match<uint64_t> : Match<uint32_t>, kSync | kJoins | kTaintStops);
}

enum ReduceMode : uint32_t { kAdd, kMin, kMax, kAnd, kOr, kXor };

Flow Reduce(Warp& warp, const Inst& inst) {
  const uint32_t members = Members(warp, inst);
  if (!warp.Gathered(members)) return Flow::kBlocked;
  const uint32_t* a = warp.In<uint32_t>(inst.o[1]);
  uint32_t result = 0;
  bool first = true;
  for (uint32_t rest = warp.mask() & members; rest != 0; rest &= rest - 1) {
    const uint32_t value = a[std::countr_zero(rest)];
    const bool less = inst.b != 0 ? static_cast<int32_t>(value) < static_cast<int32_t>(result) : value < result;
    if (first) {
      result = value;
    } else if (inst.a == kAdd) {
      result += value;
    } else if (inst.a == kMin) {
      result = less ? value : result;
    } else if (inst.a == kMax) {
      result = less ? result : value;
    } else {
      result = inst.a == kAnd ? result & value : inst.a == kOr ? result | value : result ^ value;
    }
    first = false;
  }
  Map<uint32_t>(warp, inst.o[0], [&](int) { return result; });
  return Flow::kNext;
}

absl::Status DecodeReduce(Decoder& d) {
  if (SizeOf(d.type()) != 4 || IsFloat(d.type())) return d.Lacks();
  RETURN_IF_ERROR(d.NeedOperands(3, 3));
  d.inst().a = d.Has("add")   ? kAdd
               : d.Has("min") ? kMin
               : d.Has("max") ? kMax
               : d.Has("and") ? kAnd
               : d.Has("or")  ? kOr
                              : kXor;
  d.inst().b = IsSigned(d.type());
  RETURN_IF_ERROR(d.Destination(d.operand(0), 4));
  RETURN_IF_ERROR(d.Source(d.operand(1), Type::kB32));
  RETURN_IF_ERROR(d.Source(d.operand(2), Type::kB32));
  return d.Set(Reduce, kSync | kJoins | kTaintStops);
}

Flow ActiveMask(Warp& warp, const Inst& inst) {
  const uint32_t mask = warp.mask();
  Map<uint32_t>(warp, inst.o[0], [=](int) { return mask; });
  return Flow::kNext;
}

absl::Status DecodeActiveMask(Decoder& d) {
  RETURN_IF_ERROR(d.NeedOperands(1, 1));
  RETURN_IF_ERROR(d.Destination(d.operand(0), 4));
  return d.Set(ActiveMask);
}

// elect.sync d|p, members: the lowest lane is elected, as hardware does.
Flow Elect(Warp& warp, const Inst& inst) {
  const uint32_t members = Members(warp, inst);
  if (!warp.Gathered(members)) return Flow::kBlocked;
  const uint32_t leader = static_cast<uint32_t>(std::countr_zero(warp.mask() & members)) & 31;
  Map<uint32_t>(warp, inst.o[0], [=](int) { return leader; });
  warp.SetPredicate(inst.o[1], 1u << leader);
  return Flow::kNext;
}

absl::Status DecodeElect(Decoder& d) {
  RETURN_IF_ERROR(d.NeedOperands(2, 2));
  const auto destinations = Decoder::Elements(d.operand(0));
  if (destinations.size() != 2) return d.Malformed("d|p");
  RETURN_IF_ERROR(d.Destination(*destinations[0], 4));
  RETURN_IF_ERROR(d.Destination(*destinations[1], 0));
  RETURN_IF_ERROR(d.Source(d.operand(1), Type::kB32));
  return d.Set(Elect, kSync | kJoins | kTaintStops);
}

}  // namespace

void RegisterWarpWide(OpTable& table) {
  table.Add("shfl", DecodeShuffle);
  table.Add("vote", DecodeVote);
  table.Add("match", DecodeMatch);
  table.Add("redux", DecodeReduce);
  table.Add("activemask", DecodeActiveMask);
  table.Add("elect", DecodeElect);
}

}  // namespace sassay::emulator
