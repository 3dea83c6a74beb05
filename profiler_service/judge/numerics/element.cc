#include "profiler_service/judge/numerics/element.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "common/workload/definition.h"

namespace sassay::judge {
namespace {

using sassay::v1::DType;

// A binary float of at most 32 bits: `precision` counts the implicit bit.
struct FloatFormat {
  int exponent_bits;
  int precision;
  int bias;
  bool has_infinity;
};

const FloatFormat* SmallFormat(DType dtype) {
  static constexpr FloatFormat kHalf{5, 11, 15, true}, kBfloat{8, 8, 127, true}, kE4m3{4, 4, 7, false},
      kE5m2{5, 3, 15, true};
  switch (dtype) {
    case sassay::v1::DTYPE_FLOAT16:
      return &kHalf;
    case sassay::v1::DTYPE_BFLOAT16:
      return &kBfloat;
    case sassay::v1::DTYPE_FLOAT8_E4M3FN:
      return &kE4m3;
    case sassay::v1::DTYPE_FLOAT8_E5M2:
      return &kE5m2;
    default:
      return nullptr;
  }
}

double Decode(const FloatFormat& format, uint32_t bits) {
  const int mantissa_bits = format.precision - 1;
  const uint32_t mantissa = bits & ((1u << mantissa_bits) - 1);
  const uint32_t exponent = (bits >> mantissa_bits) & ((1u << format.exponent_bits) - 1);
  const bool negative = (bits >> (mantissa_bits + format.exponent_bits)) & 1;
  const uint32_t top = (1u << format.exponent_bits) - 1;
  double value;
  if (exponent == top && format.has_infinity) {
    value = mantissa ? std::numeric_limits<double>::quiet_NaN() : std::numeric_limits<double>::infinity();
  } else if (exponent == top && mantissa == (1u << mantissa_bits) - 1) {
    value = std::numeric_limits<double>::quiet_NaN();
  } else if (exponent == 0) {
    value = std::ldexp(static_cast<double>(mantissa), 1 - format.bias - mantissa_bits);
  } else {
    value = std::ldexp(static_cast<double>(mantissa | (1u << mantissa_bits)),
                       static_cast<int>(exponent) - format.bias - mantissa_bits);
  }
  return negative ? -value : value;
}

double LargestFinite(const FloatFormat& format) {
  const int mantissa_bits = format.precision - 1;
  const uint32_t top = (1u << format.exponent_bits) - 1;
  const uint32_t bits = format.has_infinity ? ((top - 1) << mantissa_bits) | ((1u << mantissa_bits) - 1)
                                            : (top << mantissa_bits) | ((1u << mantissa_bits) - 2);
  return Decode(format, bits);
}

int UlpExponent(const FloatFormat& format, double magnitude) {
  const int smallest = 1 - format.bias;
  const int exponent = magnitude > 0 ? std::ilogb(magnitude) : smallest;
  return std::max(exponent, smallest) - (format.precision - 1);
}

uint32_t Encode(const FloatFormat& format, double value) {
  const int mantissa_bits = format.precision - 1;
  const uint32_t sign = (std::signbit(value) ? 1u : 0u) << (mantissa_bits + format.exponent_bits);
  const uint32_t top = ((1u << format.exponent_bits) - 1) << mantissa_bits;
  if (std::isnan(value)) return sign | top | ((1u << mantissa_bits) - 1);
  double magnitude = std::fabs(value);
  if (!std::isinf(magnitude)) {
    const int unit = UlpExponent(format, magnitude);
    magnitude = std::ldexp(std::nearbyint(std::ldexp(magnitude, -unit)), unit);
  }
  const double largest = LargestFinite(format);
  if (magnitude > largest) {
    if (format.has_infinity) return sign | top;
    magnitude = largest;
  }
  const int unit = UlpExponent(format, magnitude);
  const auto scaled = static_cast<uint32_t>(std::ldexp(magnitude, -unit));
  if (scaled < (1u << mantissa_bits)) return sign | scaled;
  const int exponent = unit + mantissa_bits + format.bias;
  return sign | (static_cast<uint32_t>(exponent) << mantissa_bits) | (scaled & ((1u << mantissa_bits) - 1));
}

template <typename T>
T Read(const char* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof(T));
  return value;
}

template <typename T>
void Write(T value, char* bytes) {
  std::memcpy(bytes, &value, sizeof(T));
}

template <typename T>
void WriteSaturated(double value, char* bytes) {
  const double low = static_cast<double>(std::numeric_limits<T>::min());
  const double high = static_cast<double>(std::numeric_limits<T>::max());
  const double rounded = std::isnan(value) ? 0 : std::nearbyint(value);
  if (rounded >= high) return Write(std::numeric_limits<T>::max(), bytes);
  if (rounded <= low) return Write(std::numeric_limits<T>::min(), bytes);
  Write(static_cast<T>(rounded), bytes);
}

float BfloatToFloat(uint16_t bits) {
  const uint32_t wide = static_cast<uint32_t>(bits) << 16;
  float value;
  std::memcpy(&value, &wide, sizeof(value));
  return value;
}

}  // namespace

