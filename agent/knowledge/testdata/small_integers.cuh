// Factors of small integers, laid out in shared memory as TMA would, and what their products ought to be.
#pragma once

#include <sassay/ptx/common.cuh>
#include <type_traits>

#include "self_check.cuh"

using namespace sassay::ptx;
using self_check::Value;

template <In kIn>
constexpr int kElementBytes = kIn == In::tf32                     ? 4
                              : kIn == In::bf16 || kIn == In::f16 ? 2
                                                                  : 1;

// The bits of a small integer.
template <In kIn>
__device__ uint32_t Bits(int value) {
  if constexpr (kIn == In::bf16) return __bfloat16_as_ushort(__int2bfloat16_rn(value));
  if constexpr (kIn == In::f16) return __half_as_ushort(__int2half_rn(value));
  if constexpr (kIn == In::tf32) return __float_as_uint(static_cast<float>(value));
  if constexpr (kIn == In::s8 || kIn == In::u8) return value & 0xff;
  // 0 to 3 as sign, exponent (bias 7 or 15), mantissa of 3 or 2 bits.
  const int size = abs(value), exponent = size > 1, half = size == 3;
  const uint32_t bits = size == 0         ? 0
                        : kIn == In::e4m3 ? (7 + exponent) << 3 | half << 2
                                          : (15 + exponent) << 2 | half << 1;
  return bits | (value < 0) << 7;
}

template <In kIn>
__device__ int Element(int row, int k, int salt) {
  const int value = Value(row, k, salt);
  return kIn == In::u8 ? value + 3 : value;
}

template <In kIn>
__device__ void Put(uint8_t* tile, uint32_t offset, int value) {
  // By type: of a memcpy of two bytes ptxas 13.0 makes single bytes, and the low one by F2I, as if a number were meant.
  using Word = std::conditional_t<kElementBytes<kIn> == 4, uint32_t,
                                  std::conditional_t<kElementBytes<kIn> == 2, uint16_t, uint8_t>>;
  *reinterpret_cast<Word*>(tile + offset) = static_cast<Word>(Bits<kIn>(value));
}

// Lays `rows` x kDepth elements, from row `first` on, out as TMA would. kDepth: K of two instructions.
template <In kIn>
constexpr int kDepth = 64 / kElementBytes<kIn>;

template <In kIn, Major kMajor, Swizzle kSwizzle>
__device__ void Lay(uint8_t* tile, int rows, int salt, int first = 0) {
  constexpr int kBytes = kElementBytes<kIn>, kSpan = static_cast<int>(kSwizzle);
  for (int i = threadIdx.x; i < rows * kDepth<kIn>; i += blockDim.x) {
    const int row = i / kDepth<kIn>, k = i % kDepth<kIn>;
    uint32_t offset;
    if (kMajor == Major::mn) {  // boxes of kSpan bytes along M or N, one behind the other
      const int inside = row * kBytes % kSpan, box = row * kBytes / kSpan;
      offset = box * kDepth<kIn> * kSpan + swizzled<kSwizzle>(k * kSpan + inside);
    } else {  // boxes of kSpan bytes of K, one behind the other
      const int inside = k * kBytes % kSpan, box = k * kBytes / kSpan;
      offset = box * rows * kSpan + swizzled<kSwizzle>(row * kSpan + inside);
    }
    Put<kIn>(tile, offset, Element<kIn>(first + row, k, salt));
  }
}

// What 256 x 256 products ought to be, by depth and sign.
template <In kIn>
constexpr int kTable = kIn == In::u8             ? 3
                       : kElementBytes<kIn> == 1 ? 2
                       : kElementBytes<kIn> == 2 ? 1
                                                 : 0;
__device__ int products[4][256][256];

template <In kIn>
__global__ void Fill() {
  int sum = 0;
  for (int k = 0; k < kDepth<kIn>; ++k) sum += Element<kIn>(blockIdx.x, k, 0) * Element<kIn>(threadIdx.x, k, 1);
  products[kTable<kIn>][blockIdx.x][threadIdx.x] = sum;
}

static void FillProducts(cudaStream_t stream, int rows = 128) {
  Fill<In::tf32><<<rows, 256, 0, stream>>>();
  Fill<In::bf16><<<rows, 256, 0, stream>>>();
  Fill<In::s8><<<rows, 256, 0, stream>>>();
  Fill<In::u8><<<rows, 256, 0, stream>>>();
}
