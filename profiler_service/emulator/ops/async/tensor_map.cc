// tensormap.replace and tensormap.cp_fenceproxy (PTX ISA 9.0, 9.7.9.28 and 9.7.13.16): a kernel makes a tensor map of
// its own out of one that it was given, in shared or global memory. What an address, an extent and a stride are is
// sure; other fields, whose values the ISA numbers in ways of its own, are lacking.
#include <bit>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "profiler_service/emulator/descriptor/tensor_geometry.h"
#include "profiler_service/emulator/exec/access.h"
#include "profiler_service/emulator/exec/block.h"
#include "profiler_service/emulator/memory/racing.h"
#include "profiler_service/emulator/ops/families.h"

namespace sassay::emulator {
namespace {

constexpr uint32_t kMapBytes = 128, kMapAlignment = 64;

struct Facts {
  AccessFacts access, source;  // of the map; of what cp_fenceproxy copies
  MapField field = MapField::kAddress;
  uint32_t dimension = 0;
  int64_t displacement = 0, source_displacement = 0;
};

absl::string_view NameOf(MapField field) {
  constexpr absl::string_view kNames[] = {"address", "extent", "stride"};
  return kNames[static_cast<size_t>(field)];
}

// False: the launch has ended.
bool ReportRefused(Warp& warp, const Inst& inst, const Facts& facts, int lane, uint64_t value) {
  constexpr auto kCode = sassay::v1::VERDICT_CODE_DESCRIPTOR_INVALID;
  const std::string message =
      absl::StrCat("tensormap.replace of ", NameOf(facts.field), " ", facts.dimension, " by ", value,
                   ": these 128 bytes are no tensor map, it has no such dimension, or a map cannot hold that");
  if (!warp.checked()) {
    warp.Fault(kCode, inst, message, lane);
    return false;
  }
  if (!warp.launch().report.Wants(kCode, inst.id, warp.block().index())) return true;
  Misuse misuse;
  misuse.code = kCode;
  misuse.where = warp.PlaceOf(inst, lane);
  misuse.message = message;
  warp.launch().report.Add(std::move(misuse));
  return true;
}

void Store(Warp& warp, const Inst& inst, const AccessFacts& facts, const Lanes& lanes, int lane, const uint8_t* bytes) {
  if (warp.checked()) NoteStore(warp, inst, facts, lanes, bytes - lane * kMapBytes, kMapBytes);
  CopyToRacing(lanes.at[lane], bytes, kMapBytes);
}

// One lane's; the warp's mask names it alone.
bool ReplaceOne(Warp& warp, const Inst& inst, const Facts& facts, int lane) {
  uint64_t addresses[kLanes];
  Lanes lanes;
  Addresses(warp, inst.o[0], facts.displacement, addresses);
  if (!Access(warp, inst, facts.access, addresses, lanes)) return false;
  if (lanes.mask == 0) return true;
  uint8_t bytes[kMapBytes];
  CopyFromRacing(bytes, lanes.at[lane], kMapBytes);
  const uint64_t value = warp.Lane(inst.o[1], lane);
  if (!ReplaceInTensorMap(bytes, facts.field, facts.dimension, value)) {
    return ReportRefused(warp, inst, facts, lane, value);
  }
  Store(warp, inst, facts.access, lanes, lane, bytes);
  return true;
}

Flow Replace(Warp& warp, const Inst& inst) {
  const Facts& facts = *static_cast<const Facts*>(inst.extra);
  const uint32_t all = warp.mask();
  bool goes_on = true;
  for (uint32_t rest = all; rest != 0 && goes_on; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    warp.SetMask(1u << lane);
    goes_on = ReplaceOne(warp, inst, facts, lane);
    warp.SetMask(all);
  }
  return goes_on ? Flow::kNext : Flow::kRedirected;
}

// All lanes ask for the same copy.
Flow CopyAndFence(Warp& warp, const Inst& inst) {
  if (!warp.Gathered(~0u)) return Flow::kBlocked;
  const Facts& facts = *static_cast<const Facts*>(inst.extra);
  const uint32_t all = warp.mask();
  const int lane = std::countr_zero(all);
  uint64_t to[kLanes], from[kLanes];
  Lanes target, source;
  warp.SetMask(1u << lane);
  Addresses(warp, inst.o[0], facts.displacement, to);
  Addresses(warp, inst.o[1], facts.source_displacement, from);
  const bool goes_on = Access(warp, inst, facts.source, from, source) && Access(warp, inst, facts.access, to, target);
  if (goes_on && source.mask != 0 && target.mask != 0) {
    uint8_t bytes[kMapBytes];
    CopyFromRacing(bytes, source.at[lane], kMapBytes);
    Store(warp, inst, facts.access, target, lane, bytes);
  }
  warp.SetMask(all);
  return goes_on ? Flow::kNext : Flow::kRedirected;
}

AccessFacts MapAccess(Space space, AccessKind kind) {
  AccessFacts facts;
  facts.space = space;
  facts.kind = kind;
  facts.bytes = kMapBytes;
  facts.alignment = kMapAlignment;
  return facts;
}

absl::Status DecodeReplace(Decoder& d) {
  Facts facts;
  const bool of_dimension = d.Has("global_dim") || d.Has("global_stride");
  if (!d.Has("tile") || (!of_dimension && !d.Has("global_address"))) return d.Lacks();
  facts.field = d.Has("global_dim")      ? MapField::kExtent
                : d.Has("global_stride") ? MapField::kStride
                                         : MapField::kAddress;
  RETURN_IF_ERROR(d.NeedOperands(of_dimension ? 3 : 2, of_dimension ? 3 : 2));
  const Space space = d.Has("shared::cta") ? Space::kShared : d.Has("global") ? Space::kGlobal : Space::kGeneric;
  facts.access = MapAccess(space, AccessKind::kWrite);
  RETURN_IF_ERROR(d.Address(d.operand(0)));
  facts.displacement = std::exchange(d.inst().immediate, 0);
  if (of_dimension) {
    if (d.operand(1).kind != ptx::Operand::kInteger || d.operand(1).bits > 4) return d.Malformed("a dimension, 0 to 4");
    facts.dimension = static_cast<uint32_t>(d.operand(1).bits);
  }
  RETURN_IF_ERROR(d.Source(d.operand(of_dimension ? 2 : 1), d.Has("b64") ? Type::kB64 : Type::kB32));
  d.Attach(facts);
  return d.Set(Replace, kTaintStops);
}

absl::Status DecodeCopyAndFence(Decoder& d) {
  if (!d.Has("global") || !d.Has("shared::cta") || !d.Has("release")) return d.Lacks();
  RETURN_IF_ERROR(d.NeedOperands(3, 3));
  if (d.operand(2).kind != ptx::Operand::kInteger || d.operand(2).bits != kMapBytes) return d.Malformed("128 bytes");
  Facts facts;
  facts.access = MapAccess(Space::kGlobal, AccessKind::kWrite);
  facts.source = MapAccess(Space::kShared, AccessKind::kRead);
  RETURN_IF_ERROR(d.Address(d.operand(0)));
  facts.displacement = std::exchange(d.inst().immediate, 0);
  RETURN_IF_ERROR(d.Address(d.operand(1)));
  facts.source_displacement = std::exchange(d.inst().immediate, 0);
  d.Attach(facts);
  return d.Set(CopyAndFence, kSync);
}

absl::Status DecodeTensorMap(Decoder& d) {
  if (d.Part(1) == "replace") return DecodeReplace(d);
  return d.Part(1) == "cp_fenceproxy" ? DecodeCopyAndFence(d) : d.Lacks();
}

}  // namespace

void RegisterTensorMap(OpTable& table) { table.Add("tensormap", DecodeTensorMap); }

}  // namespace sassay::emulator