bool IsFloating(DType dtype) {
  return dtype == sassay::v1::DTYPE_FLOAT64 || dtype == sassay::v1::DTYPE_FLOAT32 || SmallFormat(dtype) != nullptr;
}

double LoadElement(DType dtype, const char* bytes) {
  switch (dtype) {
    case sassay::v1::DTYPE_FLOAT64:
      return Read<double>(bytes);
    case sassay::v1::DTYPE_FLOAT32:
      return Read<float>(bytes);
    case sassay::v1::DTYPE_BFLOAT16:
      return BfloatToFloat(Read<uint16_t>(bytes));
    case sassay::v1::DTYPE_FLOAT16:
      return Decode(*SmallFormat(dtype), Read<uint16_t>(bytes));
    case sassay::v1::DTYPE_FLOAT8_E4M3FN:
    case sassay::v1::DTYPE_FLOAT8_E5M2:
      return Decode(*SmallFormat(dtype), Read<uint8_t>(bytes));
    case sassay::v1::DTYPE_INT64:
      return static_cast<double>(Read<int64_t>(bytes));
    case sassay::v1::DTYPE_INT32:
      return Read<int32_t>(bytes);
    case sassay::v1::DTYPE_INT16:
      return Read<int16_t>(bytes);
    case sassay::v1::DTYPE_INT8:
      return Read<int8_t>(bytes);
    case sassay::v1::DTYPE_UINT8:
    case sassay::v1::DTYPE_BOOL:
      return Read<uint8_t>(bytes);
    default:
      return 0;
  }
}

void StoreElement(DType dtype, double value, char* bytes) {
  switch (dtype) {
    case sassay::v1::DTYPE_FLOAT64:
      return Write(value, bytes);
    case sassay::v1::DTYPE_FLOAT32:
      return Write(static_cast<float>(value), bytes);
    case sassay::v1::DTYPE_FLOAT16:
    case sassay::v1::DTYPE_BFLOAT16:
      return Write(static_cast<uint16_t>(Encode(*SmallFormat(dtype), value)), bytes);
    case sassay::v1::DTYPE_FLOAT8_E4M3FN:
    case sassay::v1::DTYPE_FLOAT8_E5M2:
      return Write(static_cast<uint8_t>(Encode(*SmallFormat(dtype), value)), bytes);
    case sassay::v1::DTYPE_INT64:
      return WriteSaturated<int64_t>(value, bytes);
    case sassay::v1::DTYPE_INT32:
      return WriteSaturated<int32_t>(value, bytes);
    case sassay::v1::DTYPE_INT16:
      return WriteSaturated<int16_t>(value, bytes);
    case sassay::v1::DTYPE_INT8:
      return WriteSaturated<int8_t>(value, bytes);
    case sassay::v1::DTYPE_UINT8:
      return WriteSaturated<uint8_t>(value, bytes);
    case sassay::v1::DTYPE_BOOL:
      return Write(static_cast<uint8_t>(value != 0), bytes);
    default:
      return;
  }
}

double RoundTo(DType dtype, double value) {
  char bytes[8];
  StoreElement(dtype, value, bytes);
  return LoadElement(dtype, bytes);
}

double UlpAt(DType dtype, double value) {
  static constexpr FloatFormat kSingle{8, 24, 127, true}, kDouble{11, 53, 1023, true};
  const FloatFormat* format = SmallFormat(dtype);
  if (dtype == sassay::v1::DTYPE_FLOAT32) format = &kSingle;
  if (dtype == sassay::v1::DTYPE_FLOAT64) format = &kDouble;
  if (format == nullptr || !std::isfinite(value)) return 0;
  return std::ldexp(1.0, UlpExponent(*format, std::fabs(value)));
}

std::vector<float> DecodeFloats(DType dtype, absl::string_view bytes) {
  const size_t width = DTypeBytes(dtype);
  std::vector<float> values(width == 0 ? 0 : bytes.size() / width);
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(LoadElement(dtype, bytes.data() + i * width));
  }
  return values;
}

std::vector<double> DecodeDoubles(DType dtype, absl::string_view bytes) {
  const size_t width = DTypeBytes(dtype);
  std::vector<double> values(width == 0 ? 0 : bytes.size() / width);
  for (size_t i = 0; i < values.size(); ++i) values[i] = LoadElement(dtype, bytes.data() + i * width);
  return values;
}

std::string EncodeDoubles(DType dtype, const std::vector<double>& values) {
  const size_t width = DTypeBytes(dtype);
  std::string bytes(values.size() * width, '\0');
  for (size_t i = 0; i < values.size(); ++i) StoreElement(dtype, values[i], bytes.data() + i * width);
  return bytes;
}

}  // namespace sassay::judge
