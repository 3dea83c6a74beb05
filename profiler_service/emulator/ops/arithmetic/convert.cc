#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "profiler_service/emulator/ops/arithmetic/numeric.h"
#include "profiler_service/emulator/ops/families.h"
#include "profiler_service/emulator/ops/lanes.h"

namespace sassay::emulator {
namespace {

constexpr uint32_t kSat = 1, kFtz = 2, kRelu = 4, kSatFinite = 8, kIntegral = 16;

struct Facts {
  Type to = Type::kNone, from = Type::kNone;
  Rounding rounding = Rounding::kNearest;
  uint32_t flags = 0;
};

int64_t SignExtend(uint64_t value, uint32_t bytes) {
  const int shift = 64 - 8 * static_cast<int>(bytes);
  return static_cast<int64_t>(value << shift) >> shift;
}

uint64_t Cut(uint64_t value, uint32_t bytes) { return bytes >= 8 ? value : value & ((uint64_t{1} << (8 * bytes)) - 1); }

double LoadFloat(uint64_t bits, Type type) {
  switch (type) {
    case Type::kF16:
      return HalfToFloat(static_cast<uint16_t>(bits));
    case Type::kBf16:
      return Bf16ToFloat(static_cast<uint16_t>(bits));
    case Type::kF32:
      return std::bit_cast<float>(static_cast<uint32_t>(bits));
    default:
      return std::bit_cast<double>(bits);
  }
}

// What is no number keeps its sign and the top of its payload when it comes from f64.
uint64_t NarrowNan(double value, Type to) {
  const uint64_t bits = std::bit_cast<uint64_t>(value);
  const uint64_t sign = bits >> 63, payload = bits >> 29 & 0x3fffff;
  if (to == Type::kF32) return sign << 31 | 0x7fc00000 | payload;
  if (to == Type::kBf16) return sign << 15 | 0x7fc0 | payload >> 16;
  return sign << 15 | 0x7e00 | payload >> 13;
}

uint64_t StoreFloat(double value, const Facts& facts, bool exact_in_float) {
  if (std::isnan(value) && facts.from == Type::kF64) {
    if (facts.to == Type::kF64) return std::bit_cast<uint64_t>(Quiet(value));
    if (facts.to != Type::kTf32) return NarrowNan(value, facts.to);
  }
  switch (facts.to) {
    case Type::kF64:
      return std::bit_cast<uint64_t>(value);
    case Type::kF32:
      if (std::isnan(value)) return 0x7fffffff;
      if (exact_in_float || facts.rounding == Rounding::kNearest)
        return std::bit_cast<uint32_t>(static_cast<float>(value));
      return Encode(value, kFloatFormat, facts.rounding);
    case Type::kTf32:
      return uint64_t{Encode(value, kTf32Format, facts.rounding)} << 13;
    case Type::kBf16:
      return Encode(value, kBf16Format, facts.rounding, (facts.flags & kSatFinite) != 0);
    default:
      return Encode(value, kHalfFormat, facts.rounding, (facts.flags & kSatFinite) != 0);
  }
}

double RoundToIntegral(double value, Rounding rounding) {
  switch (rounding) {
    case Rounding::kZero:
      return std::trunc(value);
    case Rounding::kDown:
      return std::floor(value);
    case Rounding::kUp:
      return std::ceil(value);
    default:
      return std::nearbyint(value);
  }
}

// Float to integer: out of range clamps, NaN is zero (PTX ISA 9.7.9.21); to 64 bits, and from f64 to any number of
// them, it is the indefinite 0x80….
uint64_t FloatToInteger(double value, const Facts& facts) {
  const uint32_t bits = 8 * SizeOf(facts.to);
  if (std::isnan(value)) return bits == 64 || facts.from == Type::kF64 ? uint64_t{1} << (bits - 1) : 0;
  const double rounded = RoundToIntegral(value, facts.rounding);
  if (IsSigned(facts.to)) {
    const double limit = std::ldexp(1.0, static_cast<int>(bits) - 1);
    if (rounded >= limit) return (uint64_t{1} << (bits - 1)) - 1;
    if (rounded < -limit) return ~uint64_t{0} << (bits - 1);
    return static_cast<uint64_t>(static_cast<int64_t>(rounded));
  }
  if (rounded <= 0) return 0;
  if (rounded >= std::ldexp(1.0, static_cast<int>(bits))) return Cut(~uint64_t{0}, SizeOf(facts.to));
  return static_cast<uint64_t>(rounded);
}

// Integers of up to 64 bits to float: one rounding, so 64-bit integers do not go through double.
uint64_t IntegerToFloat(uint64_t bits, const Facts& facts) {
  const bool is_signed = IsSigned(facts.from);
  const int64_t extended = SignExtend(bits, SizeOf(facts.from));
  const bool negative = is_signed && extended < 0;
  const uint64_t magnitude = negative    ? ~static_cast<uint64_t>(extended) + 1
                             : is_signed ? static_cast<uint64_t>(extended)
                                         : bits;
  const double sign = negative ? -1.0 : 1.0;
  if (facts.to == Type::kF64 && facts.rounding == Rounding::kNearest) {
    return std::bit_cast<uint64_t>(sign * static_cast<double>(magnitude));
  }
  // 53 bits and a sticky one are enough for every narrower format.
  const int excess = std::max(0, 12 - std::countl_zero(magnitude));
  const uint64_t lost = excess == 0 ? 0 : magnitude & ((uint64_t{1} << excess) - 1);
  uint64_t kept = magnitude >> excess << excess;
  if (facts.to == Type::kF64) {
    const bool away = facts.rounding == (negative ? Rounding::kDown : Rounding::kUp);
    const int low = std::max(0, 11 - std::countl_zero(magnitude));
    const uint64_t rest = low == 0 ? 0 : magnitude & ((uint64_t{1} << low) - 1);
    const double truncated = static_cast<double>(magnitude - rest);
    return std::bit_cast<uint64_t>(sign * (rest != 0 && away ? std::nextafter(truncated, HUGE_VAL) : truncated));
  }
  if (lost != 0) kept |= uint64_t{1} << excess;
  return StoreFloat(sign * static_cast<double>(kept), facts, false);
}

uint64_t SaturateInteger(uint64_t bits, const Facts& facts) {
  const uint32_t to = 8 * SizeOf(facts.to);
  const __int128 value =
      IsSigned(facts.from) ? static_cast<__int128>(SignExtend(bits, SizeOf(facts.from))) : static_cast<__int128>(bits);
  const __int128 one = 1;
  const __int128 low = IsSigned(facts.to) ? -(one << (to - 1)) : 0;
  const __int128 high = IsSigned(facts.to) ? (one << (to - 1)) - 1 : (one << to) - 1;
  return static_cast<uint64_t>(std::clamp(value, low, high));
}

// With .sat a whole number is 0 or 1.
uint64_t SaturatedInteger(uint64_t bits, const Facts& facts) {
  const bool positive = IsSigned(facts.from) ? SignExtend(bits, SizeOf(facts.from)) > 0 : bits != 0;
  return IntegerToFloat(positive ? 1 : 0, facts);
}

uint64_t ConvertOne(uint64_t raw, const Facts& facts) {
  const uint64_t bits = Cut(raw, SizeOf(facts.from));
  const bool from_float = IsFloat(facts.from), to_float = IsFloat(facts.to);
  if (!from_float && !to_float) {
    if ((facts.flags & kSat) != 0) return SaturateInteger(bits, facts);
    return IsSigned(facts.from) ? static_cast<uint64_t>(SignExtend(bits, SizeOf(facts.from))) : bits;
  }
  if (!from_float && (facts.flags & kSat) != 0) return SaturatedInteger(bits, facts);
  if (!from_float) return IntegerToFloat(bits, facts);
  double value = LoadFloat(bits, facts.from);
  if (facts.to == Type::kTf32 && facts.rounding == Rounding::kNearestAway && std::isnan(value))
    return bits & ~uint64_t{0x1fff};
  if ((facts.flags & kFtz) != 0 && facts.from == Type::kF32 && facts.to != Type::kF16) {  // to f16 it changes nothing
    value = FlushFloat(static_cast<float>(value));
    if (facts.to == Type::kF64) value = Canonical(static_cast<float>(value));
  }
  if (!to_float) return FloatToInteger(value, facts);
  if ((facts.flags & kIntegral) != 0 && !std::isnan(value))
    value = std::copysign(RoundToIntegral(value, facts.rounding), value);
  if ((facts.flags & kSat) != 0) value = Saturate(value);
  if ((facts.flags & kRelu) != 0 && !(value > 0) && !std::isnan(value)) value = 0;
  uint64_t result = StoreFloat(value, facts, facts.from != Type::kF64);
  if ((facts.flags & kFtz) != 0 && facts.to == Type::kF32) {
    result = std::bit_cast<uint32_t>(FlushFloat(std::bit_cast<float>(static_cast<uint32_t>(result))));
  }
  return result;
}

Flow ConvertAny(Warp& warp, const Inst& inst) {
  const Facts& facts = *static_cast<const Facts*>(inst.extra);
  const bool widen = IsSigned(facts.to) && !IsFloat(facts.to);
  for (int i = 0; i < kLanes; ++i) {
    if (!(warp.mask() >> i & 1)) continue;
    uint64_t value = Cut(ConvertOne(warp.Lane(inst.o[1], i), facts), SizeOf(facts.to));
    if (widen) value = static_cast<uint64_t>(SignExtend(value, SizeOf(facts.to)));
    warp.SetLane(inst.o[0], i, value);
  }
  return Flow::kNext;
}

// ---- the common conversions, vectorised ----

template <class D, class S>
struct Cast {
  D operator()(S a) const { return static_cast<D>(a); }
};
struct HalfToF32 {
  float operator()(uint16_t a) const { return Canonical(HalfToFloat(a)); }
};
struct Bf16ToF32 {
  float operator()(uint16_t a) const { return Bf16ToFloat(a); }
};
struct F32ToHalf {
  uint16_t operator()(float a) const { return FloatToHalf(a); }
};
struct F32ToBf16 {
  uint16_t operator()(float a) const { return FloatToBf16(a); }
};

Handler FastConversion(const Facts& facts) {
  if (facts.flags != 0 || facts.rounding != Rounding::kNearest) return nullptr;
  auto is = [&](Type to, Type from) { return facts.to == to && facts.from == from; };
  if (is(Type::kF32, Type::kF16)) return Unary<float, uint16_t, HalfToF32>;
  if (is(Type::kF32, Type::kBf16)) return Unary<float, uint16_t, Bf16ToF32>;
  if (is(Type::kF16, Type::kF32)) return Unary<uint16_t, float, F32ToHalf>;
  if (is(Type::kBf16, Type::kF32)) return Unary<uint16_t, float, F32ToBf16>;
  if (is(Type::kF32, Type::kS32)) return Unary<float, int32_t, Cast<float, int32_t>>;
  if (is(Type::kF32, Type::kU32)) return Unary<float, uint32_t, Cast<float, uint32_t>>;
  if (is(Type::kF64, Type::kF32)) return Unary<double, float, Cast<double, float>>;
  if (is(Type::kU64, Type::kU32)) return Unary<uint64_t, uint32_t, Cast<uint64_t, uint32_t>>;
  if (is(Type::kS64, Type::kS32)) return Unary<int64_t, int32_t, Cast<int64_t, int32_t>>;
  if (is(Type::kU32, Type::kU64)) return Unary<uint32_t, uint64_t, Cast<uint32_t, uint64_t>>;
  return nullptr;
}

// ---- pairs: cvt.rn.bf16x2.f32 d, a, b puts a into the upper half ----

Flow ConvertPair(Warp& warp, const Inst& inst) {
  const Facts& facts = *static_cast<const Facts*>(inst.extra);
  const float* a = warp.In<float>(inst.o[1]);
  const float* b = warp.In<float>(inst.o[2]);
  Map<uint32_t>(warp, inst.o[0], [&](int i) {
    auto one = [&](float value) { return static_cast<uint32_t>(ConvertOne(std::bit_cast<uint32_t>(value), facts)); };
    return one(a[i]) << 16 | one(b[i]);
  });
  return Flow::kNext;
}

// e4m3x2 and e5m2x2 from two f32 or one f16x2; `a`: 1 for e5m2.
template <bool kFromHalves>
Flow ConvertToFp8(Warp& warp, const Inst& inst) {
  const Format format = inst.a != 0 ? kE5m2Format : kE4m3Format;
  auto one = [&](float value) {
    if (inst.b != 0 && !(value > 0) && !std::isnan(value)) value = 0;
    return Encode(value, format, Rounding::kNearest, true);
  };
  const uint32_t* a = warp.In<uint32_t>(inst.o[1]);
  const uint32_t* b = warp.In<uint32_t>(inst.o[kFromHalves ? 1 : 2]);
  Map<uint16_t>(warp, inst.o[0], [&](int i) {
    const float high = kFromHalves ? HalfToFloat(static_cast<uint16_t>(a[i] >> 16)) : std::bit_cast<float>(a[i]);
    const float low = kFromHalves ? HalfToFloat(static_cast<uint16_t>(a[i])) : std::bit_cast<float>(b[i]);
    return static_cast<uint16_t>(one(high) << 8 | one(low));
  });
  return Flow::kNext;
}

Flow ConvertFromFp8(Warp& warp, const Inst& inst) {
  const Format format = inst.a != 0 ? kE5m2Format : kE4m3Format;
  const uint16_t* a = warp.In<uint16_t>(inst.o[1]);
  auto one = [&](uint32_t bits) {
    const double value = Decode(bits, format);
    return uint32_t{
        FloatToHalf(inst.b != 0 && std::signbit(value) && !std::isnan(value) ? 0.0f : static_cast<float>(value))};
  };
  Map<uint32_t>(warp, inst.o[0], [&](int i) { return one(a[i] >> 8) << 16 | one(a[i] & 255); });
  return Flow::kNext;
}

absl::Status DecodeFp8(Decoder& d) {
  const Type to = d.type(0), from = d.type(1);
  const bool source_is_fp8 = from == Type::kE4m3x2 || from == Type::kE5m2x2;
  d.inst().a = to == Type::kE5m2x2 || from == Type::kE5m2x2;
  d.inst().b = d.Has("relu");
  if (source_is_fp8 && to == Type::kF16x2) return Regular(d, ConvertFromFp8, Type::kB32, {Type::kB16});
  if (from == Type::kF32) return Regular(d, ConvertToFp8<false>, Type::kB16, {Type::kF32, Type::kF32});
  if (from == Type::kF16x2) return Regular(d, ConvertToFp8<true>, Type::kB16, {Type::kB32});
  return d.Lacks();
}

// cvt.pack.sat: a above b, each clamped to `a` bits; below 16 bits, what fits of c above both. `b`: signed.
Flow Pack(Warp& warp, const Inst& inst) {
  const int bits = static_cast<int>(inst.a);
  const int64_t least = inst.b != 0 ? -(int64_t{1} << (bits - 1)) : 0, most = least + (int64_t{1} << bits) - 1;
  const int32_t* a = warp.In<int32_t>(inst.o[1]);
  const int32_t* b = warp.In<int32_t>(inst.o[2]);
  const uint32_t* c = inst.sources == 3 ? warp.In<uint32_t>(inst.o[3]) : nullptr;
  const auto clamped = [&](int32_t value) {
    return static_cast<uint32_t>(std::clamp<int64_t>(value, least, most)) & ((1u << bits) - 1);
  };
  Map<uint32_t>(warp, inst.o[0], [&](int i) {
    const uint32_t pair = clamped(a[i]) << bits | clamped(b[i]);
    return c == nullptr ? pair : pair | c[i] << 2 * bits;
  });
  return Flow::kNext;
}

absl::Status DecodePack(Decoder& d) {
  static constexpr struct {
    absl::string_view name;
    uint32_t bits;
  } kWidths[] = {{"16", 16}, {"8", 8}, {"4", 4}, {"2", 2}};
  const absl::string_view to = d.Part(3);
  if (!d.Has("sat") || to.empty() || (to[0] != 'u' && to[0] != 's') || d.Part(4) != "s32") return d.Lacks();
  for (const auto& width : kWidths) {
    if (to.substr(1) == width.name) d.inst().a = width.bits;
  }
  d.inst().b = to[0] == 's';
  if (d.inst().a == 16) return Regular(d, Pack, Type::kB32, {Type::kS32, Type::kS32});
  if (d.inst().a == 0 || d.Part(5) != "b32") return d.Lacks();
  return Regular(d, Pack, Type::kB32, {Type::kS32, Type::kS32, Type::kB32});
}

bool ParseRounding(const Decoder& d, Facts& facts) {
  static constexpr struct {
    absl::string_view name;
    Rounding rounding;
    uint32_t flags;
  } kRoundings[] = {{"rn", Rounding::kNearest, 0},       {"rz", Rounding::kZero, 0},
                    {"rm", Rounding::kDown, 0},          {"rp", Rounding::kUp, 0},
                    {"rna", Rounding::kNearestAway, 0},  {"rni", Rounding::kNearest, kIntegral},
                    {"rzi", Rounding::kZero, kIntegral}, {"rmi", Rounding::kDown, kIntegral},
                    {"rpi", Rounding::kUp, kIntegral}};
  for (const auto& row : kRoundings) {
    if (!d.Has(row.name)) continue;
    facts.rounding = row.rounding;
    facts.flags |= row.flags;
  }
  return !d.Has("rs");
}

bool IsFp8(Type type) { return type == Type::kE4m3x2 || type == Type::kE5m2x2; }

absl::Status DecodeCvt(Decoder& d) {
  if (d.Part(1) == "pack") return DecodePack(d);
  if (d.types().size() != 2) return d.Lacks();
  Facts facts;
  facts.to = d.type(0);
  facts.from = d.type(1);
  if (IsFp8(facts.to) || IsFp8(facts.from)) return DecodeFp8(d);
  if (!ParseRounding(d, facts)) return d.Lacks();
  facts.flags |= (d.Has("sat") ? kSat : 0) | (d.Has("ftz") ? kFtz : 0) | (d.Has("relu") ? kRelu : 0) |
                 (d.Has("satfinite") ? kSatFinite : 0);
  if (facts.to == Type::kF16x2 || facts.to == Type::kBf16x2) {
    if (facts.from != Type::kF32) return d.Lacks();
    facts.to = facts.to == Type::kF16x2 ? Type::kF16 : Type::kBf16;
    d.Attach(facts);
    return Regular(d, ConvertPair, Type::kB32, {Type::kF32, Type::kF32});
  }
  RETURN_IF_ERROR(d.NeedOperands(2, 2));
  if (d.operand(1).kind == ptx::Operand::kSpecial) return d.Lacks();
  RETURN_IF_ERROR(d.WideDestination(d.operand(0), SizeOf(facts.to)));
  RETURN_IF_ERROR(d.WideSource(d.operand(1), facts.from));
  const Operand* operands = &d.code().operands.back() - 1;
  Handler fast = FastConversion(facts);
  if (operands[0].bytes != SizeOf(facts.to) || operands[1].bytes != SizeOf(facts.from)) fast = nullptr;
  if (fast != nullptr) return d.Set(fast);
  d.Attach(facts);
  return d.Set(ConvertAny);
}

// cvta: adds or takes away the window of the space; `immediate`.
template <class T>
Flow Cvta(Warp& warp, const Inst& inst) {
  const T* a = warp.In<T>(inst.o[1]);
  const uint64_t window = static_cast<uint64_t>(inst.immediate);
  Map<T>(warp, inst.o[0], [=](int i) { return static_cast<T>(a[i] + window); });
  return Flow::kNext;
}

// A parameter's address is taken as it is generic already, or as its lower half where a compiler keeps short pointers.
Flow CvtaParam(Warp& warp, const Inst& inst) {
  const uint64_t* a = warp.In<uint64_t>(inst.o[1]);
  Map<uint64_t>(warp, inst.o[0], [=](int i) { return a[i] < kWindowBytes ? a[i] + kParamWindow : a[i]; });
  return Flow::kNext;
}

absl::Status DecodeCvta(Decoder& d) {
  const uint64_t window = d.Has("shared") || d.Has("shared::cta") ? kSharedWindow : d.Has("local") ? kLocalWindow : 0;
  if (d.Has("shared::cluster")) return d.Lacks();
  d.inst().immediate = static_cast<int64_t>(d.Has("to") ? -window : window);
  const Type type = d.type();
  if (d.Has("param") && !d.Has("to") && SizeOf(type) == 8) return Regular(d, CvtaParam, type, {type});
  // cvta.local of a variable's name: the frame's base is missing then, so only registers are taken.
  if (window == kLocalWindow && d.operand(1).kind == ptx::Operand::kVariable) return d.Lacks();
  return Regular(d, SizeOf(type) == 8 ? Cvta<uint64_t> : Cvta<uint32_t>, type, {type});
}

}  // namespace

void RegisterConvert(OpTable& table) {
  table.Add("cvt", DecodeCvt);
  table.Add("cvta", DecodeCvta);
}

}  // namespace sassay::emulator
