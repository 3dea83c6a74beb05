#include <algorithm>
#include <type_traits>

#include "profiler_service/emulator/ops/families.h"
#include "profiler_service/emulator/ops/lanes.h"

namespace sassay::emulator {
namespace {

template <class T>
using Signed = std::make_signed_t<T>;
template <class T>
Signed<T> S(T value) {
  return static_cast<Signed<T>>(value);
}
// Twice as wide, so that a product fits.
template <class T>
struct Wider;
template <>
struct Wider<uint16_t> {
  using Type = uint32_t;
};
template <>
struct Wider<uint32_t> {
  using Type = uint64_t;
};
template <>
struct Wider<uint64_t> {
  using Type = unsigned __int128;
};
template <class T>
using Wide = typename Wider<T>::Type;
template <class T>
Wide<T> SignExtend(T value) {
  // gcc 12 makes an unsigned product of two extended uint16_t when it vectorises; shifts keep it from seeing them.
  if constexpr (sizeof(T) == 2) {
    return static_cast<uint32_t>(static_cast<int32_t>(uint32_t{value} << 16) >> 16);
  } else if constexpr (sizeof(T) == 8) {
    return static_cast<unsigned __int128>(static_cast<__int128>(S(value)));
  } else {
    return static_cast<Wide<T>>(static_cast<Signed<Wide<T>>>(S(value)));
  }
}

template <class T>
struct Add {
  T operator()(T a, T b) const { return static_cast<T>(a + b); }
};
template <class T>
struct Sub {
  T operator()(T a, T b) const { return static_cast<T>(a - b); }
};
template <class T>
struct MulLow {
  T operator()(T a, T b) const { return static_cast<T>(Wide<T>{a} * b); }
};
template <class T>
struct MulHighU {
  T operator()(T a, T b) const { return static_cast<T>((Wide<T>{a} * b) >> (8 * sizeof(T))); }
};
template <class T>
struct MulHighS {
  T operator()(T a, T b) const { return static_cast<T>((SignExtend(a) * SignExtend(b)) >> (8 * sizeof(T))); }
};
template <class T>
struct MadLow {
  T operator()(T a, T b, T c) const { return static_cast<T>(MulLow<T>()(a, b) + c); }
};
template <class T>
struct MadHighU {
  T operator()(T a, T b, T c) const { return static_cast<T>(MulHighU<T>()(a, b) + c); }
};
template <class T>
struct MadHighS {
  T operator()(T a, T b, T c) const { return static_cast<T>(MulHighS<T>()(a, b) + c); }
};
// Division by zero has all bits set, and so has its remainder, as on hardware.
template <class T>
struct DivU {
  T operator()(T a, T b) const { return b == 0 ? static_cast<T>(~T{0}) : static_cast<T>(a / b); }
};
template <class T>
struct DivS {
  T operator()(T a, T b) const {
    if (b == 0) return static_cast<T>(~T{0});
    if (b == static_cast<T>(~T{0})) return static_cast<T>(T{0} - a);
    return static_cast<T>(S(a) / S(b));
  }
};
template <class T>
struct RemU {
  T operator()(T a, T b) const { return b == 0 ? static_cast<T>(~T{0}) : static_cast<T>(a % b); }
};
template <class T>
struct RemS {
  T operator()(T a, T b) const {
    if (b == 0) return static_cast<T>(~T{0});
    if (b == static_cast<T>(~T{0})) return 0;
    return static_cast<T>(S(a) % S(b));
  }
};
template <class T>
struct MinU {
  T operator()(T a, T b) const { return std::min(a, b); }
};
template <class T>
struct MaxU {
  T operator()(T a, T b) const { return std::max(a, b); }
};
template <class T>
struct MinS {
  T operator()(T a, T b) const { return S(a) < S(b) ? a : b; }
};
template <class T>
struct MaxS {
  T operator()(T a, T b) const { return S(a) < S(b) ? b : a; }
};
template <class T>
struct Neg {
  T operator()(T a) const { return static_cast<T>(T{0} - a); }
};
template <class T>
struct Abs {
  T operator()(T a) const { return S(a) < 0 ? static_cast<T>(T{0} - a) : a; }
};
template <class T>
struct SadU {
  T operator()(T a, T b, T c) const { return static_cast<T>(c + (a < b ? b - a : a - b)); }
};
template <class T>
struct SadS {
  T operator()(T a, T b, T c) const { return static_cast<T>(c + (S(a) < S(b) ? b - a : a - b)); }
};

uint32_t AddSaturated(uint32_t a, uint32_t b) {
  const int64_t sum = int64_t{S(a)} + S(b);
  return static_cast<uint32_t>(std::clamp<int64_t>(sum, INT32_MIN, INT32_MAX));
}
struct AddSat {
  uint32_t operator()(uint32_t a, uint32_t b) const { return AddSaturated(a, b); }
};
struct SubSat {
  uint32_t operator()(uint32_t a, uint32_t b) const {
    return static_cast<uint32_t>(std::clamp<int64_t>(int64_t{S(a)} - S(b), INT32_MIN, INT32_MAX));
  }
};
struct MadHighSat {
  uint32_t operator()(uint32_t a, uint32_t b, uint32_t c) const { return AddSaturated(MulHighS<uint32_t>()(a, b), c); }
};
template <class T>
struct MinRelu {
  T operator()(T a, T b) const { return MaxS<T>()(MinS<T>()(a, b), 0); }
};
template <class T>
struct MaxRelu {
  T operator()(T a, T b) const { return MaxS<T>()(MaxS<T>()(a, b), 0); }
};

// Two 16-bit halves at once.
template <template <class> class F>
struct Halves {
  uint32_t operator()(uint32_t a, uint32_t b) const {
    const uint16_t low = F<uint16_t>()(static_cast<uint16_t>(a), static_cast<uint16_t>(b));
    const uint16_t high = F<uint16_t>()(static_cast<uint16_t>(a >> 16), static_cast<uint16_t>(b >> 16));
    return uint32_t{high} << 16 | low;
  }
};
template <template <class> class F>
Handler PairHandler() {
  return Binary<uint32_t, uint32_t, Halves<F>>;
}

// Products and sums of twice the width.
template <class T, bool kSigned>
struct MulWide {
  Wide<T> operator()(T a, T b) const { return kSigned ? SignExtend(a) * SignExtend(b) : Wide<T>{a} * b; }
};
template <class T, bool kSigned>
Flow MadWide(Warp& warp, const Inst& inst) {
  const T* a = warp.In<T>(inst.o[1]);
  const T* b = warp.In<T>(inst.o[2]);
  const Wide<T>* c = warp.In<Wide<T>>(inst.o[3]);
  Map<Wide<T>>(warp, inst.o[0], [=](int i) { return static_cast<Wide<T>>(MulWide<T, kSigned>()(a[i], b[i]) + c[i]); });
  return Flow::kNext;
}

// The carry after a subtraction is that of a + ~b + 1: one where nothing was borrowed. The PTX ISA speaks of a borrow,
// but nvcc's 128-bit division follows subc.cc by addc and counts on the hardware's way.
//
// add.cc, addc, sub.cc, subc, mad.lo.cc, madc: `a` has bit 0 for carry in, bit 1 for carry out, bit 2 for a borrow.
template <class T>
Flow Carry(Warp& warp, const Inst& inst) {
  const bool subtract = (inst.a & 4) != 0;
  const Operand* o = inst.o;
  for (int i = 0; i < kLanes; ++i) {
    if (!(warp.mask() >> i & 1)) continue;
    const T a =
        inst.sources == 3
            ? static_cast<T>(inst.b != 0 ? (inst.c != 0 ? MulHighS<T>()(warp.In<T>(o[1])[i], warp.In<T>(o[2])[i])
                                                        : MulHighU<T>()(warp.In<T>(o[1])[i], warp.In<T>(o[2])[i]))
                                         : MulLow<T>()(warp.In<T>(o[1])[i], warp.In<T>(o[2])[i]))
            : warp.In<T>(o[1])[i];
    const T b = warp.In<T>(o[inst.sources])[i];
    const uint32_t in = (inst.a & 1) != 0 ? (warp.carry() >> i & 1) ^ uint32_t { subtract } : 0;
    const unsigned __int128 wide =
        subtract ? static_cast<unsigned __int128>(a) - b - in : static_cast<unsigned __int128>(a) + b + in;
    warp.Out<T>(o[0])[i] = static_cast<T>(wide);
    if ((inst.a & 2) != 0) warp.SetCarry(i, ((wide >> (8 * sizeof(T)) & 1) != 0) != subtract);
  }
  return Flow::kNext;
}

absl::Status DecodeCarry(Decoder& d, bool subtract) {
  const absl::string_view root = d.Part(0);
  const Type type = d.type();
  d.inst().a = (root.back() == 'c' ? 1u : 0u) | (d.Has("cc") ? 2u : 0u) | (subtract ? 4u : 0u);
  d.inst().b = d.Has("hi");
  d.inst().c = IsSigned(type);
  const Handler handler = SizeOf(type) == 4 ? Carry<uint32_t> : SizeOf(type) == 8 ? Carry<uint64_t> : nullptr;
  if (root[0] == 'm') return Regular(d, handler, type, {type, type, type});
  return Regular(d, handler, type, {type, type});
}
absl::Status DecodeAddCarry(Decoder& d) { return DecodeCarry(d, false); }
absl::Status DecodeSubCarry(Decoder& d) { return DecodeCarry(d, true); }

Type WideType(Type type) {
  switch (type) {
    case Type::kU16:
      return Type::kU32;
    case Type::kS16:
      return Type::kS32;
    case Type::kU32:
      return Type::kU64;
    case Type::kS32:
      return Type::kS64;
    default:
      return Type::kNone;
  }
}

absl::Status DecodeMulWide(Decoder& d) {
  const Type type = d.type();
  Handler handler = nullptr;
  if (type == Type::kU16) handler = Binary<uint32_t, uint16_t, MulWide<uint16_t, false>>;
  if (type == Type::kS16) handler = Binary<uint32_t, uint16_t, MulWide<uint16_t, true>>;
  if (type == Type::kU32) handler = Binary<uint64_t, uint32_t, MulWide<uint32_t, false>>;
  if (type == Type::kS32) handler = Binary<uint64_t, uint32_t, MulWide<uint32_t, true>>;
  if (handler == nullptr) return d.Lacks();
  return Regular(d, handler, WideType(type), {type, type});
}

absl::Status DecodeMadWide(Decoder& d) {
  const Type type = d.type();
  Handler handler = nullptr;
  if (type == Type::kU16) handler = MadWide<uint16_t, false>;
  if (type == Type::kS16) handler = MadWide<uint16_t, true>;
  if (type == Type::kU32) handler = MadWide<uint32_t, false>;
  if (type == Type::kS32) handler = MadWide<uint32_t, true>;
  if (handler == nullptr) return d.Lacks();
  return Regular(d, handler, WideType(type), {type, type, WideType(type)});
}

absl::Status DecodeMul(Decoder& d) {
  const Type type = d.type();
  if (d.Has("wide")) return DecodeMulWide(d);
  if (d.Has("hi")) {
    return Regular(d, IsSigned(type) ? BinaryByWidth<MulHighS>(type) : BinaryByWidth<MulHighU>(type), type,
                   {type, type});
  }
  return Regular(d, BinaryByWidth<MulLow>(type), type, {type, type});
}

absl::Status DecodeMad(Decoder& d) {
  const Type type = d.type();
  if (d.Has("cc")) return DecodeCarry(d, false);
  if (d.Has("wide")) return DecodeMadWide(d);
  if (d.Has("hi")) {
    if (d.Has("sat")) return Regular(d, Ternary<uint32_t, uint32_t, MadHighSat>, Type::kS32, {type, type, type});
    return Regular(d, IsSigned(type) ? TernaryByWidth<MadHighS>(type) : TernaryByWidth<MadHighU>(type), type,
                   {type, type, type});
  }
  return Regular(d, TernaryByWidth<MadLow>(type), type, {type, type, type});
}

absl::Status DecodeMinMax(Decoder& d, bool max) {
  const Type type = d.type();
  const bool is_signed = IsSigned(type);
  Handler handler;
  if (d.Has("relu")) {
    if (type == Type::kS32) {
      handler = max ? Binary<uint32_t, uint32_t, MaxRelu<uint32_t>> : Binary<uint32_t, uint32_t, MinRelu<uint32_t>>;
    } else if (type == Type::kS16x2) {
      handler = max ? PairHandler<MaxRelu>() : PairHandler<MinRelu>();
    } else {
      return d.Lacks();
    }
  } else if (type == Type::kU16x2 || type == Type::kS16x2) {
    handler = max ? (is_signed ? PairHandler<MaxS>() : PairHandler<MaxU>())
                  : (is_signed ? PairHandler<MinS>() : PairHandler<MinU>());
  } else if (max) {
    handler = is_signed ? BinaryByWidth<MaxS>(type) : BinaryByWidth<MaxU>(type);
  } else {
    handler = is_signed ? BinaryByWidth<MinS>(type) : BinaryByWidth<MinU>(type);
  }
  return Regular(d, handler, type, {type, type});
}

absl::Status DecodeAddSub(Decoder& d, bool subtract) {
  const Type type = d.type();
  if (d.Has("cc")) return DecodeCarry(d, subtract);
  Handler handler = subtract ? BinaryByWidth<Sub>(type) : BinaryByWidth<Add>(type);
  if (type == Type::kU16x2 || type == Type::kS16x2) handler = subtract ? PairHandler<Sub>() : PairHandler<Add>();
  if (d.Has("sat")) handler = subtract ? Binary<uint32_t, uint32_t, SubSat> : Binary<uint32_t, uint32_t, AddSat>;
  if (d.Has("sat") && SizeOf(type) != 4) return d.Lacks();
  return Regular(d, handler, type, {type, type});
}

absl::Status DecodeRem(Decoder& d) {
  const Type type = d.type();
  return Regular(d, IsSigned(type) ? BinaryByWidth<RemS>(type) : BinaryByWidth<RemU>(type), type, {type, type});
}

absl::Status DecodeSad(Decoder& d) {
  const Type type = d.type();
  return Regular(d, IsSigned(type) ? TernaryByWidth<SadS>(type) : TernaryByWidth<SadU>(type), type, {type, type, type});
}

int64_t SignedField(uint32_t value, int bit, int bits, bool is_signed) {
  const uint32_t field = value >> bit & ((1u << bits) - 1);
  return is_signed && (field >> (bits - 1) & 1) ? int64_t{field} - (int64_t{1} << bits) : int64_t{field};
}

Flow Dp4a(Warp& warp, const Inst& inst) {
  const uint32_t* a = warp.In<uint32_t>(inst.o[1]);
  const uint32_t* b = warp.In<uint32_t>(inst.o[2]);
  const uint32_t* c = warp.In<uint32_t>(inst.o[3]);
  Map<uint32_t>(warp, inst.o[0], [&](int i) {
    int64_t sum = static_cast<int64_t>(c[i]);
    for (int k = 0; k < 4; ++k)
      sum += SignedField(a[i], 8 * k, 8, inst.a != 0) * SignedField(b[i], 8 * k, 8, inst.b != 0);
    return static_cast<uint32_t>(sum);
  });
  return Flow::kNext;
}

Flow Dp2a(Warp& warp, const Inst& inst) {
  const uint32_t* a = warp.In<uint32_t>(inst.o[1]);
  const uint32_t* b = warp.In<uint32_t>(inst.o[2]);
  const uint32_t* c = warp.In<uint32_t>(inst.o[3]);
  const int shift = inst.c != 0 ? 16 : 0;
  Map<uint32_t>(warp, inst.o[0], [&](int i) {
    int64_t sum = static_cast<int64_t>(c[i]);
    for (int k = 0; k < 2; ++k) {
      sum += SignedField(a[i], 16 * k, 16, inst.a != 0) * SignedField(b[i], shift + 8 * k, 8, inst.b != 0);
    }
    return static_cast<uint32_t>(sum);
  });
  return Flow::kNext;
}

absl::Status DecodeDp(Decoder& d) {
  d.inst().a = IsSigned(d.type(0));
  d.inst().b = IsSigned(d.type(1));
  d.inst().c = d.Has("hi");
  return Regular(d, d.Part(0) == "dp4a" ? Dp4a : Dp2a, Type::kU32, {Type::kU32, Type::kU32, Type::kU32});
}

template <bool kSigned>
struct Mul24 {
  uint32_t operator()(uint32_t a, uint32_t b) const {
    return static_cast<uint32_t>(SignedField(a, 0, 24, kSigned) * SignedField(b, 0, 24, kSigned));
  }
};
template <bool kSigned>
struct Mul24High {
  uint32_t operator()(uint32_t a, uint32_t b) const {
    return static_cast<uint32_t>(SignedField(a, 0, 24, kSigned) * SignedField(b, 0, 24, kSigned) >> 16);
  }
};
template <bool kSigned>
struct Mad24High {
  uint32_t operator()(uint32_t a, uint32_t b, uint32_t c) const { return Mul24High<kSigned>()(a, b) + c; }
};
struct Mad24HighSat {
  uint32_t operator()(uint32_t a, uint32_t b, uint32_t c) const { return AddSaturated(Mul24High<true>()(a, b), c); }
};
template <bool kSigned>
struct Mad24 {
  uint32_t operator()(uint32_t a, uint32_t b, uint32_t c) const { return Mul24<kSigned>()(a, b) + c; }
};

absl::Status Decode24(Decoder& d) {
  const Type type = d.type();
  if (SizeOf(type) != 4) return d.Lacks();
  if (d.Has("sat")) return Regular(d, Ternary<uint32_t, uint32_t, Mad24HighSat>, type, {type, type, type});
  const bool is_signed = IsSigned(type);
  if (d.Has("hi") && d.Part(0) == "mul24") {
    return Regular(
        d, is_signed ? Binary<uint32_t, uint32_t, Mul24High<true>> : Binary<uint32_t, uint32_t, Mul24High<false>>, type,
        {type, type});
  }
  if (d.Has("hi")) {
    return Regular(
        d, is_signed ? Ternary<uint32_t, uint32_t, Mad24High<true>> : Ternary<uint32_t, uint32_t, Mad24High<false>>,
        type, {type, type, type});
  }
  if (d.Part(0) == "mul24") {
    return Regular(d, is_signed ? Binary<uint32_t, uint32_t, Mul24<true>> : Binary<uint32_t, uint32_t, Mul24<false>>,
                   type, {type, type});
  }
  return Regular(d, is_signed ? Ternary<uint32_t, uint32_t, Mad24<true>> : Ternary<uint32_t, uint32_t, Mad24<false>>,
                 type, {type, type, type});
}

}  // namespace

absl::Status DecodeIntegerArithmetic(Decoder& d) {
  const absl::string_view root = d.Part(0);
  const Type type = d.type();
  if (root == "add" || root == "sub") return DecodeAddSub(d, root == "sub");
  if (root == "mul") return DecodeMul(d);
  if (root == "mad") return DecodeMad(d);
  if (root == "min" || root == "max") return DecodeMinMax(d, root == "max");
  if (root == "neg") return Regular(d, UnaryByWidth<Neg>(type), type, {type});
  if (root == "abs") return Regular(d, UnaryByWidth<Abs>(type), type, {type});
  if (root == "div") {
    return Regular(d, IsSigned(type) ? BinaryByWidth<DivS>(type) : BinaryByWidth<DivU>(type), type, {type, type});
  }
  return d.Lacks();
}

void RegisterInteger(OpTable& table) {
  table.Add("rem", DecodeRem);
  table.Add("sad", DecodeSad);
  table.Add("dp4a", DecodeDp);
  table.Add("dp2a", DecodeDp);
  table.Add("mul24", Decode24);
  table.Add("mad24", Decode24);
  table.Add("addc", DecodeAddCarry);
  table.Add("subc", DecodeSubCarry);
  table.Add("madc", DecodeAddCarry);
}

}  // namespace sassay::emulator
