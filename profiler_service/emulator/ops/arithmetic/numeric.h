// Numbers as PTX has them: 16-bit formats, directed rounding, flushing of subnormals. Everything here rounds once:
// results are exact in double or carry a sticky bit until the one rounding to the target.
#ifndef SASSAY_PROFILER_SERVICE_EMULATOR_OPS_ARITHMETIC_NUMERIC_H_
#define SASSAY_PROFILER_SERVICE_EMULATOR_OPS_ARITHMETIC_NUMERIC_H_

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace sassay::emulator {

enum class Rounding : uint8_t { kNearest, kZero, kDown, kUp, kNearestAway };

inline float HalfToFloat(uint16_t half) {
  const uint32_t sign = uint32_t{half & 0x8000u} << 16;
  const uint32_t body = half & 0x7fffu;
  // Multiplying by 2^112 re-biases normal and subnormal numbers alike, exactly.
  const float scaled = std::bit_cast<float>(body << 13) * 0x1p112f;
  const uint32_t finite = std::bit_cast<uint32_t>(scaled);
  const uint32_t bits = body >= 0x7c00 ? (0x7f800000u | (body << 13)) : finite;
  return std::bit_cast<float>(sign | bits);
}

inline float Bf16ToFloat(uint16_t bits) { return std::bit_cast<float>(uint32_t{bits} << 16); }

// Round to nearest even; NaN becomes the canonical 0x7fff, as hardware has it.
inline uint16_t FloatToBf16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t rounded = bits + 0x7fff + ((bits >> 16) & 1);
  return (bits & 0x7fffffff) > 0x7f800000 ? 0x7fff : static_cast<uint16_t>(rounded >> 16);
}

inline uint16_t FloatToHalf(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = (bits >> 16) & 0x8000;
  uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) return 0x7fff;
  if (magnitude >= 0x477ff000) return static_cast<uint16_t>(sign | 0x7c00);
  if (magnitude < 0x38800000) {
    // Adding 0.5 lines the subnormal's last bit up with the float's: the addition rounds.
    const float aligned = std::bit_cast<float>(magnitude) + 0.5f;
    return static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(aligned) - 0x3f000000));
  }
  magnitude += 0xfff + ((magnitude >> 13) & 1) - (uint32_t{112} << 23);
  return static_cast<uint16_t>(sign | (magnitude >> 13));
}

// A binary format: sign, exponent_bits, mantissa_bits.
struct Format {
  int exponent_bits, mantissa_bits;
  bool has_infinity;  // e4m3 has none: overflow is NaN or, saturated, the largest finite
};
inline constexpr Format kHalfFormat{5, 10, true}, kBf16Format{8, 7, true}, kTf32Format{8, 10, true},
    kFloatFormat{8, 23, true}, kE4m3Format{4, 3, false}, kE5m2Format{5, 2, true};

// Bit pattern of `value` in `format`. `saturate`: to the largest finite instead of infinity.
uint32_t Encode(double value, Format format, Rounding rounding, bool saturate = false);
// Value of a bit pattern.
double Decode(uint32_t bits, Format format);

// a + b with a sticky last bit: rounding the result to any format of at most 51 bits is rounding the exact sum.
inline double AddOdd(double a, double b) {
  const double sum = a + b;
  if (!std::isfinite(sum)) return sum;
  const double virtual_b = sum - a;
  const double error = (a - (sum - virtual_b)) + (b - virtual_b);
  uint64_t bits = std::bit_cast<uint64_t>(sum);
  if (error == 0 || (bits & 1) != 0) return sum;
  // Truncate towards zero, then set the last bit.
  if ((error > 0) != (sum > 0)) --bits;
  return std::bit_cast<double>(bits | 1);
}

inline float FlushFloat(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  return (bits & 0x7f800000) == 0 ? std::bit_cast<float>(bits & 0x80000000) : value;
}

inline float RoundDouble(double value, Rounding rounding) {
  if (rounding == Rounding::kNearest) return static_cast<float>(value);
  return std::bit_cast<float>(Encode(value, kFloatFormat, rounding));
}

// Clamps to [0, 1]; NaN becomes 0 (cvt.sat, add.sat …).
template <class T>
inline T Saturate(T value) {
  return value >= T{1} ? T{1} : value > T{0} ? value : T{0};
}

// min and max of PTX: a number wins over NaN unless `nan`; -0 < +0.
template <class T>
inline T MinOf(T a, T b, bool nan) {
  if (std::isnan(a) || std::isnan(b)) {
    const T canonical =
        sizeof(T) == 4 ? static_cast<T>(std::bit_cast<float>(0x7fffffffu)) : std::numeric_limits<T>::quiet_NaN();
    return nan || (std::isnan(a) && std::isnan(b)) ? canonical : std::isnan(a) ? b : a;
  }
  if (a == b) return std::signbit(a) ? a : b;
  return a < b ? a : b;
}
template <class T>
inline T MaxOf(T a, T b, bool nan) {
  if (std::isnan(a) || std::isnan(b)) return MinOf<T>(a, b, nan);
  if (a == b) return std::signbit(a) ? b : a;
  return a < b ? b : a;
}

// f64 hands a NaN on, made quiet.
inline double Quiet(double nan) { return std::bit_cast<double>(std::bit_cast<uint64_t>(nan) | uint64_t{1} << 51); }

// The NaN that f32 arithmetic makes on hardware, where the host makes another.
inline float Canonical(float value) { return value != value ? std::bit_cast<float>(0x7fffffffu) : value; }

}  // namespace sassay::emulator

#endif  // SASSAY_PROFILER_SERVICE_EMULATOR_OPS_ARITHMETIC_NUMERIC_H_
