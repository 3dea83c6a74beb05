// expect: CORRECT OK workload=gemm_n256_k256/M=64 arch=sm_100a
//
// tcgen05.cuh, function by function: types, shapes, swizzles and ways to lie in memory, A in shared and in tensor
// memory. Factors are small integers, so that products are exact.
#include <sassay/ptx/mbarrier.cuh>
#include <sassay/ptx/tcgen05.cuh>

#include "small_integers.cuh"

struct Shared {
  uint8_t a[128 * 128], b[256 * 128];
  uint64_t done;
  uint32_t address;
};

// Tensor memory: D in columns 0 to 255, A in 256 and up.
__device__ uint32_t Begin(Shared& shared) {
  if (threadIdx.x == 0) mbarrier_init(&shared.done, 1), fence_mbarrier_init();
  if (warp_id() == 0) {
    tcgen05_alloc(&shared.address, 512);
    tcgen05_relinquish_alloc_permit();
  }
  tcgen05_fence_before_thread_sync();
  __syncthreads();
  tcgen05_fence_after_thread_sync();
  return shared.address;
}

__device__ void End(uint32_t address) {
  tcgen05_fence_before_thread_sync();
  __syncthreads();
  tcgen05_fence_after_thread_sync();
  if (warp_id() == 0) tcgen05_dealloc(address, 512);
}

__device__ uint32_t Mine(uint32_t address) { return address + (warp_id() * 32 << 16); }

template <In kIn, Major kMajor, Swizzle kSwizzle>
__device__ uint64_t Desc(const uint8_t* tile, int rows, int step) {
  constexpr int kSpan = static_cast<int>(kSwizzle);
  if constexpr (kMajor == Major::mn) {
    return tcgen05_desc_mn<kSwizzle>(tile, kDepth<kIn> * kSpan) + step * kSpan;
  } else if constexpr (kSwizzle == Swizzle::none) {  // two boxes of 16 bytes make one instruction's K
    return tcgen05_desc<kSwizzle>(tile + step * 2 * rows * kSpan, rows * kSpan, 8 * kSpan);
  } else {
    const int box = step * 32 / kSpan;
    return tcgen05_desc_k<kSwizzle>(tile + box * rows * kSpan) + step * 32 % kSpan / 16;
  }
}

// Waits until the products are done, then compares D with the table.
template <In kIn>
__device__ void Compare(Shared& shared, uint32_t d, int n, uint32_t& parity, int times) {
  mbarrier_wait(&shared.done, parity);
  parity ^= 1;
  tcgen05_fence_after_thread_sync();
  bool right = true;
  for (int column = 0; column < n; column += 8) {
    uint32_t r[8];
    tcgen05_ld(r, Mine(d) + column);
    tcgen05_wait_ld(r);
    for (int i = 0; i < 8; ++i) {
      const int expected = products[kTable<kIn>][threadIdx.x][column + i] * times;
      right &= kIn == In::s8 || kIn == In::u8 ? static_cast<int>(r[i]) == expected : __uint_as_float(r[i]) == expected;
    }
  }
  EXPECT(right);
  tcgen05_fence_before_thread_sync();
  __syncthreads();
  tcgen05_fence_after_thread_sync();
}

template <In kIn, int kN, Major kA = Major::k, Major kB = Major::k, Swizzle kSwizzle = Swizzle::b128>
__device__ void Check(Shared& shared, uint32_t d, uint32_t& parity) {
  constexpr uint32_t kProduct = tcgen05_idesc<kIn, kA, kB>(128, kN);
  Lay<kIn, kA, kSwizzle>(shared.a, 128, 0);
  Lay<kIn, kB, kSwizzle>(shared.b, kN, 1);
  fence_proxy_async();
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int step = 0; step < 2; ++step) {
      tcgen05_mma<kIn>(d, Desc<kIn, kA, kSwizzle>(shared.a, 128, step), Desc<kIn, kB, kSwizzle>(shared.b, kN, step),
                       kProduct, step > 0);
    }
    tcgen05_commit(&shared.done);
  }
  Compare<kIn>(shared, d, kN, parity, 1);
  if constexpr (kA == Major::k) {  // and once more, added, with A in tensor memory
    uint32_t r[16] = {};
    for (int k = 0; k < kDepth<kIn>; ++k)
      r[k * kElementBytes<kIn> / 4] |= Bits<kIn>(Element<kIn>(threadIdx.x, k, 0)) << k * kElementBytes<kIn> % 4 * 8;
    tcgen05_st(Mine(d) + 256, r);
    tcgen05_wait_st();
    tcgen05_fence_before_thread_sync();
    __syncthreads();
    tcgen05_fence_after_thread_sync();
    if (threadIdx.x == 0) {
      for (int step = 0; step < 2; ++step)
        tcgen05_mma_ts<kIn>(d, d + 256 + step * 8, Desc<kIn, kB, kSwizzle>(shared.b, kN, step), kProduct);
      tcgen05_commit(&shared.done);
    }
    Compare<kIn>(shared, d, kN, parity, 2);
  }
}

__global__ void __launch_bounds__(128) Types() {
  Shared& shared = dynamic_smem<Shared>();
  const uint32_t d = Begin(shared);
  uint32_t parity = 0;
  Check<In::bf16, 16>(shared, d, parity);
  Check<In::bf16, 96>(shared, d, parity);
  Check<In::bf16, 256>(shared, d, parity);
  Check<In::f16, 64>(shared, d, parity);
  Check<In::tf32, 64>(shared, d, parity);
  Check<In::e4m3, 64>(shared, d, parity);
  Check<In::e5m2, 64>(shared, d, parity);
  Check<In::s8, 64>(shared, d, parity);
  Check<In::u8, 64>(shared, d, parity);
  End(d);
}

