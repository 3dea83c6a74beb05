// A GEMM by clusters of two blocks with a place for one mistake: who includes this defines it first. The two blocks
// share their rows of A: each brings one half of a tile to both, and both free a stage for both. Sums leave by shared
// memory and a TMA store.
#pragma once

#ifndef BLOCKS_OF_A
#define BLOCKS_OF_A 0b11
#endif
#ifndef HALF
#define HALF rank
#endif
#ifndef BYTES
#define BYTES (sizeof shared.a[0] + sizeof shared.b[0])
#endif
#ifndef ARRIVALS_WANTED
#define ARRIVALS_WANTED (2 * 4)
#endif
#ifndef FREED_IN
#define FREED_IN lane_id() < 2
#endif
#ifndef MEETS_FIRST
#define MEETS_FIRST true
#endif
#ifndef MEETS_LAST
#define MEETS_LAST true
#endif
#ifndef NAMED_BARRIER
#define NAMED_BARRIER 1
#endif
#ifndef NAMED_THREADS
#define NAMED_THREADS 128
#endif
#ifndef FENCES_STORE
#define FENCES_STORE true
#endif
#ifndef COLUMN_OF_C
#define COLUMN_OF_C (column + 64 * half)
#endif

#include <sassay/ptx/mbarrier.cuh>
#include <sassay/ptx/tma.cuh>
#include <sassay/ptx/wgmma.cuh>

using namespace sassay::ptx;

constexpr int kN = 256, kK = 256, kTileM = 64, kTileN = 128, kDepth = 64, kStages = 3;

struct Shared {
  __nv_bfloat16 a[kStages][kTileM * kDepth], b[kStages][kTileN * kDepth];
  __nv_bfloat16 c[2][kTileM * 64];
  uint64_t full[kStages], empty[kStages];
};

__global__ void __cluster_dims__(2, 1, 1) __launch_bounds__(160)
    Gemm(const __grid_constant__ CUtensorMap map_a, const __grid_constant__ CUtensorMap map_b,
         const __grid_constant__ CUtensorMap map_c) {
  Shared& shared = dynamic_smem<Shared>();
  const uint32_t rank = cluster_ctarank();
  if (threadIdx.x == 0) {
    for (int i = 0; i < kStages; ++i) {
      mbarrier_init(&shared.full[i], 1);
      mbarrier_init(&shared.empty[i], ARRIVALS_WANTED);  // a lane of each consumer warp of both blocks
    }
    fence_mbarrier_init();
  }
  if (MEETS_FIRST) {
    cluster_sync();
  } else {
    __syncthreads();
  }
  const int row = blockIdx.y * kTileM, column = blockIdx.x * kTileN;
  Ring<kStages> place;
  if (warp_id() == 4) {
    if (elect_one()) {
      for (int k = 0; k < kK; k += kDepth, place.advance()) {
        mbarrier_wait_cluster(&shared.empty[place.stage], place.parity ^ 1);
        uint64_t* full = &shared.full[place.stage];
        mbarrier_arrive_expect_tx(full, BYTES);
        tma_load_multicast(shared.a[place.stage] + HALF * 32 * kDepth, &map_a, full, BLOCKS_OF_A, k,
                           row + static_cast<int>(HALF) * 32);
        tma_load(shared.b[place.stage], &map_b, full, k, column);
      }
    }
  } else {
    float d[kTileN / 2] = {};
    for (int k = 0; k < kK; k += kDepth, place.advance()) {
      mbarrier_wait(&shared.full[place.stage], place.parity);
      const uint64_t a = wgmma_desc_k(shared.a[place.stage]), b = wgmma_desc_k(shared.b[place.stage]);
      wgmma_fence();
      for (int i = 0; i < kDepth / 16; ++i) wgmma<In::bf16>(d, a + 2 * i, b + 2 * i);
      wgmma_commit_group();
      wgmma_wait_group<0>();
      if (FREED_IN) mbarrier_arrive_cluster(&shared.empty[place.stage], lane_id());
    }
    pin_registers(d);
    for (int half = 0; half < 2; ++half) {
      for (int i = 0; i < 32; i += 2) {
        const uint32_t at = swizzled<Swizzle::b128>(wgmma_row(i) * 128 + wgmma_column(i) * 2);
        *reinterpret_cast<uint32_t*>(reinterpret_cast<char*>(shared.c[half]) + at) =
            pack_bf16(d[32 * half + i], d[32 * half + i + 1]);
      }
      if (FENCES_STORE) fence_proxy_async();
      named_barrier_sync(NAMED_BARRIER, NAMED_THREADS);
      if (threadIdx.x == 0) {
        tma_store(&map_c, shared.c[half], COLUMN_OF_C, row);
        tma_commit_group();
      }
    }
    if (threadIdx.x == 0) tma_wait_group<0>();
  }
  __syncwarp();
  if (MEETS_LAST) cluster_sync();  // nobody leaves while the other may still signal its barriers
}

extern "C" void run(const __nv_bfloat16* A, const __nv_bfloat16* B, __nv_bfloat16* C, int64_t M, cudaStream_t stream) {
  const auto type = CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
  const CUtensorMap map_a = make_tensor_map(type, A, {kK, M}, {kK * 2}, {kDepth, kTileM / 2});
  const CUtensorMap map_b = make_tensor_map(type, B, {kK, kN}, {kK * 2}, {kDepth, kTileN});
  const CUtensorMap map_c = make_tensor_map(type, C, {kN, M}, {kN * 2}, {64, kTileM});
  cudaFuncSetAttribute(Gemm, cudaFuncAttributeMaxDynamicSharedMemorySize, sizeof(Shared));
  const dim3 grid(kN / kTileN, static_cast<unsigned>(M + kTileM - 1) / kTileM);
  Gemm<<<grid, 160, sizeof(Shared), stream>>>(map_a, map_b, map_c);
}
