// expect: CORRECT OK workload=gemm_n256_k256/M=64 arch=sm_100a
//
// tcgen05.cuh with kCtas = 2, function by function: blocks 2r and 2r + 1 of a cluster multiply together. Each brings
// half of A's rows and half of B's, and holds its half of D's rows. Factors are small integers, so that products are
// exact.
#include <sassay/ptx/mbarrier.cuh>
#include <sassay/ptx/tcgen05.cuh>
#include <sassay/ptx/tma.cuh>

#include "small_integers.cuh"

struct Shared {
  uint8_t a[128 * 128], b[128 * 128];
  uint64_t done, alone;
  uint32_t address;
};

// Tensor memory: D in columns 0 to 255, A in 256 and up; the same columns in both blocks.
__device__ uint32_t Begin(Shared& shared) {
  if (threadIdx.x == 0) mbarrier_init(&shared.done, 1), mbarrier_init(&shared.alone, 1), fence_mbarrier_init();
  if (warp_id() == 0) {
    tcgen05_alloc<2>(&shared.address, 512);
    tcgen05_relinquish_alloc_permit<2>();
  }
  tcgen05_fence_before_thread_sync();
  cluster_sync();
  tcgen05_fence_after_thread_sync();
  return shared.address;
}

__device__ void Meet() {
  tcgen05_fence_before_thread_sync();
  cluster_sync();
  tcgen05_fence_after_thread_sync();
}

__device__ void End(uint32_t address) {
  Meet();
  if (warp_id() == 0) tcgen05_dealloc<2>(address, 512);
}

__device__ uint32_t Mine(uint32_t address) { return address + (warp_id() * 32 << 16); }

template <In kIn, Major kMajor, Swizzle kSwizzle>
__device__ uint64_t Desc(const uint8_t* tile, int rows, int step) {
  constexpr int kSpan = static_cast<int>(kSwizzle);
  if constexpr (kMajor == Major::mn) {
    return tcgen05_desc_mn<kSwizzle>(tile, kDepth<kIn> * kSpan) + step * kSpan;
  } else {
    const int box = step * 32 / kSpan;
    return tcgen05_desc_k<kSwizzle>(tile + box * rows * kSpan) + step * 32 % kSpan / 16;
  }
}

// Waits until the products are done, then compares this block's part of D with the table. M = 256: row r of the block
// in lane r. M = 128: row r in lanes r and 64 + r, which hold half of the columns each.
template <In kIn, int kM, int kN>
__device__ void Compare(Shared& shared, uint32_t d, uint32_t& parity, int times) {
  constexpr int kRows = kM / 2, kColumns = kM == 256 ? kN : kN / 2;
  mbarrier_wait_cluster(&shared.done, parity);
  parity ^= 1;
  tcgen05_fence_after_thread_sync();
  const int row = cluster_ctarank() * kRows + threadIdx.x % kRows, first = threadIdx.x / kRows * kColumns;
  bool right = true;
  for (int column = 0; column < kColumns; column += 8) {
    uint32_t r[8];
    tcgen05_ld(r, Mine(d) + column);
    tcgen05_wait_ld(r);
    for (int i = 0; i < 8; ++i) {
      const int expected = products[kTable<kIn>][row][first + column + i] * times;
      right &= kIn == In::s8 || kIn == In::u8 ? static_cast<int>(r[i]) == expected : __uint_as_float(r[i]) == expected;
    }
  }
  EXPECT(right);
  Meet();
}

template <In kIn, int kM, int kN, Major kA = Major::k, Major kB = Major::k, Swizzle kSwizzle = Swizzle::b128>
__device__ void Check(Shared& shared, uint32_t d, uint32_t& parity) {
  constexpr uint32_t kProduct = tcgen05_idesc<kIn, kA, kB>(kM, kN);
  const int rank = cluster_ctarank();
  const bool starts = rank == 0 && threadIdx.x == 0;
  Lay<kIn, kA, kSwizzle>(shared.a, kM / 2, 0, rank * kM / 2);
  Lay<kIn, kB, kSwizzle>(shared.b, kN / 2, 1, rank * kN / 2);
  fence_proxy_async();
  cluster_sync();
  if (starts) {
    for (int step = 0; step < 2; ++step) {
      tcgen05_mma<kIn, 2>(d, Desc<kIn, kA, kSwizzle>(shared.a, kM / 2, step),
                          Desc<kIn, kB, kSwizzle>(shared.b, kN / 2, step), kProduct, step > 0);
    }
    tcgen05_commit_multicast<2>(&shared.done, 3);
  }
  Compare<kIn, kM, kN>(shared, d, parity, 1);
  if constexpr (kA ==
                Major::k) {  // and once more, added, with A in tensor memory; M = 128: in both halves of the lanes
    uint32_t r[16] = {};
    for (int k = 0; k < kDepth<kIn>; ++k) {
      const int value = Element<kIn>(rank * kM / 2 + threadIdx.x % (kM / 2), k, 0);
      r[k * kElementBytes<kIn> / 4] |= Bits<kIn>(value) << k * kElementBytes<kIn> % 4 * 8;
    }
    tcgen05_st(Mine(d) + 256, r);
    tcgen05_wait_st();
    Meet();
    if (starts) {
      for (int step = 0; step < 2; ++step)
        tcgen05_mma_ts<kIn, 2>(d, d + 256 + step * 8, Desc<kIn, kB, kSwizzle>(shared.b, kN / 2, step), kProduct);
      tcgen05_commit_multicast<2>(&shared.done, 3);
    }
    Compare<kIn, kM, kN>(shared, d, parity, 2);
  }
}

