// expect: CORRECT OK workload=gemm_n256_k256/M=256 arch=sm_100a match="not been checked"
//
// C = A * B^T by Blackwell's own means: TMA brings the tiles, one thread has tcgen05 multiply them into tensor memory,
// four warps take the result from there. Workload: gemm_n256_k256/M=256 (any M).
//
//   profiler-service --device emulated:sm_100a …
//   mini-ptx-agent submit agent/examples/blackwell/gemm_tcgen05.cu --workload gemm_n256_k256/M=256 --arch sm_100a
//
// Six warps: four that store, one whose first lane asks TMA for tiles, one that owns tensor memory and whose first lane
// asks for products. Between the last two lies a ring of stages: `full` (the bytes are here), `empty` (all products
// that read them are done). The functions are those of <sassay/ptx/…>, one per instruction.
#include <cuda_bf16.h>

#include <cstdint>
#include <sassay/ptx/mbarrier.cuh>
#include <sassay/ptx/tcgen05.cuh>
#include <sassay/ptx/tma.cuh>

using namespace sassay::ptx;
using Bf16 = __nv_bfloat16;

constexpr int kN = 256, kK = 256;
constexpr int kTileM = 128, kTileN = 128;  // of C, per block: one product's M and N
constexpr int kDepth = 64;                 // K per stage: 128 bytes of bf16, one row of the 128-byte swizzle
constexpr int kSteps = kK / kDepth;
constexpr int kStages = 3;  // fewer than kSteps, so the ring goes round
constexpr int kStoringWarps = 4, kThreads = (kStoringWarps + 2) * 32;
constexpr uint32_t kColumns = kTileN;  // of tensor memory: one per column of D, in fp32

struct Shared {
  Bf16 a[kStages][kTileM * kDepth];
  Bf16 b[kStages][kTileN * kDepth];
  uint64_t full[kStages], empty[kStages], done;
  uint32_t tensor_memory;
};

__device__ void Produce(Shared& shared, const CUtensorMap& map_a, const CUtensorMap& map_b) {
  Ring<kStages> ring;
  for (int step = 0; step < kSteps; ++step, ring.advance()) {
    mbarrier_wait(&shared.empty[ring.stage], ring.parity ^ 1);
    mbarrier_arrive_expect_tx(&shared.full[ring.stage], (kTileM + kTileN) * kDepth * sizeof(Bf16));
    tma_load(shared.a[ring.stage], &map_a, &shared.full[ring.stage], step * kDepth, blockIdx.y * kTileM);
    tma_load(shared.b[ring.stage], &map_b, &shared.full[ring.stage], step * kDepth, blockIdx.x * kTileN);
  }
}

__device__ void Multiply(Shared& shared, uint32_t d) {
  constexpr uint32_t kInstruction = tcgen05_idesc<In::bf16>(kTileM, kTileN);
  Ring<kStages> ring;
  for (int step = 0; step < kSteps; ++step, ring.advance()) {
    mbarrier_wait(&shared.full[ring.stage], ring.parity);
    tcgen05_fence_after_thread_sync();
    const uint64_t a = tcgen05_desc_k(shared.a[ring.stage]), b = tcgen05_desc_k(shared.b[ring.stage]);
    for (int k = 0; k < kDepth; k += 16) {
      // 16 columns further are 32 bytes further: two units of a descriptor. The first product replaces D.
      tcgen05_mma<In::bf16>(d, a + k / 8, b + k / 8, kInstruction, step + k > 0);
    }
    tcgen05_commit(&shared.empty[ring.stage]);
  }
  tcgen05_commit(&shared.done);
}

// Row r of D lies in lane r; warp w reaches lanes 32 w to 32 w + 31.
__device__ void Store(Shared& shared, uint32_t d, Bf16* c, int m) {
  mbarrier_wait(&shared.done, 0);
  tcgen05_fence_after_thread_sync();
  const int row = blockIdx.y * kTileM + threadIdx.x;
  Bf16* place = c + static_cast<int64_t>(row) * kN + blockIdx.x * kTileN;
  for (int column = 0; column < kTileN; column += 32) {
    float values[32];
    tcgen05_ld(values, d + (warp_id() * 32 << 16) + column);
    tcgen05_wait_ld();
    for (int i = 0; i < 32 && row < m; i += 8) {
      *reinterpret_cast<uint4*>(place + column + i) =
          uint4{pack_bf16(values[i], values[i + 1]), pack_bf16(values[i + 2], values[i + 3]),
                pack_bf16(values[i + 4], values[i + 5]), pack_bf16(values[i + 6], values[i + 7])};
    }
  }
  tcgen05_fence_before_thread_sync();
}

__global__ void __launch_bounds__(kThreads)
    GemmTcgen05(const __grid_constant__ CUtensorMap map_a, const __grid_constant__ CUtensorMap map_b, Bf16* c, int m) {
  Shared& shared = dynamic_smem<Shared>();
  if (threadIdx.x == 0) {
    for (int stage = 0; stage < kStages; ++stage) {
      mbarrier_init(&shared.full[stage], 1);   // the producer arrives, then the bytes
      mbarrier_init(&shared.empty[stage], 1);  // a commit arrives
    }
    mbarrier_init(&shared.done, 1);
    fence_mbarrier_init();
  }
  if (warp_id() == kStoringWarps + 1) {
    tcgen05_alloc(&shared.tensor_memory, kColumns);
    tcgen05_relinquish_alloc_permit();
  }
  __syncthreads();
  const uint32_t d = shared.tensor_memory;
  if (warp_id() == kStoringWarps) {
    if (lane_id() == 0) Produce(shared, map_a, map_b);
  } else if (warp_id() == kStoringWarps + 1) {
    if (lane_id() == 0) Multiply(shared, d);
    __syncwarp();
  } else {
    Store(shared, d, c, m);
  }
  __syncthreads();
  if (warp_id() == kStoringWarps + 1) tcgen05_dealloc(d, kColumns);
}

extern "C" void run(const Bf16* A, const Bf16* B, Bf16* C, int64_t M, cudaStream_t stream) {
  const CUtensorMap map_a = make_tensor_map(CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, A, {kK, M}, {kK * 2}, {kDepth, kTileM});
  const CUtensorMap map_b = make_tensor_map(CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, B, {kK, kN}, {kK * 2}, {kDepth, kTileN});
  cudaFuncSetAttribute(GemmTcgen05, cudaFuncAttributeMaxDynamicSharedMemorySize, sizeof(Shared));  // above 48 KiB
  const dim3 grid(kN / kTileN, (static_cast<unsigned>(M) + kTileM - 1) / kTileM);
  GemmTcgen05<<<grid, kThreads, sizeof(Shared), stream>>>(map_a, map_b, C, static_cast<int>(M));
}
