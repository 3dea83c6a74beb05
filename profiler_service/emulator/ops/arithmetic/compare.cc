#include <cmath>
#include <type_traits>

#include "profiler_service/emulator/ops/arithmetic/numeric.h"
#include "profiler_service/emulator/ops/families.h"
#include "profiler_service/emulator/ops/lanes.h"

namespace sassay::emulator {
namespace {

enum Relation : uint32_t { kEq, kNe, kLt, kLe, kGt, kGe, kEqu, kNeu, kLtu, kLeu, kGtu, kGeu, kNum, kNotNum };
enum Combine : uint32_t { kAlone, kAnd, kOr, kXor };
constexpr uint32_t kFtz = 1;

template <class T>
bool Holds(uint32_t relation, T a, T b) {
  switch (relation) {
    case kEq:
      return a == b;
    case kNe:
      return a < b || a > b;
    case kLt:
      return a < b;
    case kLe:
      return a <= b;
    case kGt:
      return a > b;
    case kGe:
      return a >= b;
    case kEqu:
      return !(a < b || a > b);
    case kNeu:
      return !(a == b);
    case kLtu:
      return !(a >= b);
    case kLeu:
      return !(a > b);
    case kGtu:
      return !(a <= b);
    case kGeu:
      return !(a < b);
    case kNum:
      return a == a && b == b;
    default:
      return !(a == a && b == b);
  }
}

struct HalfReader {
  using Storage = uint16_t;
  static float Load(uint16_t bits) { return HalfToFloat(bits); }
  static float Flush(float value) { return std::fabs(value) < 0x1p-14f ? std::copysign(0.0f, value) : value; }
};
struct Bf16Reader {
  using Storage = uint16_t;
  static float Load(uint16_t bits) { return Bf16ToFloat(bits); }
  static float Flush(float value) { return value; }  // bf16 has no .ftz
};
template <class T>
struct Plain {
  using Storage = T;
  static T Load(T value) { return value; }
};

// One relation over 32 lanes; the switch over relations stands outside the loop where it matters.
template <class R>
uint32_t Compare(Warp& warp, const Inst& inst, const Operand& left, const Operand& right) {
  const auto* a = warp.In<typename R::Storage>(left);
  const auto* b = warp.In<typename R::Storage>(right);
  auto each = [&](auto relation) {
    uint8_t truth[kLanes];
    SASSAY_LANE_LOOP
    for (int i = 0; i < kLanes; ++i) truth[i] = relation(R::Load(a[i]), R::Load(b[i]));
    return Collect([&](int i) { return truth[i]; });
  };
  if constexpr (std::is_same_v<R, Plain<float>>) {
    if ((inst.c & kFtz) != 0) {
      return each([&](float x, float y) { return Holds(inst.a, FlushFloat(x), FlushFloat(y)); });
    }
  }
  if constexpr (std::is_same_v<R, HalfReader>) {
    if ((inst.c & kFtz) != 0) return each([&](float x, float y) { return Holds(inst.a, R::Flush(x), R::Flush(y)); });
  }
  switch (inst.a) {
    case kEq:
      return each([](auto x, auto y) { return x == y; });
    case kLt:
      return each([](auto x, auto y) { return x < y; });
    case kGt:
      return each([](auto x, auto y) { return x > y; });
    default:
      return each([&](auto x, auto y) { return Holds(inst.a, x, y); });
  }
}

uint32_t Combined(Warp& warp, const Inst& inst, uint32_t truth, bool negate) {
  if (inst.b == kAlone) return negate ? ~truth : truth;
  const uint32_t other = warp.PredicateIn(inst.o[inst.destinations + 2]);
  const uint32_t mine = negate ? ~truth : truth;
  return inst.b == kAnd ? mine & other : inst.b == kOr ? mine | other : mine ^ other;
}

template <class R>
Flow Setp(Warp& warp, const Inst& inst) {
  const uint32_t truth = Compare<R>(warp, inst, inst.o[inst.destinations], inst.o[inst.destinations + 1]);
  const uint32_t first = Combined(warp, inst, truth, false);
  const uint32_t second = inst.destinations == 2 ? Combined(warp, inst, truth, true) : 0;
  warp.SetPredicate(inst.o[0], first);
  if (inst.destinations == 2) warp.SetPredicate(inst.o[1], second);
  return Flow::kNext;
}

// The lanes whose 16-bit halves at `shift` hold the relation.
template <class R>
uint32_t CompareHalves(const Inst& inst, const uint32_t* a, const uint32_t* b, int shift) {
  return Collect([&](int i) {
    const float x = R::Load(static_cast<uint16_t>(a[i] >> shift)), y = R::Load(static_cast<uint16_t>(b[i] >> shift));
    return (inst.c & kFtz) != 0 ? Holds(inst.a, R::Flush(x), R::Flush(y)) : Holds(inst.a, x, y);
  });
}

// setp.f16x2: p|q compare the low and the high halves.
template <class R>
Flow SetpPair(Warp& warp, const Inst& inst) {
  const uint32_t* a = warp.In<uint32_t>(inst.o[2]);
  const uint32_t* b = warp.In<uint32_t>(inst.o[3]);
  const uint32_t low = Combined(warp, inst, CompareHalves<R>(inst, a, b, 0), false);
  const uint32_t high = Combined(warp, inst, CompareHalves<R>(inst, a, b, 16), false);
  warp.SetPredicate(inst.o[0], low);
  warp.SetPredicate(inst.o[1], high);
  return Flow::kNext;
}

// set: all ones or 1.0. `extra` is unused; the destination's value when true is in `immediate`.
template <class R, class D>
Flow Set(Warp& warp, const Inst& inst) {
  const uint32_t truth = Combined(warp, inst, Compare<R>(warp, inst, inst.o[1], inst.o[2]), false);
  const D value = static_cast<D>(inst.immediate);
  Map<D>(warp, inst.o[0], [=](int i) { return truth >> i & 1 ? value : D{0}; });
  return Flow::kNext;
}

template <class R>
Flow SetPair(Warp& warp, const Inst& inst) {
  const uint32_t* a = warp.In<uint32_t>(inst.o[1]);
  const uint32_t* b = warp.In<uint32_t>(inst.o[2]);
  const uint32_t value = static_cast<uint32_t>(inst.immediate);
  const uint32_t low = Combined(warp, inst, CompareHalves<R>(inst, a, b, 0), false);
  const uint32_t high = Combined(warp, inst, CompareHalves<R>(inst, a, b, 16), false);
  Map<uint32_t>(warp, inst.o[0],
                [&](int i) { return (low >> i & 1 ? value & 0xffff : 0) | (high >> i & 1 ? value & 0xffff0000 : 0); });
  return Flow::kNext;
}

// ---- decoding ----

bool ParseRelation(Decoder& d, Type type) {
  static constexpr absl::string_view kNames[] = {"eq",  "ne",  "lt",  "le",  "gt",  "ge",  "equ",
                                                 "neu", "ltu", "leu", "gtu", "geu", "num", "nan"};
  static constexpr struct {
    absl::string_view name;
    Relation relation;
  } kUnsigned[] = {{"lo", kLt}, {"ls", kLe}, {"hi", kGt}, {"hs", kGe}};
  const absl::string_view name = d.Part(1);
  for (uint32_t i = 0; i < 14; ++i) {
    if (kNames[i] != name) continue;
    d.inst().a = i;
    return i < kEqu || IsFloat(type);
  }
  for (const auto& row : kUnsigned) {
    if (row.name != name) continue;
    d.inst().a = row.relation;
    return true;
  }
  return false;
}

void ParseCombine(Decoder& d) {
  d.inst().b = d.Has("and") ? kAnd : d.Has("or") ? kOr : d.Has("xor") ? kXor : kAlone;
  d.inst().c = d.Has("ftz") ? kFtz : 0;
}

Handler SetpHandler(Type type) {
  switch (type) {
    case Type::kB16:
    case Type::kU16:
      return Setp<Plain<uint16_t>>;
    case Type::kS16:
      return Setp<Plain<int16_t>>;
    case Type::kB32:
    case Type::kU32:
      return Setp<Plain<uint32_t>>;
    case Type::kS32:
      return Setp<Plain<int32_t>>;
    case Type::kB64:
    case Type::kU64:
      return Setp<Plain<uint64_t>>;
    case Type::kS64:
      return Setp<Plain<int64_t>>;
    case Type::kF32:
      return Setp<Plain<float>>;
    case Type::kF64:
      return Setp<Plain<double>>;
    case Type::kF16:
      return Setp<HalfReader>;
    case Type::kBf16:
      return Setp<Bf16Reader>;
    case Type::kF16x2:
      return SetpPair<HalfReader>;
    case Type::kBf16x2:
      return SetpPair<Bf16Reader>;
    default:
      return nullptr;
  }
}

absl::Status DecodeSetp(Decoder& d) {
  const Type type = d.type();
  const Handler handler = SetpHandler(type);
  if (handler == nullptr || !ParseRelation(d, type)) return d.Lacks();
  ParseCombine(d);
  const size_t operands = d.inst().b == kAlone ? 3 : 4;
  RETURN_IF_ERROR(d.NeedOperands(operands, operands));
  const auto destinations = Decoder::Elements(d.operand(0));
  const bool pair = type == Type::kF16x2 || type == Type::kBf16x2;
  if (destinations.size() > 2 || (pair && destinations.size() != 2)) return d.Malformed("p or p|q");
  for (const ptx::Operand* operand : destinations) RETURN_IF_ERROR(d.Destination(*operand, 0));
  RETURN_IF_ERROR(d.Source(d.operand(1), type));
  RETURN_IF_ERROR(d.Source(d.operand(2), type));
  if (operands == 4) RETURN_IF_ERROR(d.Predicate(d.operand(3)));
  return d.Set(handler);
}

template <class D>
Handler SetHandler(Type source) {
  switch (source) {
    case Type::kB16:
    case Type::kU16:
      return Set<Plain<uint16_t>, D>;
    case Type::kS16:
      return Set<Plain<int16_t>, D>;
    case Type::kB32:
    case Type::kU32:
      return Set<Plain<uint32_t>, D>;
    case Type::kS32:
      return Set<Plain<int32_t>, D>;
    case Type::kB64:
    case Type::kU64:
      return Set<Plain<uint64_t>, D>;
    case Type::kS64:
      return Set<Plain<int64_t>, D>;
    case Type::kF32:
      return Set<Plain<float>, D>;
    case Type::kF64:
      return Set<Plain<double>, D>;
    case Type::kF16:
      return Set<HalfReader, D>;
    case Type::kBf16:
      return Set<Bf16Reader, D>;
    default:
      return nullptr;
  }
}

int64_t TrueValue(Type type) {
  switch (type) {
    case Type::kF16:
      return 0x3c00;
    case Type::kBf16:
      return 0x3f80;
    case Type::kF16x2:
      return 0x3c003c00;
    case Type::kBf16x2:
      return 0x3f803f80;
    case Type::kF32:
      return 0x3f800000;
    default:
      return -1;
  }
}

absl::Status DecodeSet(Decoder& d) {
  if (d.types().size() != 2) return d.Lacks();
  const Type destination = d.type(0), source = d.type(1);
  if (!ParseRelation(d, source)) return d.Lacks();
  ParseCombine(d);
  d.inst().immediate = TrueValue(destination);
  Handler handler = SizeOf(destination) == 2 ? SetHandler<uint16_t>(source) : SetHandler<uint32_t>(source);
  if (source == Type::kF16x2) handler = SetPair<HalfReader>;
  if (source == Type::kBf16x2) handler = SetPair<Bf16Reader>;
  if ((source == Type::kF16x2 || source == Type::kBf16x2) && SizeOf(destination) != 4) return d.Lacks();
  if (d.inst().b == kAlone) return Regular(d, handler, destination, {source, source});
  return Regular(d, handler, destination, {source, source, Type::kPred});
}

template <class T>
Flow Selp(Warp& warp, const Inst& inst) {
  const T* a = warp.In<T>(inst.o[1]);
  const T* b = warp.In<T>(inst.o[2]);
  const uint32_t choose = warp.PredicateIn(inst.o[3]);
  Map<T>(warp, inst.o[0], [=](int i) { return choose >> i & 1 ? a[i] : b[i]; });
  return Flow::kNext;
}

absl::Status DecodeSelp(Decoder& d) {
  const Type type = d.type();
  const Handler handler = SizeOf(type) == 2 ? Selp<uint16_t> : SizeOf(type) == 4 ? Selp<uint32_t> : Selp<uint64_t>;
  return Regular(d, handler, type, {type, type, Type::kPred});
}

// `a`: 1 flushes subnormals, so that a negative one counts as zero.
template <class T, bool kFloat>
Flow Slct(Warp& warp, const Inst& inst) {
  const T* a = warp.In<T>(inst.o[1]);
  const T* b = warp.In<T>(inst.o[2]);
  const uint32_t* c = warp.In<uint32_t>(inst.o[3]);
  Map<T>(warp, inst.o[0], [&](int i) {
    const float number = std::bit_cast<float>(c[i]);
    const bool first = kFloat ? (inst.a != 0 ? FlushFloat(number) : number) >= 0 : static_cast<int32_t>(c[i]) >= 0;
    return first ? a[i] : b[i];
  });
  return Flow::kNext;
}

absl::Status DecodeSlct(Decoder& d) {
  const Type type = d.type(0), condition = d.type(1);
  const bool real = condition == Type::kF32;
  d.inst().a = d.Has("ftz");
  const Handler handler = SizeOf(type) == 4   ? (real ? Slct<uint32_t, true> : Slct<uint32_t, false>)
                          : SizeOf(type) == 8 ? (real ? Slct<uint64_t, true> : Slct<uint64_t, false>)
                                              : (real ? Slct<uint16_t, true> : Slct<uint16_t, false>);
  return Regular(d, handler, type, {type, type, Type::kB32});
}

// testp: `a` is the question.
template <class T>
Flow Testp(Warp& warp, const Inst& inst) {
  const T* a = warp.In<T>(inst.o[1]);
  const uint32_t truth = Collect([&](int i) {
    switch (std::fpclassify(a[i])) {
      case FP_NAN:
        return inst.a == 2 || inst.a == 5;
      case FP_INFINITE:
        return inst.a == 1 || inst.a == 4;
      case FP_SUBNORMAL:
        return inst.a == 0 || inst.a == 4 || inst.a == 6;
      case FP_ZERO:
        return inst.a == 0 || inst.a == 3 || inst.a == 4;  // hardware calls zero normal
      default:
        return inst.a == 0 || inst.a == 3 || inst.a == 4;
    }
  });
  warp.SetPredicate(inst.o[0], truth);
  return Flow::kNext;
}

absl::Status DecodeTestp(Decoder& d) {
  static constexpr absl::string_view kQuestions[] = {"finite", "infinite", "notanumber", "normal",
                                                     "number", "nan",      "subnormal"};
  for (uint32_t i = 0; i < 7; ++i) {
    if (d.Has(kQuestions[i])) d.inst().a = i;
  }
  return Regular(d, d.type() == Type::kF64 ? Testp<double> : Testp<float>, Type::kPred, {d.type()});
}

}  // namespace

void RegisterCompare(OpTable& table) {
  table.Add("setp", DecodeSetp);
  table.Add("set", DecodeSet);
  table.Add("selp", DecodeSelp);
  table.Add("slct", DecodeSlct);
  table.Add("testp", DecodeTestp);
}

}  // namespace sassay::emulator
