#include "profiler_service/emulator/ops/tensor/sum.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace sassay::emulator {
namespace {

int32_t ExponentOf(float value, int32_t least) {
  const uint32_t bits = std::bit_cast<uint32_t>(value) & 0x7fffffff;
  if (bits == 0) return kExponentOfZero;
  if (bits >= 0x7f800000) return kExponentOfNoNumber;
  return std::max(static_cast<int32_t>(bits >> 23) - 127, least);
}

// `units` of 2^`unit`, cut off as `rules` say.
float CutOff(int64_t units, int unit, const SumRules& rules) {
  const uint64_t low = ~(~uint64_t{0} << (52 - rules.kept));
  const uint64_t bits = std::bit_cast<uint64_t>(static_cast<double>(units));
  const uint64_t told = rules.to_f16 && (bits & low) != 0 ? low + 1 : 0;
  double value = std::ldexp(std::bit_cast<double>((bits & ~low) | told), unit);
  if (std::fabs(value) < 0x1p-126) value = std::ldexp(std::trunc(std::ldexp(value, 149)), -149);
  return static_cast<float>(value);
}

}  // namespace

int32_t TensorExponent(float value, Type type) {
  switch (type) {
    case Type::kF16:
    case Type::kE5m2:
      return ExponentOf(value, -14);
    case Type::kE4m3:
      return ExponentOf(value, -6);
    default:
      return ExponentOf(value, -126);
  }
}

float TensorSum(float sum, const Factors& f, const SumRules& rules) {
  int32_t top = TensorExponent(sum, rules.to_f16 ? Type::kF16 : Type::kF32);
  for (uint32_t i = 0; i < f.count; ++i) top = std::max(top, f.a_exponents[i] + f.b_exponents[i * f.step]);
  if (top > kExponentOfNoNumber / 2) {
    for (uint32_t i = 0; i < f.count; ++i) sum += f.a[i] * f.b[i * f.step];
    return sum;
  }
  if (top < kExponentOfZero / 2) return 0;
  const int unit = top - rules.aligned;
  const double scale = std::bit_cast<double>(static_cast<uint64_t>(1023 - unit) << 52);
  int64_t units = static_cast<int64_t>(double{sum} * scale);
  for (uint32_t i = 0; i < f.count; ++i) {
    units += static_cast<int64_t>(double{f.a[i]} * double{f.b[i * f.step]} * scale);
  }
  return CutOff(units, unit, rules);
}

}  // namespace sassay::emulator