template <Swizzle kSwizzle>
__global__ void __launch_bounds__(128) Layouts() {
  Shared& shared = dynamic_smem<Shared>();
  const uint32_t d = Begin(shared);
  uint32_t parity = 0;
  Check<In::bf16, 128, Major::k, Major::k, kSwizzle>(shared, d, parity);
  if constexpr (kSwizzle != Swizzle::none) {
    Check<In::bf16, 128, Major::mn, Major::k, kSwizzle>(shared, d, parity);
    Check<In::bf16, 128, Major::k, Major::mn, kSwizzle>(shared, d, parity);
    Check<In::f16, 64, Major::mn, Major::mn, kSwizzle>(shared, d, parity);
  }
  Check<In::e4m3, 32, Major::k, Major::k, kSwizzle>(shared, d, parity);
  End(d);
}

// Lane and column, as every thread's 32x32b store leaves them.
__global__ void __launch_bounds__(128) Transfers() {
  Shared& shared = dynamic_smem<Shared>();
  const uint32_t d = Begin(shared);
  uint32_t r[128];
  for (int i = 0; i < 128; ++i) r[i] = threadIdx.x * 1000 + i;
  tcgen05_st(Mine(d), r);
  tcgen05_wait_st();
  uint32_t again[128];
  tcgen05_ld(again, Mine(d));
  tcgen05_wait_ld(again);
  for (int i = 0; i < 128; ++i) EXPECT(again[i] == threadIdx.x * 1000 + i);
  float one[1], two[2];
  tcgen05_ld(one, Mine(d) + 5);
  tcgen05_ld(two, Mine(d) + 6);
  tcgen05_wait_ld(one, two);
  EXPECT(__float_as_uint(one[0]) == threadIdx.x * 1000 + 5 && __float_as_uint(two[1]) == threadIdx.x * 1000 + 7);

  const int lane = threadIdx.x % 32, first = warp_id() * 32 + 16;  // the upper 16 lanes of each warp
  uint32_t wide[16], narrow[8];
  tcgen05_ld<Lanes::b16x256>(wide, Mine(d) + (16 << 16));
  tcgen05_ld<Lanes::b16x128>(narrow, Mine(d) + (16 << 16));
  tcgen05_wait_ld(wide, narrow);
  for (int i = 0; i < 16; ++i)
    EXPECT(wide[i] == (first + lane / 4 + i / 2 % 2 * 8) * 1000 + i / 4 * 8 + lane % 4 * 2 + i % 2);
  for (int i = 0; i < 8; ++i) EXPECT(narrow[i] == (first + lane / 4 + i % 2 * 8) * 1000 + i / 2 * 4 + lane % 4);
  tcgen05_st<Lanes::b16x256>(Mine(d) + (16 << 16) + 64, wide);
  tcgen05_wait_st();
  uint32_t moved[32];
  tcgen05_ld(moved, Mine(d) + 64);
  tcgen05_wait_ld(moved);
  for (int i = 0; i < 32; ++i) EXPECT(moved[i] == threadIdx.x * 1000 + (lane < 16 ? 64 + i : i));
  End(d);
}

// 128 rows of 32 or 16 bytes, in blocks of 8 rows x 16 bytes.
__global__ void __launch_bounds__(128) Copies() {
  Shared& shared = dynamic_smem<Shared>();
  const uint32_t d = Begin(shared);
  uint32_t* words = reinterpret_cast<uint32_t*>(shared.a);
  for (int i = 0; i < 8; ++i) words[i / 4 * 128 * 4 + threadIdx.x * 4 + i % 4] = threadIdx.x * 100 + i;
  fence_proxy_async();
  __syncthreads();
  if (threadIdx.x == 0) {
    const uint64_t desc = tcgen05_desc<Swizzle::none>(shared.a, 128 * 16, 8 * 16);
    tcgen05_cp_128x256b(d, desc);
    tcgen05_cp_128x128b(d + 16, desc);
    tcgen05_commit(&shared.done);
  }
  mbarrier_wait(&shared.done, 0);
  tcgen05_fence_after_thread_sync();
  uint32_t eight[8], four[4];
  tcgen05_ld(eight, Mine(d));
  tcgen05_ld(four, Mine(d) + 16);
  tcgen05_wait_ld(eight, four);
  for (int i = 0; i < 8; ++i) EXPECT(eight[i] == threadIdx.x * 100 + i);
  for (int i = 0; i < 4; ++i) EXPECT(four[i] == threadIdx.x * 100 + i);
  End(d);
}

// A block that was launched without clusters is one of its own.
__global__ void __launch_bounds__(128) Multicast() {
  Shared& shared = dynamic_smem<Shared>();
  const uint32_t d = Begin(shared);
  if (threadIdx.x == 0) tcgen05_commit_multicast(&shared.done, 1);
  mbarrier_wait(&shared.done, 0);
  EXPECT(mbarrier_test_wait(&shared.done, 0));
  End(d);
}

template <typename Kernel>
static void Launch(Kernel* kernel, int blocks, cudaStream_t stream) {
  cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, sizeof(Shared));
  kernel<<<blocks, 128, sizeof(Shared), stream>>>();
}

void Checks(cudaStream_t stream) {
  FillProducts(stream);
  Launch(Types, 1, stream);
  Launch(Layouts<Swizzle::none>, 1, stream);
  Launch(Layouts<Swizzle::b32>, 1, stream);
  Launch(Layouts<Swizzle::b64>, 1, stream);
  Launch(Layouts<Swizzle::b128>, 1, stream);
  Launch(Transfers, 1, stream);
  Launch(Copies, 1, stream);
  Launch(Multicast, 1, stream);
}