__global__ void __cluster_dims__(2) __launch_bounds__(128) Types() {
  Shared& shared = dynamic_smem<Shared>();
  const uint32_t d = Begin(shared);
  uint32_t parity = 0;
  Check<In::bf16, 256, 32>(shared, d, parity);
  Check<In::bf16, 256, 256>(shared, d, parity);
  Check<In::bf16, 128, 64>(shared, d, parity);
  Check<In::bf16, 128, 256>(shared, d, parity);
  Check<In::f16, 256, 64>(shared, d, parity);
  Check<In::tf32, 256, 64>(shared, d, parity);
  Check<In::tf32, 128, 32>(shared, d, parity);
  Check<In::e4m3, 256, 64>(shared, d, parity);
  Check<In::e5m2, 128, 64>(shared, d, parity);
  Check<In::s8, 256, 64>(shared, d, parity);
  Check<In::u8, 128, 64>(shared, d, parity);
  End(d);
}

template <Swizzle kSwizzle>
__global__ void __cluster_dims__(2) __launch_bounds__(128) Layouts() {
  Shared& shared = dynamic_smem<Shared>();
  const uint32_t d = Begin(shared);
  uint32_t parity = 0;
  Check<In::bf16, 256, 128, Major::k, Major::k, kSwizzle>(shared, d, parity);
  Check<In::bf16, 256, 128, Major::mn, Major::mn, kSwizzle>(shared, d, parity);
  End(d);
}

// Each block's rows to its own lanes: 128 rows of 32 or 16 bytes, in blocks of 8 rows x 16 bytes. The commit here is
// for the even block alone, which then tells the other one.
__global__ void __cluster_dims__(2) __launch_bounds__(128) Copies() {
  Shared& shared = dynamic_smem<Shared>();
  const uint32_t d = Begin(shared), rank = cluster_ctarank();
  uint32_t* words = reinterpret_cast<uint32_t*>(shared.a);
  const uint32_t mine = rank * 100000 + threadIdx.x * 100;
  for (int i = 0; i < 8; ++i) words[i / 4 * 128 * 4 + threadIdx.x * 4 + i % 4] = mine + i;
  fence_proxy_async();
  cluster_sync();
  if (rank == 0 && threadIdx.x == 0) {
    const uint64_t desc = tcgen05_desc<Swizzle::none>(shared.a, 128 * 16, 8 * 16);
    tcgen05_cp_128x256b<2>(d, desc);
    tcgen05_cp_128x128b<2>(d + 16, desc);
    tcgen05_commit<2>(&shared.alone);
    mbarrier_wait(&shared.alone, 0);
    for (int block = 0; block < 2; ++block) mbarrier_arrive_cluster(&shared.done, block);
  }
  mbarrier_wait_cluster(&shared.done, 0);
  tcgen05_fence_after_thread_sync();
  uint32_t eight[8], four[4];
  tcgen05_ld(eight, Mine(d));
  tcgen05_ld(four, Mine(d) + 16);
  tcgen05_wait_ld(eight, four);
  for (int i = 0; i < 8; ++i) EXPECT(eight[i] == mine + i);
  for (int i = 0; i < 4; ++i) EXPECT(four[i] == mine + i);
  End(d);
}

__device__ __align__(256) uint16_t numbers[16][64];

__global__ void Number() { numbers[blockIdx.x][threadIdx.x] = blockIdx.x * 64 + threadIdx.x; }

// Both blocks load, each its own rows; all bytes count on the even block's barrier.
__global__ void __cluster_dims__(2) __launch_bounds__(128) Loads(const __grid_constant__ CUtensorMap map) {
  Shared& shared = dynamic_smem<Shared>();
  const uint32_t rank = cluster_ctarank();
  if (threadIdx.x == 0) mbarrier_init(&shared.done, 1), mbarrier_init(&shared.alone, 1), fence_mbarrier_init();
  cluster_sync();
  if (threadIdx.x == 0) {
    if (rank == 0) mbarrier_arrive_expect_tx(&shared.done, 2 * 2 * 128);
    tma_load_pair(shared.a, &map, &shared.done, 0, static_cast<int>(rank) * 2);
    if (rank == 0) {
      mbarrier_wait_cluster(&shared.done, 0);
      for (int block = 0; block < 2; ++block) mbarrier_arrive_cluster(&shared.alone, block);
    }
  }
  mbarrier_wait_cluster(&shared.alone, 0);
  EXPECT(reinterpret_cast<const uint16_t*>(shared.a)[threadIdx.x] == rank * 128 + threadIdx.x);
  cluster_sync();
}

template <typename Kernel, typename... Arguments>
static void Launch(Kernel* kernel, cudaStream_t stream, const Arguments&... arguments) {
  cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, sizeof(Shared));
  kernel<<<2, 128, sizeof(Shared), stream>>>(arguments...);
}

void Checks(cudaStream_t stream) {
  FillProducts(stream, 256);
  Launch(Types, stream);
  Launch(Layouts<Swizzle::b32>, stream);
  Launch(Layouts<Swizzle::b64>, stream);
  Launch(Layouts<Swizzle::b128>, stream);
  Launch(Copies, stream);
  Number<<<16, 64, 0, stream>>>();
  void* base = nullptr;
  cudaGetSymbolAddress(&base, numbers);
  Launch(Loads, stream, make_tensor_map(CU_TENSOR_MAP_DATA_TYPE_UINT16, base, {64, 16}, {128}, {64, 2}, Swizzle::none));
}
