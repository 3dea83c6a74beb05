#include "profiler_service/emulator/ops/arithmetic/numeric.h"

#include <algorithm>
#include <limits>

namespace sassay::emulator {
namespace {

// Rounds a non-negative real to an integer.
double RoundMagnitude(double value, Rounding rounding, bool negative) {
  const double floor = std::floor(value);
  const double rest = value - floor;
  if (rest == 0) return floor;
  switch (rounding) {
    case Rounding::kZero:
      return floor;
    case Rounding::kDown:
      return negative ? floor + 1 : floor;
    case Rounding::kUp:
      return negative ? floor : floor + 1;
    case Rounding::kNearestAway:
      return rest >= 0.5 ? floor + 1 : floor;
    case Rounding::kNearest:
      break;
  }
  if (rest != 0.5) return rest > 0.5 ? floor + 1 : floor;
  return std::fmod(floor, 2) == 0 ? floor : floor + 1;
}

}  // namespace

uint32_t Encode(double value, Format format, Rounding rounding, bool saturate) {
  const int width = format.exponent_bits + format.mantissa_bits;
  const bool negative = std::signbit(value);
  const uint32_t sign = negative ? uint32_t{1} << width : 0;
  const uint32_t top_exponent = ((1u << format.exponent_bits) - 1) << format.mantissa_bits;
  const uint32_t nan = (1u << width) - 1;
  const uint32_t largest = format.has_infinity ? top_exponent - 1 : (1u << width) - 2;
  if (std::isnan(value)) return nan;
  const int bias = (1 << (format.exponent_bits - 1)) - 1;
  const double magnitude = std::fabs(value);
  if (magnitude == 0) return sign;
  const bool towards_zero = rounding == Rounding::kZero || rounding == (negative ? Rounding::kUp : Rounding::kDown);
  const uint32_t overflow = saturate || (towards_zero && !std::isinf(value)) ? largest
                            : format.has_infinity                            ? top_exponent
                                                                             : nan;
  if (std::isinf(value)) return sign | overflow;
  const int exponent = std::max(std::ilogb(magnitude), 1 - bias);
  const double ulps = RoundMagnitude(std::ldexp(magnitude, format.mantissa_bits - exponent), rounding, negative);
  // The exponent field counts one less than the leading one of a normal number adds.
  const uint64_t bits =
      (static_cast<uint64_t>(exponent + bias - 1) << format.mantissa_bits) + static_cast<uint64_t>(ulps);
  return bits > largest ? sign | overflow : sign | static_cast<uint32_t>(bits);
}

double Decode(uint32_t bits, Format format) {
  const int width = format.exponent_bits + format.mantissa_bits;
  const uint32_t mantissa = bits & ((1u << format.mantissa_bits) - 1);
  const int exponent = static_cast<int>(bits >> format.mantissa_bits) & ((1 << format.exponent_bits) - 1);
  const int bias = (1 << (format.exponent_bits - 1)) - 1;
  const double sign = bits >> width & 1 ? -1.0 : 1.0;
  const bool top = exponent == (1 << format.exponent_bits) - 1;
  if (top && format.has_infinity) {
    return mantissa != 0 ? std::numeric_limits<double>::quiet_NaN() : sign * std::numeric_limits<double>::infinity();
  }
  if (top && mantissa == (1u << format.mantissa_bits) - 1) return std::numeric_limits<double>::quiet_NaN();
  if (exponent == 0) return sign * std::ldexp(mantissa, 1 - bias - format.mantissa_bits);
  return sign * std::ldexp((1u << format.mantissa_bits) + mantissa, exponent - bias - format.mantissa_bits);
}

}  // namespace sassay::emulator
