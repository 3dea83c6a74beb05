// expect: CORRECT OK workload=gemm_n256_k256/M=64
//
// wgmma.cuh, function by function: every N of bf16, every type, swizzle and way to lie in memory, A in shared memory
// and in registers. Factors are small integers, so that products are exact.
#include <sassay/ptx/wgmma.cuh>
#include <type_traits>
#include <utility>

#include "small_integers.cuh"

// The descriptor of the instruction's `step`-th K.
template <In kIn, Major kMajor, Swizzle kSwizzle>
__device__ uint64_t Desc(const uint8_t* tile, int rows, int step) {
  constexpr int kSpan = static_cast<int>(kSwizzle);
  if constexpr (kMajor == Major::mn) {
    return wgmma_desc_mn<kSwizzle>(tile, kDepth<kIn> * kSpan) + step * kSpan;
  } else if constexpr (kSwizzle == Swizzle::none) {  // two boxes of 16 bytes make one instruction's K
    return wgmma_desc<kSwizzle>(tile + step * 2 * rows * kSpan, rows * kSpan, 8 * kSpan);
  } else {
    const int box = step * 32 / kSpan;
    return wgmma_desc_k<kSwizzle>(tile + box * rows * kSpan) + step * 32 % kSpan / 16;
  }
}

template <In kIn, typename T, int kCount>
__device__ bool Right(const T (&d)[kCount], int times) {
  bool right = true;
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    right &= d[i] == static_cast<T>(products[kTable<kIn>][wgmma_row(i)][wgmma_column(i)] * times);
  }
  return right;
}

template <In kIn, int kN, Major kA = Major::k, Major kB = Major::k, Swizzle kSwizzle = Swizzle::b128>
__device__ void Check() {
  using T = std::conditional_t<kIn == In::s8 || kIn == In::u8, int32_t, float>;
  struct Shared {
    uint8_t a[64 * 128], b[256 * 128];
  };
  extern __shared__ __align__(1024) uint8_t memory[];
  Shared& shared = *reinterpret_cast<Shared*>(memory);
  __syncthreads();
  Lay<kIn, kA, kSwizzle>(shared.a, 64, 0);
  Lay<kIn, kB, kSwizzle>(shared.b, kN, 1);
  fence_proxy_async();
  __syncthreads();
  T d[kN / 2];
  for (T& x : d) x = 1000;  // to be replaced
  wgmma_fence();
  for (int step = 0; step < 2; ++step) {
    if constexpr (std::is_same_v<T, float>) {
      wgmma<kIn, kA, kB>(d, Desc<kIn, kA, kSwizzle>(shared.a, 64, step), Desc<kIn, kB, kSwizzle>(shared.b, kN, step),
                         step > 0);
    } else {
      wgmma<kIn>(d, Desc<kIn, kA, kSwizzle>(shared.a, 64, step), Desc<kIn, kB, kSwizzle>(shared.b, kN, step), step > 0);
    }
  }
  wgmma_commit_group();
  wgmma_wait_group<0>();
  pin_registers(d);
  EXPECT(Right<kIn>(d, 1));
  if constexpr (kA == Major::k) {  // and once more, added, with A in registers
    for (int step = 0; step < 2; ++step) {
      uint32_t a[4] = {};
      for (int i = 0; i < 4; ++i) {
        const int row = threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4 + i % 2 * 8;
        const int byte = step * 32 + threadIdx.x % 4 * 4 + i / 2 * 16;
        for (int j = 0; j < 4 / kElementBytes<kIn>; ++j) {
          a[i] |= Bits<kIn>(Element<kIn>(row, byte / kElementBytes<kIn> + j, 0)) << 8 * j * kElementBytes<kIn>;
        }
      }
      wgmma_fence();
      if constexpr (std::is_same_v<T, float>) {
        wgmma<kIn, kB>(d, a, Desc<kIn, kB, kSwizzle>(shared.b, kN, step));
      } else {
        wgmma<kIn>(d, a, Desc<kIn, kB, kSwizzle>(shared.b, kN, step));
      }
      wgmma_commit_group();
      wgmma_wait_group<0>();
    }
    pin_registers(d);
    EXPECT(Right<kIn>(d, 2));
  }
}

template <int... kEighths>
__device__ void CheckEveryN(std::integer_sequence<int, kEighths...>) {
  (Check<In::bf16, 8 * (kEighths + 1)>(), ...);
}

__global__ void __launch_bounds__(128) Shapes() { CheckEveryN(std::make_integer_sequence<int, 32>()); }

__global__ void __launch_bounds__(128) Types() {
  Check<In::f16, 64>();
  Check<In::tf32, 64>();
  Check<In::e4m3, 64>();
  Check<In::e5m2, 64>();
  Check<In::s8, 64>();
  Check<In::u8, 64>();
  Check<In::s8, 256>();
  Check<In::tf32, 8>();
}

template <Swizzle kSwizzle>
__device__ void CheckSwizzle() {
  Check<In::bf16, 128, Major::k, Major::k, kSwizzle>();
  if constexpr (kSwizzle != Swizzle::none) {
    Check<In::bf16, 128, Major::mn, Major::k, kSwizzle>();
    Check<In::bf16, 128, Major::k, Major::mn, kSwizzle>();
    Check<In::f16, 64, Major::mn, Major::mn, kSwizzle>();
  }
  Check<In::e4m3, 32, Major::k, Major::k, kSwizzle>();
  Check<In::tf32, 32, Major::k, Major::k, kSwizzle>();
}

__global__ void __launch_bounds__(128) Layouts() {
  CheckSwizzle<Swizzle::none>();
  CheckSwizzle<Swizzle::b32>();
  CheckSwizzle<Swizzle::b64>();
  CheckSwizzle<Swizzle::b128>();
}

void Checks(cudaStream_t stream) {
  constexpr int kShared = (64 + 256) * 128;
  FillProducts(stream);
  Shapes<<<1, 128, kShared, stream>>>();
  Types<<<1, 128, kShared, stream>>>();
  Layouts<<<1, 128, kShared, stream>>>();
}
