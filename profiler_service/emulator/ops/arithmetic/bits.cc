#include <algorithm>
#include <bit>
#include <type_traits>

#include "profiler_service/emulator/ops/families.h"
#include "profiler_service/emulator/ops/lanes.h"

namespace sassay::emulator {
namespace {

template <class T>
struct And {
  T operator()(T a, T b) const { return a & b; }
};
template <class T>
struct Or {
  T operator()(T a, T b) const { return a | b; }
};
template <class T>
struct Xor {
  T operator()(T a, T b) const { return a ^ b; }
};
template <class T>
struct Not {
  T operator()(T a) const { return static_cast<T>(~a); }
};
template <class T>
struct CNot {
  T operator()(T a) const { return a == 0 ? 1 : 0; }
};

// `a`: 0 and, 1 or, 2 xor, 3 not.
Flow PredicateLogic(Warp& warp, const Inst& inst) {
  const uint32_t a = warp.PredicateIn(inst.o[1]);
  const uint32_t b = inst.sources > 1 ? warp.PredicateIn(inst.o[2]) : 0;
  const uint32_t results[] = {a & b, a | b, a ^ b, ~a};
  warp.SetPredicate(inst.o[0], results[inst.a]);
  return Flow::kNext;
}

absl::Status DecodeLogic(Decoder& d) {
  const absl::string_view root = d.Part(0);
  const Type type = d.type();
  if (type == Type::kPred) {
    d.inst().a = root == "and" ? 0 : root == "or" ? 1 : root == "xor" ? 2 : 3;
    if (root == "not") return Regular(d, PredicateLogic, type, {type});
    return Regular(d, PredicateLogic, type, {type, type});
  }
  if (root == "not") return Regular(d, UnaryByWidth<Not>(type), type, {type});
  if (root == "cnot") return Regular(d, UnaryByWidth<CNot>(type), type, {type});
  const Handler handler = root == "and"  ? BinaryByWidth<And>(type)
                          : root == "or" ? BinaryByWidth<Or>(type)
                                         : BinaryByWidth<Xor>(type);
  return Regular(d, handler, type, {type, type});
}

// Shifts: the amount is a u32; past the width the result is 0, or the sign.
template <class T, int kKind>
Flow Shift(Warp& warp, const Inst& inst) {
  const T* a = warp.In<T>(inst.o[1]);
  const uint32_t* b = warp.In<uint32_t>(inst.o[2]);
  constexpr uint32_t kBits = 8 * sizeof(T);
  Map<T>(warp, inst.o[0], [=](int i) -> T {
    const uint32_t amount = b[i] < kBits ? b[i] : kBits - 1;
    if constexpr (kKind == 0) return b[i] < kBits ? static_cast<T>(a[i] << amount) : T{0};
    if constexpr (kKind == 1) return b[i] < kBits ? static_cast<T>(a[i] >> amount) : T{0};
    return static_cast<T>(static_cast<std::make_signed_t<T>>(a[i]) >> amount);
  });
  return Flow::kNext;
}

template <int kKind>
Handler ShiftByWidth(Type type) {
  switch (SizeOf(type)) {
    case 2:
      return Shift<uint16_t, kKind>;
    case 4:
      return Shift<uint32_t, kKind>;
    case 8:
      return Shift<uint64_t, kKind>;
    default:
      return nullptr;
  }
}

absl::Status DecodeShift(Decoder& d) {
  const Type type = d.type();
  const Handler handler = d.Part(0) == "shl" ? ShiftByWidth<0>(type)
                          : IsSigned(type)   ? ShiftByWidth<2>(type)
                                             : ShiftByWidth<1>(type);
  return Regular(d, handler, type, {type, Type::kU32});
}

// shf: `a` is 1 for left, `b` 1 for wrap (else clamp).
Flow FunnelShift(Warp& warp, const Inst& inst) {
  const uint32_t* a = warp.In<uint32_t>(inst.o[1]);
  const uint32_t* b = warp.In<uint32_t>(inst.o[2]);
  const uint32_t* c = warp.In<uint32_t>(inst.o[3]);
  Map<uint32_t>(warp, inst.o[0], [&](int i) {
    const uint64_t both = uint64_t{b[i]} << 32 | a[i];
    const uint32_t amount = inst.b != 0 ? c[i] & 31 : std::min<uint32_t>(c[i], 32);
    return static_cast<uint32_t>(inst.a != 0 ? both << amount >> 32 : both >> amount);
  });
  return Flow::kNext;
}

absl::Status DecodeFunnelShift(Decoder& d) {
  d.inst().a = d.Has("l");
  d.inst().b = d.Has("wrap");
  return Regular(d, FunnelShift, Type::kB32, {Type::kB32, Type::kB32, Type::kU32});
}

template <class T>
struct Popc {
  uint32_t operator()(T a) const { return static_cast<uint32_t>(std::popcount(a)); }
};
template <class T>
struct Clz {
  uint32_t operator()(T a) const { return static_cast<uint32_t>(std::countl_zero(a)); }
};
template <class T>
struct Brev {
  T operator()(T a) const {
    T reversed = 0;
    for (size_t i = 0; i < 8 * sizeof(T); ++i) reversed = static_cast<T>(reversed << 1 | (a >> i & 1));
    return reversed;
  }
};

absl::Status DecodeCount(Decoder& d) {
  const Type type = d.type();
  const bool wide = SizeOf(type) == 8;
  if (d.Part(0) == "popc") {
    return Regular(d, wide ? Unary<uint32_t, uint64_t, Popc<uint64_t>> : Unary<uint32_t, uint32_t, Popc<uint32_t>>,
                   Type::kU32, {type});
  }
  return Regular(d, wide ? Unary<uint32_t, uint64_t, Clz<uint64_t>> : Unary<uint32_t, uint32_t, Clz<uint32_t>>,
                 Type::kU32, {type});
}

absl::Status DecodeBrev(Decoder& d) {
  const Type type = d.type();
  return Regular(d, UnaryByWidth<Brev>(type), type, {type});
}

// bfind: position of the most significant bit that differs from the sign; all ones if there is none.
template <class T>
Flow Bfind(Warp& warp, const Inst& inst) {
  const T* a = warp.In<T>(inst.o[1]);
  Map<uint32_t>(warp, inst.o[0], [&](int i) -> uint32_t {
    const bool negative = inst.a != 0 && (a[i] >> (8 * sizeof(T) - 1) & 1) != 0;
    const T value = negative ? static_cast<T>(~a[i]) : a[i];
    if (value == 0) return 0xffffffff;
    const uint32_t leading = static_cast<uint32_t>(std::countl_zero(value));
    return inst.b != 0 ? leading : static_cast<uint32_t>(8 * sizeof(T)) - 1 - leading;
  });
  return Flow::kNext;
}

absl::Status DecodeBfind(Decoder& d) {
  const Type type = d.type();
  d.inst().a = IsSigned(type);
  d.inst().b = d.Has("shiftamt");
  return Regular(d, SizeOf(type) == 8 ? Bfind<uint64_t> : Bfind<uint32_t>, Type::kU32, {type});
}

// bfe (PTX ISA 9.7.1.20): past the end the sign, or zero, fills. Positions and lengths past 255, which the ISA leaves
// open: of 32 bits hardware takes the low eight bits, of 64 bits all of them (ptxas puts those together from shifts).
template <class T, bool kSigned>
Flow Bfe(Warp& warp, const Inst& inst) {
  const T* a = warp.In<T>(inst.o[1]);
  const uint32_t* b = warp.In<uint32_t>(inst.o[2]);
  const uint32_t* c = warp.In<uint32_t>(inst.o[3]);
  constexpr uint32_t kBits = 8 * sizeof(T);
  Map<T>(warp, inst.o[0], [=](int i) -> T {
    const uint32_t position = kBits == 64 ? std::min<uint32_t>(b[i], 255) : b[i] & 255;
    const uint32_t length = kBits == 64 ? std::min<uint32_t>(c[i], 255) : c[i] & 255;
    if (length == 0) return 0;
    const uint32_t last = std::min(position + length - 1, kBits - 1);
    const bool sign = kSigned && (a[i] >> last & 1) != 0;
    const T fill = sign ? static_cast<T>(~T{0}) : T{0};
    if (position >= kBits) return fill;
    const T field = static_cast<T>(a[i] >> position);
    if (length >= kBits - position && !kSigned) return field;
    const uint32_t kept = last - position + 1;
    if (kept >= kBits) return field;
    const T mask = static_cast<T>((T{1} << kept) - 1);
    return static_cast<T>((field & mask) | (fill & ~mask));
  });
  return Flow::kNext;
}

absl::Status DecodeBfe(Decoder& d) {
  const Type type = d.type();
  const bool wide = SizeOf(type) == 8;
  const Handler handler = IsSigned(type) ? (wide ? Bfe<uint64_t, true> : Bfe<uint32_t, true>)
                                         : (wide ? Bfe<uint64_t, false> : Bfe<uint32_t, false>);
  return Regular(d, handler, type, {type, Type::kU32, Type::kU32});
}

template <class T>
Flow Bfi(Warp& warp, const Inst& inst) {
  const T* a = warp.In<T>(inst.o[1]);
  const T* b = warp.In<T>(inst.o[2]);
  const uint32_t* c = warp.In<uint32_t>(inst.o[3]);
  const uint32_t* e = warp.In<uint32_t>(inst.o[4]);
  constexpr uint32_t kBits = 8 * sizeof(T);
  Map<T>(warp, inst.o[0], [=](int i) -> T {
    const uint32_t position = kBits == 64 ? std::min<uint32_t>(c[i], 255) : c[i] & 255;
    const uint32_t length = kBits == 64 ? std::min<uint32_t>(e[i], 255) : e[i] & 255;
    if (position >= kBits || length == 0) return b[i];
    const T ones = length >= kBits ? static_cast<T>(~T{0}) : static_cast<T>((T{1} << length) - 1);
    const T mask = static_cast<T>(ones << position);
    return static_cast<T>((b[i] & ~mask) | (static_cast<T>(a[i] << position) & mask));
  });
  return Flow::kNext;
}

absl::Status DecodeBfi(Decoder& d) {
  const Type type = d.type();
  return Regular(d, SizeOf(type) == 8 ? Bfi<uint64_t> : Bfi<uint32_t>, type, {type, type, Type::kU32, Type::kU32});
}

// bmsk and szext: `a` is 1 for wrap (else clamp), `b` 1 for signed.
Flow Bmsk(Warp& warp, const Inst& inst) {
  const uint32_t* a = warp.In<uint32_t>(inst.o[1]);
  const uint32_t* b = warp.In<uint32_t>(inst.o[2]);
  Map<uint32_t>(warp, inst.o[0], [&](int i) -> uint32_t {
    const uint32_t position = inst.a != 0 ? a[i] & 31 : a[i], length = inst.a != 0 ? b[i] & 31 : b[i];
    if (position >= 32 || length == 0) return 0;
    const uint32_t ones = length >= 32 ? 0xffffffff : (1u << length) - 1;
    return ones << position;
  });
  return Flow::kNext;
}

Flow Szext(Warp& warp, const Inst& inst) {
  const uint32_t* a = warp.In<uint32_t>(inst.o[1]);
  const uint32_t* b = warp.In<uint32_t>(inst.o[2]);
  Map<uint32_t>(warp, inst.o[0], [&](int i) -> uint32_t {
    const uint32_t bits = inst.a != 0 ? b[i] & 31 : b[i];
    if (bits == 0) return 0;
    if (bits >= 32) return a[i];
    const uint32_t field = a[i] & ((1u << bits) - 1);
    return inst.b != 0 && (field >> (bits - 1) & 1) ? field | ~((1u << bits) - 1) : field;
  });
  return Flow::kNext;
}

absl::Status DecodeMaskOp(Decoder& d) {
  d.inst().a = d.Has("wrap");
  d.inst().b = IsSigned(d.type());
  return Regular(d, d.Part(0) == "bmsk" ? Bmsk : Szext, Type::kB32, {Type::kB32, Type::kU32});
}

// prmt.b32 by mode: 0 default, then f4e, b4e, rc8, ecl, ecr, rc16.
uint32_t PermuteSelector(uint32_t mode, uint32_t c) {
  static constexpr uint32_t kF4e[] = {0x3210, 0x4321, 0x5432, 0x6543}, kB4e[] = {0x5670, 0x6701, 0x7012, 0x0123},
                            kRc8[] = {0x0000, 0x1111, 0x2222, 0x3333}, kEcl[] = {0x3210, 0x3211, 0x3222, 0x3333},
                            kEcr[] = {0x0000, 0x1110, 0x2210, 0x3210}, kRc16[] = {0x1010, 0x3232, 0x1010, 0x3232};
  static constexpr const uint32_t* kModes[] = {nullptr, kF4e, kB4e, kRc8, kEcl, kEcr, kRc16};
  return mode == 0 ? c : kModes[mode][c & 3];
}

Flow Prmt(Warp& warp, const Inst& inst) {
  const uint32_t* a = warp.In<uint32_t>(inst.o[1]);
  const uint32_t* b = warp.In<uint32_t>(inst.o[2]);
  const uint32_t* c = warp.In<uint32_t>(inst.o[3]);
  Map<uint32_t>(warp, inst.o[0], [&](int i) {
    const uint64_t both = uint64_t{b[i]} << 32 | a[i];
    const uint32_t selector = PermuteSelector(inst.a, c[i]);
    uint32_t result = 0;
    for (int k = 0; k < 4; ++k) {
      const uint32_t nibble = selector >> (4 * k) & 15;
      uint32_t byte = static_cast<uint32_t>(both >> (8 * (nibble & 7))) & 255;
      if ((nibble & 8) != 0 && inst.a == 0) byte = byte >> 7 ? 255 : 0;
      result |= byte << (8 * k);
    }
    return result;
  });
  return Flow::kNext;
}

absl::Status DecodePrmt(Decoder& d) {
  static constexpr absl::string_view kModes[] = {"", "f4e", "b4e", "rc8", "ecl", "ecr", "rc16"};
  for (uint32_t mode = 1; mode < 7; ++mode) {
    if (d.Has(kModes[mode])) d.inst().a = mode;
  }
  return Regular(d, Prmt, Type::kB32, {Type::kB32, Type::kB32, Type::kB32});
}

uint32_t Lop3Value(uint32_t a, uint32_t b, uint32_t c, uint32_t table) {
  uint32_t result = 0;
  if (table & 0x01) result |= ~a & ~b & ~c;
  if (table & 0x02) result |= ~a & ~b & c;
  if (table & 0x04) result |= ~a & b & ~c;
  if (table & 0x08) result |= ~a & b & c;
  if (table & 0x10) result |= a & ~b & ~c;
  if (table & 0x20) result |= a & ~b & c;
  if (table & 0x40) result |= a & b & ~c;
  if (table & 0x80) result |= a & b & c;
  return result;
}

Flow Lop3(Warp& warp, const Inst& inst) {
  const uint32_t* a = warp.In<uint32_t>(inst.o[1]);
  const uint32_t* b = warp.In<uint32_t>(inst.o[2]);
  const uint32_t* c = warp.In<uint32_t>(inst.o[3]);
  const uint32_t table = inst.a;
  Map<uint32_t>(warp, inst.o[0], [=](int i) { return Lop3Value(a[i], b[i], c[i], table); });
  return Flow::kNext;
}

// lop3.and and lop3.or: also p = (d != 0) op q. `b` is 1 for or.
Flow Lop3AndTest(Warp& warp, const Inst& inst) {
  const Operand* sources = inst.o + 2;
  const uint32_t* a = warp.In<uint32_t>(sources[0]);
  const uint32_t* b = warp.In<uint32_t>(sources[1]);
  const uint32_t* c = warp.In<uint32_t>(sources[2]);
  const uint32_t table = inst.a, q = warp.PredicateIn(sources[3]);
  uint32_t values[kLanes];
  for (int i = 0; i < kLanes; ++i) values[i] = Lop3Value(a[i], b[i], c[i], table);
  const uint32_t truth = Collect([&](int i) { return values[i] != 0; });
  Map<uint32_t>(warp, inst.o[0], [&](int i) { return values[i]; });
  warp.SetPredicate(inst.o[1], inst.b != 0 ? truth | q : truth & q);
  return Flow::kNext;
}

absl::Status DecodeLop3AndTest(Decoder& d) {
  RETURN_IF_ERROR(d.NeedOperands(6, 6));
  const auto destinations = Decoder::Elements(d.operand(0));
  if (destinations.size() != 2) return d.Malformed("d|p");
  if (d.operand(4).kind != ptx::Operand::kInteger) return d.Malformed("a constant table");
  d.inst().a = static_cast<uint32_t>(d.operand(4).bits & 255);
  d.inst().b = d.Has("or");
  RETURN_IF_ERROR(d.Destination(*destinations[0], 4));
  RETURN_IF_ERROR(d.Destination(*destinations[1], 0));
  for (size_t i = 1; i <= 3; ++i) RETURN_IF_ERROR(d.Source(d.operand(i), Type::kB32));
  RETURN_IF_ERROR(d.Predicate(d.operand(5)));
  return d.Set(Lop3AndTest);
}

absl::Status DecodeLop3(Decoder& d) {
  if (d.Has("and") || d.Has("or")) return DecodeLop3AndTest(d);
  if (d.operand_count() != 5) return d.Lacks();
  if (d.operand(4).kind != ptx::Operand::kInteger) return d.Malformed("a constant table");
  d.inst().a = static_cast<uint32_t>(d.operand(4).bits & 255);
  RETURN_IF_ERROR(d.Destination(d.operand(0), 4));
  for (size_t i = 1; i <= 3; ++i) RETURN_IF_ERROR(d.Source(d.operand(i), Type::kB32));
  return d.Set(Lop3);
}

// vabsdiff2 and vabsdiff4: distances of the parts of two registers; with .add their sum and c. `a`: bits of a part.
Flow VectorDistance(Warp& warp, const Inst& inst) {
  const uint32_t* a = warp.In<uint32_t>(inst.o[1]);
  const uint32_t* b = warp.In<uint32_t>(inst.o[2]);
  const uint32_t* c = warp.In<uint32_t>(inst.o[3]);
  const uint32_t bits = inst.a, ones = (1u << bits) - 1;
  auto part = [=](uint32_t value, uint32_t at, bool is_signed) {
    const uint32_t field = value >> at & ones;
    return is_signed && (field >> (bits - 1)) != 0 ? static_cast<int32_t>(field | ~ones) : static_cast<int32_t>(field);
  };
  Map<uint32_t>(warp, inst.o[0], [&](int i) {
    uint32_t parts = 0, sum = c[i];
    for (uint32_t at = 0; at < 32; at += bits) {
      const int32_t difference = part(a[i], at, (inst.b & 1) != 0) - part(b[i], at, (inst.b & 2) != 0);
      const uint32_t distance = static_cast<uint32_t>(difference < 0 ? -difference : difference);
      parts |= (distance & ones) << at;
      sum += distance;
    }
    return inst.c != 0 ? sum : parts;
  });
  return Flow::kNext;
}

absl::Status DecodeVectorDistance(Decoder& d) {
  if (d.types().size() != 3 || d.Has("sat") || d.source().parts.size() != 4u + (d.Has("add") ? 1 : 0)) return d.Lacks();
  d.inst().a = d.Part(0) == "vabsdiff2" ? 16 : 8;
  d.inst().b = (IsSigned(d.type(1)) ? 1u : 0u) | (IsSigned(d.type(2)) ? 2u : 0u);
  d.inst().c = d.Has("add");
  return Regular(d, VectorDistance, Type::kB32, {Type::kB32, Type::kB32, Type::kB32});
}

// fns: the position of the n-th set bit from a base.
Flow Fns(Warp& warp, const Inst& inst) {
  const uint32_t* mask = warp.In<uint32_t>(inst.o[1]);
  const uint32_t* base = warp.In<uint32_t>(inst.o[2]);
  const uint32_t* offset = warp.In<uint32_t>(inst.o[3]);
  Map<uint32_t>(warp, inst.o[0], [&](int i) -> uint32_t {
    int left = static_cast<int>(offset[i]);
    const int step = left < 0 ? -1 : 1;
    if (left == 0) return base[i] < 32 && (mask[i] >> base[i] & 1) ? base[i] : 0xffffffff;
    for (int at = static_cast<int>(base[i] & 31); at >= 0 && at < 32; at += step) {
      if ((mask[i] >> at & 1) != 0 && (left -= step) == 0) return static_cast<uint32_t>(at);
    }
    return 0xffffffff;
  });
  return Flow::kNext;
}

absl::Status DecodeFns(Decoder& d) { return Regular(d, Fns, Type::kB32, {Type::kB32, Type::kB32, Type::kB32}); }

}  // namespace

void RegisterBits(OpTable& table) {
  for (const char* root : {"and", "or", "xor", "not", "cnot"}) table.Add(root, DecodeLogic);
  table.Add("shl", DecodeShift);
  table.Add("shr", DecodeShift);
  table.Add("shf", DecodeFunnelShift);
  table.Add("popc", DecodeCount);
  table.Add("clz", DecodeCount);
  table.Add("brev", DecodeBrev);
  table.Add("bfind", DecodeBfind);
  table.Add("bfe", DecodeBfe);
  table.Add("bfi", DecodeBfi);
  table.Add("bmsk", DecodeMaskOp);
  table.Add("szext", DecodeMaskOp);
  table.Add("prmt", DecodePrmt);
  table.Add("lop3", DecodeLop3);
  table.Add("fns", DecodeFns);
  table.Add("vabsdiff2", DecodeVectorDistance);
  table.Add("vabsdiff4", DecodeVectorDistance);
}

}  // namespace sassay::emulator
