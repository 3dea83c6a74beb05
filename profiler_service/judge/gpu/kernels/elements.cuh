// Elements of every dtype as doubles, on the GPU: element.cc, to the bit.
#ifndef SASSAY_PROFILER_SERVICE_JUDGE_GPU_KERNELS_ELEMENTS_CUH_
#define SASSAY_PROFILER_SERVICE_JUDGE_GPU_KERNELS_ELEMENTS_CUH_

#include "profiler_service/judge/gpu/kernel_arguments.h"

namespace sassay::judge::gpu {

struct Format {
  int exponent_bits, precision, bias;
  bool has_infinity;
};

__device__ inline Format FormatOf(Element element) {
  switch (element) {
    case Element::kFloat64:
      return {11, 53, 1023, true};
    case Element::kFloat32:
      return {8, 24, 127, true};
    case Element::kFloat16:
      return {5, 11, 15, true};
    case Element::kE4m3:
      return {4, 4, 7, false};
    case Element::kE5m2:
      return {5, 3, 15, true};
    default:
      return {8, 8, 127, true};
  }
}

__device__ inline bool Finite(double value) { return (__double2hiint(value) & 0x7FF00000) != 0x7FF00000; }
__device__ inline bool NotANumber(double value) { return value != value; }
__device__ inline double PowerOfTwo(int exponent) { return __hiloint2double((exponent + 1023) << 20, 0); }

// Exponent of a positive normal double.
__device__ inline int ExponentOf(double magnitude) { return ((__double2hiint(magnitude) >> 20) & 0x7FF) - 1023; }

__device__ inline int UlpExponent(const Format& format, double magnitude) {
  const int smallest = 1 - format.bias;
  const int exponent = magnitude > 0 ? max(ExponentOf(magnitude), smallest) : smallest;
  return exponent - (format.precision - 1);
}

// Distance between neighbours of `element` around `value`; 0 for what is compared exactly.
__device__ inline double UlpAt(Element element, double value) {
  if (element >= Element::kInt64 || !Finite(value)) return 0;
  return ldexp(1.0, UlpExponent(FormatOf(element), fabs(value)));
}

__device__ inline double DecodeSmall(const Format& format, uint32_t bits) {
  const int mantissa_bits = format.precision - 1;
  const uint32_t mantissa = bits & ((1u << mantissa_bits) - 1);
  const uint32_t exponent = (bits >> mantissa_bits) & ((1u << format.exponent_bits) - 1);
  const uint32_t top = (1u << format.exponent_bits) - 1;
  double value;
  if (exponent == top && format.has_infinity) {
    value = __hiloint2double(mantissa ? 0x7FF80000 : 0x7FF00000, 0);
  } else if (exponent == top && mantissa == (1u << mantissa_bits) - 1) {
    value = __hiloint2double(0x7FF80000, 0);
  } else if (exponent == 0) {
    value = mantissa * PowerOfTwo(1 - format.bias - mantissa_bits);
  } else {
    value = (mantissa | (1u << mantissa_bits)) * PowerOfTwo(static_cast<int>(exponent) - format.bias - mantissa_bits);
  }
  return (bits >> (mantissa_bits + format.exponent_bits)) & 1 ? -value : value;
}

__device__ inline double LargestFinite(const Format& format) {
  const int mantissa_bits = format.precision - 1;
  const uint32_t top = (1u << format.exponent_bits) - 1;
  return DecodeSmall(format, format.has_infinity ? ((top - 1) << mantissa_bits) | ((1u << mantissa_bits) - 1)
                                                 : (top << mantissa_bits) | ((1u << mantissa_bits) - 2));
}

__device__ inline uint32_t EncodeSmall(const Format& format, double value) {
  const int mantissa_bits = format.precision - 1;
  const uint32_t sign = static_cast<uint32_t>(__double2hiint(value)) >> 31 << (mantissa_bits + format.exponent_bits);
  const uint32_t top = ((1u << format.exponent_bits) - 1) << mantissa_bits;
  if (NotANumber(value)) return sign | top | ((1u << mantissa_bits) - 1);
  double magnitude = fabs(value);
  if (Finite(magnitude)) {
    const int unit = UlpExponent(format, magnitude);
    magnitude = rint(magnitude * PowerOfTwo(-unit)) * PowerOfTwo(unit);
  }
  const double largest = LargestFinite(format);
  if (magnitude > largest) {
    if (format.has_infinity) return sign | top;
    magnitude = largest;
  }
  const int unit = UlpExponent(format, magnitude);
  const uint32_t scaled = __double2uint_rz(magnitude * PowerOfTwo(-unit));
  if (scaled < (1u << mantissa_bits)) return sign | scaled;
  const int exponent = unit + mantissa_bits + format.bias;
  return sign | (static_cast<uint32_t>(exponent) << mantissa_bits) | (scaled & ((1u << mantissa_bits) - 1));
}

template <typename T>
__device__ inline T& At(uint64_t base, int64_t index) {
  return reinterpret_cast<T*>(base)[index];
}

__device__ inline double Load(Element element, uint64_t base, int64_t i) {
  switch (element) {
    case Element::kFloat64:
      return At<const double>(base, i);
    case Element::kFloat32:
      return At<const float>(base, i);
    case Element::kBfloat16:
      return __uint_as_float(static_cast<uint32_t>(At<const uint16_t>(base, i)) << 16);
    case Element::kFloat16:
      return DecodeSmall(FormatOf(element), At<const uint16_t>(base, i));
    case Element::kE4m3:
    case Element::kE5m2:
      return DecodeSmall(FormatOf(element), At<const uint8_t>(base, i));
    case Element::kInt64:
      return static_cast<double>(At<const int64_t>(base, i));
    case Element::kInt32:
      return At<const int32_t>(base, i);
    case Element::kInt16:
      return At<const int16_t>(base, i);
    case Element::kInt8:
      return At<const signed char>(base, i);
    default:
      return At<const uint8_t>(base, i);
  }
}

__device__ inline double Saturated(double value, double low, double high) {
  return NotANumber(value) ? 0 : fmin(fmax(rint(value), low), high);
}

__device__ inline void Store(Element element, uint64_t base, int64_t i, double value) {
  switch (element) {
    case Element::kFloat64:
      At<double>(base, i) = value;
      return;
    case Element::kFloat32:
      At<float>(base, i) = static_cast<float>(value);
      return;
    case Element::kFloat16:
    case Element::kBfloat16:
      At<uint16_t>(base, i) = static_cast<uint16_t>(EncodeSmall(FormatOf(element), value));
      return;
    case Element::kE4m3:
    case Element::kE5m2:
      At<uint8_t>(base, i) = static_cast<uint8_t>(EncodeSmall(FormatOf(element), value));
      return;
    case Element::kInt64:
      At<int64_t>(base, i) = __double2ll_rz(Saturated(value, -9223372036854775808.0, 9223372036854775808.0));
      return;
    case Element::kInt32:
      At<int32_t>(base, i) = static_cast<int32_t>(Saturated(value, -2147483648.0, 2147483647.0));
      return;
    case Element::kInt16:
      At<int16_t>(base, i) = static_cast<int16_t>(Saturated(value, -32768.0, 32767.0));
      return;
    case Element::kInt8:
      At<signed char>(base, i) = static_cast<signed char>(Saturated(value, -128.0, 127.0));
      return;
    case Element::kUint8:
      At<uint8_t>(base, i) = static_cast<uint8_t>(Saturated(value, 0.0, 255.0));
      return;
    case Element::kBool:
      At<uint8_t>(base, i) = value != 0;
      return;
  }
}

// The raw bits of an element.
__device__ inline uint64_t Bits(uint32_t width, uint64_t base, int64_t i) {
  switch (width) {
    case 8:
      return At<const uint64_t>(base, i);
    case 4:
      return At<const uint32_t>(base, i);
    case 2:
      return At<const uint16_t>(base, i);
    default:
      return At<const uint8_t>(base, i);
  }
}

// Where a thread of a walk over an array starts, and its stride.
__device__ inline int64_t First() { return static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; }
__device__ inline int64_t Stride() { return static_cast<int64_t>(gridDim.x) * blockDim.x; }

// Combines the threads' values of a block; the result is thread 0's. `combine(a, b)` adds b to a.
template <typename T, typename Combine>
__device__ inline void ReduceBlock(T& value, Combine combine) {
  __shared__ T values[kThreads];
  values[threadIdx.x] = value;
  __syncthreads();
  for (uint32_t half = kThreads / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) combine(values[threadIdx.x], values[threadIdx.x + half]);
    __syncthreads();
  }
  value = values[0];
  __syncthreads();
}

}  // namespace sassay::judge::gpu

#endif  // SASSAY_PROFILER_SERVICE_JUDGE_GPU_KERNELS_ELEMENTS_CUH_
