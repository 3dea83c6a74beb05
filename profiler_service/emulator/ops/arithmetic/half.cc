#include <cmath>

#include "profiler_service/emulator/ops/arithmetic/numeric.h"
#include "profiler_service/emulator/ops/families.h"
#include "profiler_service/emulator/ops/lanes.h"

namespace sassay::emulator {
namespace {

enum Operation : uint32_t { kAdd, kSub, kMul, kFma, kMin, kMax, kNeg, kAbs };
constexpr uint32_t kSat = 1, kRelu = 2, kNan = 4, kFtz = 8, kXorSign = 16;

struct F16 {
  static constexpr Format kFormat = kHalfFormat;
  static float Load(uint16_t bits) { return HalfToFloat(bits); }
  static uint16_t Store(float value) { return FloatToHalf(value); }
};
struct Bf16 {
  static constexpr Format kFormat = kBf16Format;
  static float Load(uint16_t bits) { return Bf16ToFloat(bits); }
  static uint16_t Store(float value) { return FloatToBf16(value); }
};

// f16 alone has .ftz.
uint16_t Flush(uint16_t bits) { return (bits & 0x7c00) == 0 ? bits & 0x8000 : bits; }

// Sums and products of two 11-bit numbers in float, rounded again to 11 bits, are rounded right: 24 >= 2 * 11 + 2.
template <class N>
uint16_t One(uint32_t operation, uint32_t flags, uint16_t x, uint16_t y, uint16_t z) {
  if ((flags & kFtz) != 0) x = Flush(x), y = Flush(y), z = Flush(z);
  if (operation == kNeg || operation == kAbs) {
    if (std::isnan(N::Load(x))) return 0x7fff;
    return operation == kNeg ? x ^ 0x8000 : x & 0x7fff;
  }
  const float a = N::Load(x), b = N::Load(y);
  float value = 0;
  switch (operation) {
    case kAdd:
      value = a + b;
      break;
    case kSub:
      value = a - b;
      break;
    case kMul:
      value = a * b;
      break;
    case kFma: {
      const double sum = AddOdd(double{a} * b, N::Load(z));
      const uint16_t bits = static_cast<uint16_t>(Encode(sum, N::kFormat, Rounding::kNearest));
      if ((flags & (kSat | kRelu | kFtz)) == 0) return bits;
      value = N::Load(bits);
      break;
    }
    default: {
      float left = a, right = b;
      if ((flags & kXorSign) != 0) left = std::fabs(a), right = std::fabs(b);
      value = operation == kMin ? MinOf(left, right, (flags & kNan) != 0) : MaxOf(left, right, (flags & kNan) != 0);
      if ((flags & kXorSign) != 0 && std::signbit(a) != std::signbit(b)) value = -value;
      break;
    }
  }
  if ((flags & kSat) != 0) value = Saturate(N::Load(N::Store(value)));
  if ((flags & kRelu) != 0 && std::signbit(value) && !std::isnan(value)) value = 0;
  const uint16_t bits = N::Store(value);
  return (flags & kFtz) != 0 ? Flush(bits) : bits;
}

template <class N>
Flow Scalar(Warp& warp, const Inst& inst) {
  const uint16_t* a = warp.In<uint16_t>(inst.o[1]);
  const uint16_t* b = warp.In<uint16_t>(inst.o[inst.sources > 1 ? 2 : 1]);
  const uint16_t* c = warp.In<uint16_t>(inst.o[inst.sources > 2 ? 3 : 1]);
  Map<uint16_t>(warp, inst.o[0], [&](int i) { return One<N>(inst.a, inst.b, a[i], b[i], c[i]); });
  return Flow::kNext;
}

template <class N>
Flow Pair(Warp& warp, const Inst& inst) {
  const uint32_t* a = warp.In<uint32_t>(inst.o[1]);
  const uint32_t* b = warp.In<uint32_t>(inst.o[inst.sources > 1 ? 2 : 1]);
  const uint32_t* c = warp.In<uint32_t>(inst.o[inst.sources > 2 ? 3 : 1]);
  auto half = [](uint32_t pair, int k) { return static_cast<uint16_t>(pair >> (16 * k)); };
  Map<uint32_t>(warp, inst.o[0], [&](int i) {
    const uint32_t low = One<N>(inst.a, inst.b, half(a[i], 0), half(b[i], 0), half(c[i], 0));
    const uint32_t high = One<N>(inst.a, inst.b, half(a[i], 1), half(b[i], 1), half(c[i], 1));
    return high << 16 | low;
  });
  return Flow::kNext;
}

}  // namespace

absl::Status DecodeHalfArithmetic(Decoder& d) {
  static constexpr struct {
    absl::string_view root;
    Operation operation;
    int sources;
  } kOperations[] = {{"add", kAdd, 2}, {"sub", kSub, 2}, {"mul", kMul, 2}, {"fma", kFma, 3}, {"mad", kFma, 3},
                     {"min", kMin, 2}, {"max", kMax, 2}, {"neg", kNeg, 1}, {"abs", kAbs, 1}};
  if (d.types().size() != 1 || d.Has("oob")) return d.Lacks();
  const Type type = d.type();
  d.inst().b = (d.Has("sat") ? kSat : 0) | (d.Has("relu") ? kRelu : 0) | (d.Has("NaN") ? kNan : 0) |
               (d.Has("ftz") ? kFtz : 0) | (d.Has("xorsign") ? kXorSign : 0);
  const Handler handler = type == Type::kF16     ? Scalar<F16>
                          : type == Type::kBf16  ? Scalar<Bf16>
                          : type == Type::kF16x2 ? Pair<F16>
                                                 : Pair<Bf16>;
  for (const auto& row : kOperations) {
    if (row.root != d.Part(0)) continue;
    d.inst().a = row.operation;
    if (row.sources == 1) return Regular(d, handler, type, {type});
    if (row.sources == 2) return Regular(d, handler, type, {type, type});
    return Regular(d, handler, type, {type, type, type});
  }
  return d.Lacks();
}

}  // namespace sassay::emulator
