#include <algorithm>
#include <bit>
#include <cstring>

#include "absl/synchronization/mutex.h"
#include "profiler_service/emulator/exec/access.h"
#include "profiler_service/emulator/exec/block.h"
#include "profiler_service/emulator/memory/racing.h"
#include "profiler_service/emulator/ops/arithmetic/numeric.h"
#include "profiler_service/emulator/ops/families.h"
#include "profiler_service/emulator/ops/lanes.h"
#include "profiler_service/emulator/ops/memory/reduction.h"

namespace sassay::emulator {
namespace {

enum Operation : uint32_t { kAdd, kMin, kMax, kAnd, kOr, kXor, kExch, kCas, kInc, kDec };

struct Facts {
  AccessFacts access;
  Operation operation = kAdd;
  Type type = Type::kU32;
  uint32_t bytes = 4, elements = 1;
  bool returns = false;
};

uint16_t AddHalf(uint16_t a, uint16_t b) { return FloatToHalf(HalfToFloat(a) + HalfToFloat(b)); }
uint16_t AddBf16(uint16_t a, uint16_t b) { return FloatToBf16(Bf16ToFloat(a) + Bf16ToFloat(b)); }

template <uint16_t (*kAddOne)(uint16_t, uint16_t)>
uint64_t AddPair(uint64_t a, uint64_t b) {
  const uint32_t low = kAddOne(static_cast<uint16_t>(a), static_cast<uint16_t>(b));
  const uint32_t high = kAddOne(static_cast<uint16_t>(a >> 16), static_cast<uint16_t>(b >> 16));
  return high << 16 | low;
}

uint64_t Sum(Type type, uint64_t a, uint64_t b) {
  switch (type) {
    case Type::kF32:
      return std::bit_cast<uint32_t>(
          Canonical(std::bit_cast<float>(static_cast<uint32_t>(a)) + std::bit_cast<float>(static_cast<uint32_t>(b))));
    case Type::kF64:
      return std::bit_cast<uint64_t>(std::bit_cast<double>(a) + std::bit_cast<double>(b));
    case Type::kF16:
      return AddHalf(static_cast<uint16_t>(a), static_cast<uint16_t>(b));
    case Type::kBf16:
      return AddBf16(static_cast<uint16_t>(a), static_cast<uint16_t>(b));
    case Type::kF16x2:
      return AddPair<AddHalf>(a, b);
    case Type::kBf16x2:
      return AddPair<AddBf16>(a, b);
    default:
      return a + b;
  }
}

bool Less(const Facts& facts, uint64_t a, uint64_t b) {
  if (!IsSigned(facts.type)) return a < b;
  if (facts.bytes == 4) return static_cast<int32_t>(a) < static_cast<int32_t>(b);
  return static_cast<int64_t>(a) < static_cast<int64_t>(b);
}

uint64_t Apply(const Facts& facts, uint64_t old, uint64_t b, uint64_t c) {
  switch (facts.operation) {
    case kAdd:
      return Sum(facts.type, old, b);
    case kMin:
      return Less(facts, b, old) ? b : old;
    case kMax:
      return Less(facts, old, b) ? b : old;
    case kAnd:
      return old & b;
    case kOr:
      return old | b;
    case kXor:
      return old ^ b;
    case kExch:
      return b;
    case kCas:
      return old == b ? c : old;
    case kInc:
      return old >= b ? 0 : old + 1;
    case kDec:
      return old == 0 || old > b ? b : old - 1;
  }
  return old;
}

template <class T>
uint64_t Exchange(uint8_t* at, const Facts& facts, uint64_t b, uint64_t c) {
  T* memory = reinterpret_cast<T*>(at);
  T old = __atomic_load_n(memory, __ATOMIC_SEQ_CST);
  for (;;) {
    const T wanted = static_cast<T>(Apply(facts, old, b, c));
    if (__atomic_compare_exchange_n(memory, &old, wanted, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) return old;
  }
}

uint64_t ExchangeOne(uint8_t* at, const Facts& facts, uint64_t b, uint64_t c) {
  switch (facts.bytes) {
    case 2:
      return Exchange<uint16_t>(at, facts, b, c);
    case 4:
      return Exchange<uint32_t>(at, facts, b, c);
    default:
      return Exchange<uint64_t>(at, facts, b, c);
  }
}

// Sources: `elements` values, for cas a second one, then the address.
void CheckAtomic(Warp& warp, const Inst& inst, const Facts& facts, const Lanes& lanes) {
  const uint32_t never = facts.operation == kExch ? 0 : NeverWritten(lanes, 0, facts.bytes * facts.elements);
  if (never != 0) {
    const Allocation* allocation = warp.block().Hint(inst.id);
    const bool global = (lanes.global & never) != 0 && allocation != nullptr;
    warp.NoteOrigin(inst.id, {global ? allocation->label : "shared memory", global});
    ReportUninitialized(warp, inst, inst.id, never, "read by an atomic");
  }
  for (int i = 0; i < inst.sources; ++i) {
    const Operand& source = inst.o[inst.destinations + i];
    const uint32_t tainted = warp.Tainted(source) & lanes.mask;
    if (tainted != 0) ReportUninitialized(warp, inst, warp.TaintOrigin(source), tainted, "used by an atomic");
  }
  for (uint32_t rest = lanes.mask; rest != 0; rest &= rest - 1) {
    uint8_t* unwritten = lanes.unwritten[std::countr_zero(rest)];
    const uint32_t bytes = facts.bytes * facts.elements;
    // No write where nothing changes: other blocks look at it all the time.
    if (unwritten != nullptr && AnyRacing(unwritten, bytes)) SetRacing(unwritten, false, bytes);
  }
  for (int i = 0; i < inst.destinations; ++i) warp.Taint(inst.o[i], 0, inst.id);
}

Flow Atomic(Warp& warp, const Inst& inst) {
  const Facts& facts = *static_cast<const Facts*>(inst.extra);
  const Operand* values = inst.o + inst.destinations;
  const Operand& address = values[inst.sources - 1];
  uint64_t addresses[kLanes];
  Lanes lanes;
  Addresses(warp, address, inst.immediate, addresses);
  if (!Access(warp, inst, facts.access, addresses, lanes)) return Flow::kRedirected;
  if (warp.checked()) CheckAtomic(warp, inst, facts, lanes);
  uint32_t changed = 0;
  for (uint32_t rest = lanes.mask; rest != 0; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    for (uint32_t k = 0; k < facts.elements; ++k) {
      const uint64_t c = facts.operation == kCas ? warp.Lane(values[1], lane) : 0;
      const uint64_t old = ExchangeOne(lanes.at[lane] + k * facts.bytes, facts, warp.Lane(values[k], lane), c);
      changed |= uint32_t{Apply(facts, old, warp.Lane(values[k], lane), c) != old} << lane;
      if (facts.returns) warp.SetLane(inst.o[k], lane, old);
    }
  }
  if (changed != 0) warp.block().NoteOutside();
  if (warp.checked() && (changed & lanes.inputs) != 0) {
    ReportInputChange(warp, inst, facts.access, changed & lanes.inputs);
  }
  return Flow::kNext;
}

// atom.exch.b128 and atom.cas.b128: one at a time, whoever else is at work on other words.
Flow AtomicWide(Warp& warp, const Inst& inst) {
  static absl::Mutex* const kOneAtATime = new absl::Mutex();
  constexpr uint32_t kBytes = 16;
  const Facts& facts = *static_cast<const Facts*>(inst.extra);
  const Operand* values = inst.o + inst.destinations;
  uint64_t addresses[kLanes];
  Lanes lanes;
  Addresses(warp, values[inst.sources - 1], inst.immediate, addresses);
  if (!Access(warp, inst, facts.access, addresses, lanes)) return Flow::kRedirected;
  if (warp.checked()) CheckAtomic(warp, inst, facts, lanes);
  for (uint32_t rest = lanes.mask; rest != 0; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    auto* words = reinterpret_cast<uint64_t*>(lanes.at[lane]);
    auto value = [&](const Operand& operand) { return warp.In<uint8_t>(operand) + lane * kBytes; };
    absl::MutexLock lock(kOneAtATime);
    const uint64_t old[2] = {__atomic_load_n(&words[0], __ATOMIC_SEQ_CST),
                             __atomic_load_n(&words[1], __ATOMIC_SEQ_CST)};
    const bool swaps = facts.operation == kExch || std::memcmp(old, value(values[0]), kBytes) == 0;
    uint64_t wanted[2];
    std::memcpy(wanted, value(values[facts.operation == kCas ? 1 : 0]), kBytes);
    if (swaps) {
      __atomic_store_n(&words[0], wanted[0], __ATOMIC_SEQ_CST);
      __atomic_store_n(&words[1], wanted[1], __ATOMIC_SEQ_CST);
      warp.block().NoteOutside();
    }
    std::memcpy(warp.Out<uint8_t>(inst.o[0]) + lane * kBytes, old, kBytes);
  }
  return Flow::kNext;
}

absl::Status DecodeAtomicWide(Decoder& d, Facts facts) {
  if (d.Part(0) != "atom" || (facts.operation != kExch && facts.operation != kCas)) return d.Lacks();
  const size_t operands = facts.operation == kCas ? 4 : 3;
  RETURN_IF_ERROR(d.NeedOperands(operands, operands + 1));
  facts.access = ParseAccess(d, d.operand(1));
  facts.access.kind = AccessKind::kAtomic;
  facts.access.atomic = facts.access.acquire = facts.access.release = facts.access.tells_changes = true;
  facts.access.bytes = 16;
  RETURN_IF_ERROR(d.Destination(d.operand(0), 16));
  for (size_t i = 2; i < operands; ++i) RETURN_IF_ERROR(d.Source(d.operand(i), Type::kB128));
  RETURN_IF_ERROR(d.Address(d.operand(1)));
  d.Attach(facts);
  return d.Set(AtomicWide, kTaintOwn | kSpins);
}

constexpr struct {
  absl::string_view name;
  Operation operation;
} kOperations[] = {{"add", kAdd}, {"min", kMin},   {"max", kMax}, {"and", kAnd}, {"or", kOr},
                   {"xor", kXor}, {"exch", kExch}, {"cas", kCas}, {"inc", kInc}, {"dec", kDec}};

bool ParseOperation(const Decoder& d, Operation& operation) {
  for (const auto& row : kOperations) {
    if (!d.Has(row.name)) continue;
    operation = row.operation;
    return true;
  }
  return false;
}

absl::Status DecodeAtomic(Decoder& d) {
  if (d.Part(0) == "red" && d.Has("async")) return DecodeAsyncStore(d);
  Facts facts;
  facts.type = d.type();
  facts.bytes = SizeOf(facts.type);
  facts.returns = d.Part(0) == "atom";
  const bool real = IsFloat(facts.type);
  if (!ParseOperation(d, facts.operation) || (real && facts.operation != kAdd)) return d.Lacks();
  if (facts.type == Type::kB128) return DecodeAtomicWide(d, facts);
  if (d.types().size() != 1 || facts.bytes < 2 || facts.bytes > 8 || d.Has("async")) return d.Lacks();
  const size_t at = facts.returns ? 1 : 0;
  const size_t operands = at + (facts.operation == kCas ? 3 : 2);
  RETURN_IF_ERROR(d.NeedOperands(operands, operands + 1));  // one more is a cache policy
  const ptx::Operand& address = d.operand(at);
  facts.access = ParseAccess(d, address);
  facts.access.kind = AccessKind::kAtomic;
  facts.access.atomic = facts.access.acquire = facts.access.release = facts.access.tells_changes = true;
  const auto values = Decoder::Elements(d.operand(at + 1));
  facts.elements = static_cast<uint32_t>(values.size());
  if (facts.elements == 0 || facts.elements > 8 || (facts.elements > 1 && facts.operation == kCas)) return d.Lacks();
  facts.access.bytes = facts.bytes * facts.elements;
  if (facts.returns) {
    const auto results = Decoder::Elements(d.operand(0));
    if (results.size() != values.size()) return d.Malformed("as many results as operands");
    for (const ptx::Operand* result : results) RETURN_IF_ERROR(d.Destination(*result, facts.bytes));
  }
  for (const ptx::Operand* value : values) RETURN_IF_ERROR(d.Source(*value, facts.type));
  if (facts.operation == kCas) RETURN_IF_ERROR(d.Source(d.operand(at + 2), facts.type));
  RETURN_IF_ERROR(d.Address(address));
  d.Attach(facts);
  return d.Set(Atomic, kTaintOwn | kSpins);
}

}  // namespace

bool FindReduction(absl::string_view name, Type type, Reduction& reduction) {
  const auto* found =
      std::find_if(std::begin(kOperations), std::end(kOperations), [&](const auto& row) { return row.name == name; });
  if (found == std::end(kOperations) || found->operation == kExch || found->operation == kCas) return false;
  if (SizeOf(type) < 2 || SizeOf(type) > 8 || (IsFloat(type) && found->operation != kAdd)) return false;
  reduction.operation = found->operation;
  reduction.type = type;
  return true;
}

bool Reduce(const Reduction& reduction, uint8_t* at, uint64_t value) {
  Facts facts;
  facts.operation = static_cast<Operation>(reduction.operation);
  facts.type = reduction.type;
  facts.bytes = SizeOf(reduction.type);
  const uint64_t old = ExchangeOne(at, facts, value, 0);
  return Apply(facts, old, value, 0) != old;
}

void RegisterAtomics(OpTable& table) {
  table.Add("atom", DecodeAtomic);
  table.Add("red", DecodeAtomic);
}

}  // namespace sassay::emulator
