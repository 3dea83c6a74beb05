// expect: CORRECT OK workload=gemm_n256_k256/M=256 arch=sm_100a match="not been checked"
//
// C = A * B^T by pairs of blocks: two multiprocessors multiply one tile of 256 x 256 together, and each brings only
// half of A and half of B. Workload: gemm_n256_k256/M=256 (any M).
//
//   profiler-service --device emulated:sm_100a …
//   mini-ptx-agent submit agent/examples/blackwell/gemm_tcgen05_2cta.cu --workload gemm_n256_k256/M=256 --arch sm_100a
//
// Roles as in gemm_tcgen05.cu, in each block of the pair. Both producers load, and all bytes count on the even block's
// `full`; only the even block asks for products, which read the shared memory of both. Its commits arrive on `empty`
// and `done` of both blocks. Each block holds, and stores, the rows that it brought.
#include <cuda_bf16.h>

#include <cstdint>
#include <sassay/ptx/mbarrier.cuh>
#include <sassay/ptx/tcgen05.cuh>
#include <sassay/ptx/tma.cuh>

using namespace sassay::ptx;
using Bf16 = __nv_bfloat16;

constexpr int kN = 256, kK = 256;
constexpr int kCtas = 2;
constexpr int kRows = 128, kColumns = 128;                        // of A and of B, that one block brings
constexpr int kTileM = kCtas * kRows, kTileN = kCtas * kColumns;  // of C, per pair: one product's M and N
constexpr int kDepth = 64;  // K per stage: 128 bytes of bf16, one row of the 128-byte swizzle
constexpr int kSteps = kK / kDepth;
constexpr int kStages = 3;  // fewer than kSteps, so the ring goes round
constexpr int kStoringWarps = 4, kThreads = (kStoringWarps + 2) * 32;
constexpr uint16_t kBoth = 3;  // blocks 0 and 1 of the cluster

struct Shared {
  Bf16 a[kStages][kRows * kDepth];
  Bf16 b[kStages][kColumns * kDepth];
  uint64_t full[kStages], empty[kStages], done;
  uint32_t tensor_memory;
};

__device__ void Produce(Shared& shared, const CUtensorMap& map_a, const CUtensorMap& map_b) {
  const int rank = cluster_ctarank();
  Ring<kStages> ring;
  for (int step = 0; step < kSteps; ++step, ring.advance()) {
    mbarrier_wait_cluster(&shared.empty[ring.stage], ring.parity ^ 1);
    if (rank == 0)
      mbarrier_arrive_expect_tx(&shared.full[ring.stage], kCtas * (kRows + kColumns) * kDepth * sizeof(Bf16));
    tma_load_pair(shared.a[ring.stage], &map_a, &shared.full[ring.stage], step * kDepth, blockIdx.x * kRows);
    tma_load_pair(shared.b[ring.stage], &map_b, &shared.full[ring.stage], step * kDepth,
                  blockIdx.y * kTileN + rank * kColumns);
  }
}

// The descriptors name the same places of both blocks.
__device__ void Multiply(Shared& shared, uint32_t d) {
  constexpr uint32_t kInstruction = tcgen05_idesc<In::bf16>(kTileM, kTileN);
  Ring<kStages> ring;
  for (int step = 0; step < kSteps; ++step, ring.advance()) {
    mbarrier_wait_cluster(&shared.full[ring.stage], ring.parity);
    tcgen05_fence_after_thread_sync();
    const uint64_t a = tcgen05_desc_k(shared.a[ring.stage]), b = tcgen05_desc_k(shared.b[ring.stage]);
    for (int k = 0; k < kDepth; k += 16) {
      // 16 columns further are 32 bytes further: two units of a descriptor. The first product replaces D.
      tcgen05_mma<In::bf16, kCtas>(d, a + k / 8, b + k / 8, kInstruction, step + k > 0);
    }
    tcgen05_commit_multicast<kCtas>(&shared.empty[ring.stage], kBoth);
  }
  tcgen05_commit_multicast<kCtas>(&shared.done, kBoth);
}

// Row r of this block's half of D lies in lane r; warp w reaches lanes 32 w to 32 w + 31.
__device__ void Store(Shared& shared, uint32_t d, Bf16* c, int m) {
  mbarrier_wait_cluster(&shared.done, 0);
  tcgen05_fence_after_thread_sync();
  const int row = blockIdx.x * kRows + threadIdx.x;
  Bf16* place = c + static_cast<int64_t>(row) * kN + blockIdx.y * kTileN;
  for (int column = 0; column < kTileN; column += 32) {
    float values[32];
    tcgen05_ld(values, d + (warp_id() * 32 << 16) + column);
    tcgen05_wait_ld(values);
    for (int i = 0; i < 32 && row < m; i += 8) {
      *reinterpret_cast<uint4*>(place + column + i) =
          uint4{pack_bf16(values[i], values[i + 1]), pack_bf16(values[i + 2], values[i + 3]),
                pack_bf16(values[i + 4], values[i + 5]), pack_bf16(values[i + 6], values[i + 7])};
    }
  }
  tcgen05_fence_before_thread_sync();
}

__global__ void __cluster_dims__(kCtas) __launch_bounds__(kThreads)
    GemmPair(const __grid_constant__ CUtensorMap map_a, const __grid_constant__ CUtensorMap map_b, Bf16* c, int m) {
  Shared& shared = dynamic_smem<Shared>();
  if (threadIdx.x == 0) {
    for (int stage = 0; stage < kStages; ++stage) {
      mbarrier_init(&shared.full[stage], 1);   // the even block's producer arrives, then the bytes
      mbarrier_init(&shared.empty[stage], 1);  // a commit arrives
    }
    mbarrier_init(&shared.done, 1);
    fence_mbarrier_init();
  }
  if (warp_id() == kStoringWarps + 1) {
    tcgen05_alloc<kCtas>(&shared.tensor_memory, kTileN);
    tcgen05_relinquish_alloc_permit<kCtas>();
  }
  tcgen05_fence_before_thread_sync();
  cluster_sync();  // the barriers of both blocks are there before anybody signals them
  tcgen05_fence_after_thread_sync();
  const uint32_t d = shared.tensor_memory;
  if (warp_id() == kStoringWarps) {
    if (lane_id() == 0) Produce(shared, map_a, map_b);
    __syncwarp();
  } else if (warp_id() == kStoringWarps + 1) {
    if (lane_id() == 0 && cluster_ctarank() == 0) Multiply(shared, d);
    __syncwarp();
  } else {
    Store(shared, d, c, m);
  }
  cluster_sync();  // nobody leaves, or frees, while the other block may still reach here
  if (warp_id() == kStoringWarps + 1) tcgen05_dealloc<kCtas>(d, kTileN);
}

extern "C" void run(const Bf16* A, const Bf16* B, Bf16* C, int64_t M, cudaStream_t stream) {
  const CUtensorMap map_a = make_tensor_map(CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, A, {kK, M}, {kK * 2}, {kDepth, kRows});
  const CUtensorMap map_b =
      make_tensor_map(CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, B, {kK, kN}, {kK * 2}, {kDepth, kColumns});
  cudaFuncSetAttribute(GemmPair, cudaFuncAttributeMaxDynamicSharedMemorySize, sizeof(Shared));  // above 48 KiB
  const unsigned pairs = (static_cast<unsigned>(M) + kTileM - 1) / kTileM;
  GemmPair<<<dim3(pairs * kCtas, kN / kTileN), kThreads, sizeof(Shared), stream>>>(map_a, map_b, C,
                                                                                   static_cast<int>(M));
}
