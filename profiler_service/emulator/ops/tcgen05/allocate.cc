// tcgen05.alloc, dealloc and relinquish_alloc_permit (PTX ISA 9.0, 9.7.16.7.1).
#include <bit>
#include <cstring>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "profiler_service/emulator/exec/access.h"
#include "profiler_service/emulator/exec/cluster.h"
#include "profiler_service/emulator/ops/tcgen05/tensor_unit.h"

namespace sassay::emulator {
namespace {

constexpr auto kMisuse = sassay::v1::VERDICT_CODE_TENSOR_MEMORY_MISUSE;

// A power of two from 32 to 512.
bool ValidColumns(uint32_t columns) {
  return std::has_single_bit(columns) && columns >= kTensorAllocationUnit && columns <= kTensorColumns;
}

std::string BadColumns(absl::string_view operation, uint32_t columns) {
  return absl::StrCat("tcgen05.", operation, " of ", columns, " columns; a power of two from 32 to 512 is allowed");
}

std::string Holders(TensorUnit& unit) {
  return absl::StrCat(kTensorColumns - unit.memory().free_columns(), " of ", kTensorColumns, " are taken");
}

// The address goes to shared memory as one lane's store. False: the launch has ended.
bool StoreAddress(Warp& warp, const Inst& inst, const AccessFacts& facts, uint32_t column) {
  const uint32_t mask = warp.mask();
  const int lane = std::countr_zero(mask);
  uint64_t addresses[kLanes];
  Addresses(warp, inst.o[0], inst.immediate, addresses);
  Lanes lanes;
  warp.SetMask(1u << lane);
  const bool allowed = Access(warp, inst, facts, addresses, lanes);
  if (allowed && lanes.mask != 0) {
    uint8_t bytes[4];
    std::memcpy(bytes, &column, sizeof(column));
    if (warp.checked()) NoteStore(warp, inst, facts, lanes, bytes, 0);
    std::memcpy(lanes.at[lane], bytes, sizeof(bytes));
  }
  warp.SetMask(mask);
  return allowed;
}

std::string WaitingForColumns(TensorUnit& unit, uint32_t columns) {
  return absl::StrCat("waiting in tcgen05.alloc for ", columns, " columns of tensor memory, of which ", Holders(unit));
}

// Takes the first columns that are free; none: the warp is to wait.
std::optional<uint32_t> TakeColumns(Warp& warp, const Inst& inst, uint32_t columns) {
  TensorUnit& unit = TensorUnit::Of(warp);
  const auto column = unit.memory().FindRoom(columns);
  unit.SetWaiting(warp.index(), column ? "" : WaitingForColumns(unit, columns));
  if (column) unit.memory().Take({*column, columns, inst.id, warp.ThreadOf(std::countr_zero(warp.mask()))});
  return column;
}

std::string WaitingForPeer(Warp& warp, Block& peer, uint32_t columns) {
  return absl::StrCat("waiting in tcgen05.alloc.cta_group::2 of ", columns, " columns for a warp of block ",
                      peer.index(), ", the other one of its pair",
                      warp.block().cluster().ended(peer.rank()) ? ", which has exited" : "");
}

// The same columns in both blocks, once a warp of each has come (PTX ISA 9.0, 9.7.16.5: the first one may wait for the
// second). The second one takes them for both.
std::optional<uint32_t> TakeColumnsOfPair(Warp& warp, const Inst& inst, uint32_t columns) {
  TensorUnit& unit = TensorUnit::Of(warp);
  Block& peer = *unit.peer();
  TensorUnit& other = TensorUnit::Of(peer);
  auto& request = unit.pair_request();
  if (request && request->warp != warp.index()) {
    unit.SetWaiting(warp.index(), "waiting in tcgen05.alloc.cta_group::2 for another warp of its block");
    return std::nullopt;
  }
  if (const auto granted = std::exchange(unit.pair_grant(), std::nullopt)) {
    request.reset();
    unit.SetWaiting(warp.index(), "");
    warp.block().WakeUnits();
    return granted;
  }
  request = PairRequest{columns, warp.index(), warp.PlaceOf(inst, std::countr_zero(warp.mask()))};
  unit.SetWaiting(warp.index(), WaitingForPeer(warp, peer, columns));
  if (!other.pair_request() || other.pair_grant()) return std::nullopt;
  const auto column = unit.memory().FindRoom(columns, &other.memory());
  if (!column) unit.SetWaiting(warp.index(), WaitingForColumns(unit, columns));
  if (!column) return std::nullopt;
  const Place& there = other.pair_request()->where;
  unit.memory().Take({*column, columns, inst.id, request->where.thread});
  other.memory().Take({*column, columns, there.inst, there.thread});
  other.pair_grant() = column;
  request.reset();
  unit.SetWaiting(warp.index(), "");
  peer.WakeUnits();
  warp.block().WakeUnits();
  return column;
}

// Both blocks ask for as many. Null: so far nothing is wrong.
const PairRequest* OtherCount(TensorUnit& unit, uint32_t group, uint32_t columns) {
  if (group == 1 || unit.pair_grant()) return nullptr;
  TensorUnit& other = TensorUnit::Of(*unit.peer());
  const auto& there = other.pair_request();
  return there && !other.pair_grant() && there->columns != columns ? &*there : nullptr;
}

Flow Allocate(Warp& warp, const Inst& inst) {
  if (!warp.Gathered(~0u)) return Flow::kBlocked;
  Flow refused = Flow::kNext;
  if (!EnterGroup(warp, inst, inst.a, false, refused)) return refused;
  TensorUnit& unit = TensorUnit::Of(warp);
  uint32_t columns = 0;
  if (!Uniform(warp, inst.o[1], columns)) {
    return Reject(warp, inst, kMisuse, "tcgen05.alloc with another number of columns in some lanes of the warp");
  }
  if (!ValidColumns(columns)) return Reject(warp, inst, kMisuse, BadColumns("alloc", columns));
  if (unit.relinquished()) {
    return Reject(warp, inst, kMisuse,
                  "tcgen05.alloc after tcgen05.relinquish_alloc_permit: the block has given up the right to allocate");
  }
  if (columns > unit.last_columns()) {
    return Reject(warp, inst, kMisuse,
                  absl::StrCat("tcgen05.alloc of ", columns, " columns after one of ", unit.last_columns(),
                               ": a block's allocations must not grow"));
  }
  if (const PairRequest* other = OtherCount(unit, inst.a, columns)) {
    return Reject(
        warp, inst, kMisuse,
        absl::StrCat("tcgen05.alloc.cta_group::2 of ", columns, " columns, where the pair's other block asks ", "for ",
                     other->columns, " at ", kOtherPlace),
        &other->where);
  }
  const auto column = inst.a == 2 ? TakeColumnsOfPair(warp, inst, columns) : TakeColumns(warp, inst, columns);
  if (!column) return warp.WaitForUnit();
  unit.NoteAllocation(columns);
  return StoreAddress(warp, inst, *static_cast<const AccessFacts*>(inst.extra), *column) ? Flow::kNext
                                                                                         : Flow::kRedirected;
}

std::string NotHeld(TensorUnit& unit, TensorAddress address, uint32_t columns) {
  std::string held;
  for (const TensorMemory::Holding& holding : unit.memory().holdings()) {
    absl::StrAppend(&held, held.empty() ? "" : ", ", holding.columns, " from column ", holding.column);
  }
  return absl::StrCat("tcgen05.dealloc of ", columns, " columns from column ", address.column, ", lane ", address.lane,
                      ", which tcgen05.alloc did not give; held: ", held.empty() ? "nothing" : held);
}

// Of a pair each block frees its own, and nobody waits: the ISA lets the first one wait for the second, or not.
Flow Deallocate(Warp& warp, const Inst& inst) {
  if (!warp.Gathered(~0u)) return Flow::kBlocked;
  Flow refused = Flow::kNext;
  if (!EnterGroup(warp, inst, inst.a, false, refused)) return refused;
  TensorUnit& unit = TensorUnit::Of(warp);
  uint32_t columns = 0, bits = 0;
  if (!Uniform(warp, inst.o[0], bits) || !Uniform(warp, inst.o[1], columns)) {
    return Reject(warp, inst, kMisuse, "tcgen05.dealloc with other operands in some lanes of the warp");
  }
  if (!ValidColumns(columns)) return Reject(warp, inst, kMisuse, BadColumns("dealloc", columns));
  const TensorAddress address = TensorAddress::Of(bits);
  const TensorOperation* busy = unit.UnderWay({0, kTensorLanes, address.column, columns}, true);
  if (busy != nullptr && warp.checked()) {
    const Place other = busy->where;
    return Reject(warp, inst, sassay::v1::VERDICT_CODE_ASYNC_RACE,
                  absl::StrCat("tcgen05.dealloc of ", Columns(address.column, columns), " while the ", busy->name,
                               " at ", kOtherPlace, " is at work there"),
                  &other);
  }
  if (address.lane != 0 || !unit.memory().Free(address.column, columns)) {
    return Reject(warp, inst, kMisuse, NotHeld(unit, address, columns));
  }
  warp.block().WakeUnits();
  if (unit.peer() != nullptr) unit.peer()->WakeUnits();
  return Flow::kNext;
}

Flow Relinquish(Warp& warp, const Inst& inst) {
  if (!warp.Gathered(~0u)) return Flow::kBlocked;
  Flow refused = Flow::kNext;
  if (!EnterGroup(warp, inst, inst.a, false, refused)) return refused;
  TensorUnit::Of(warp).Relinquish();
  return Flow::kNext;
}

}  // namespace

absl::Status DecodeAllocate(Decoder& d) {
  if (CtaGroup(d) == 0) return d.Lacks();
  d.inst().a = CtaGroup(d);
  RETURN_IF_ERROR(d.NeedOperands(2, 2));
  AccessFacts facts = ParseAccess(d, d.operand(0));
  facts.kind = AccessKind::kWrite;
  facts.bytes = 4;
  RETURN_IF_ERROR(d.Address(d.operand(0)));
  RETURN_IF_ERROR(d.Source(d.operand(1), Type::kU32));
  d.Attach(facts);
  return d.Set(Allocate, kSync | kTaintStops);
}

absl::Status DecodeDeallocate(Decoder& d) {
  if (CtaGroup(d) == 0) return d.Lacks();
  d.inst().a = CtaGroup(d);
  RETURN_IF_ERROR(d.NeedOperands(2, 2));
  RETURN_IF_ERROR(d.Source(d.operand(0), Type::kU32));
  RETURN_IF_ERROR(d.Source(d.operand(1), Type::kU32));
  return d.Set(Deallocate, kSync);
}

absl::Status DecodeRelinquish(Decoder& d) {
  if (CtaGroup(d) == 0) return d.Lacks();
  d.inst().a = CtaGroup(d);
  RETURN_IF_ERROR(d.NeedOperands(0, 0));
  return d.Set(Relinquish, kSync);
}

}  // namespace sassay::emulator
