// A GEMM by TMA and wgmma with a place for one mistake: who includes this defines it first.
#pragma once

#ifndef FENCES
#define FENCES true
#endif
#ifndef WAITS
#define WAITS true
#endif
#ifndef SWIZZLE_OF_B
#define SWIZZLE_OF_B Swizzle::b128
#endif
#ifndef BYTES
#define BYTES (sizeof shared.a[0] + sizeof shared.b[0])
#endif
#ifndef PARITY_OF_FULL
#define PARITY_OF_FULL place.parity
#endif
#ifndef ARRIVALS_WANTED
#define ARRIVALS_WANTED 4
#endif
#ifndef BARRIERS
#define BARRIERS kStages
#endif
#ifndef FREES
#define FREES true
#endif
#ifndef FREES_EARLY
#define FREES_EARLY false
#endif
#ifndef FIRST_OF_K
#define FIRST_OF_K k
#endif
#ifndef ROW_OF_B
#define ROW_OF_B column
#endif
#ifndef STEP
#define STEP 2
#endif
#ifndef STRIDE
#define STRIDE (8 * 128)
#endif

#include <sassay/ptx/mbarrier.cuh>
#include <sassay/ptx/tma.cuh>
#include <sassay/ptx/wgmma.cuh>

using namespace sassay::ptx;

constexpr int kN = 256, kK = 256, kTileM = 64, kTileN = 128, kDepth = 64, kStages = 3;

struct Shared {
  __nv_bfloat16 a[kStages][kTileM * kDepth], b[kStages][kTileN * kDepth];
  uint64_t full[kStages], empty[kStages];
};

__global__ void __launch_bounds__(160) Gemm(const __grid_constant__ CUtensorMap map_a,
                                            const __grid_constant__ CUtensorMap map_b, __nv_bfloat16* c, int m) {
  Shared& shared = dynamic_smem<Shared>();
  if (threadIdx.x == 0) {
    for (int i = 0; i < BARRIERS; ++i) {
      mbarrier_init(&shared.full[i], 1);                 // the producer arrives, announcing the bytes
      mbarrier_init(&shared.empty[i], ARRIVALS_WANTED);  // one lane of each consumer warp arrives
    }
    fence_mbarrier_init();
  }
  __syncthreads();
  const int row = blockIdx.y * kTileM, column = blockIdx.x * kTileN;
  Ring<kStages> place;
  if (warp_id() == 4) {
    if (elect_one()) {
      for (int k = 0; k < kK; k += kDepth, place.advance()) {
        mbarrier_wait(&shared.empty[place.stage], place.parity ^ 1);
        uint64_t* full = &shared.full[place.stage];
        mbarrier_arrive_expect_tx(full, BYTES);
        tma_load(shared.a[place.stage], &map_a, full, FIRST_OF_K, row);
        tma_load(shared.b[place.stage], &map_b, full, k, ROW_OF_B);
      }
    }
    return;
  }
  float d[kTileN / 2] = {};
  for (int k = 0; k < kK; k += kDepth, place.advance()) {
    mbarrier_wait(&shared.full[place.stage], PARITY_OF_FULL);
    const uint64_t a = wgmma_desc_k(shared.a[place.stage]),
                   b = wgmma_desc<SWIZZLE_OF_B>(shared.b[place.stage], 16, STRIDE);
    if (FENCES) wgmma_fence();
    for (int i = 0; i < kDepth / 16; ++i) wgmma<In::bf16>(d, a + 2 * i, b + STEP * i);
    wgmma_commit_group();
    if (FREES_EARLY && lane_id() == 0) mbarrier_arrive(&shared.empty[place.stage]);
    if (WAITS) wgmma_wait_group<0>();
    if (FREES && !FREES_EARLY && lane_id() == 0) mbarrier_arrive(&shared.empty[place.stage]);
  }
  pin_registers(d);
  for (int i = 0; i < kTileN / 2; i += 2) {
    const int r = row + wgmma_row(i);
    if (r < m) *reinterpret_cast<uint32_t*>(c + int64_t{r} * kN + column + wgmma_column(i)) = pack_bf16(d[i], d[i + 1]);
  }
}

extern "C" void run(const __nv_bfloat16* A, const __nv_bfloat16* B, __nv_bfloat16* C, int64_t M, cudaStream_t stream) {
  const auto type = CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
  const CUtensorMap map_a = make_tensor_map(type, A, {kK, M}, {kK * 2}, {kDepth, kTileM});
  const CUtensorMap map_b = make_tensor_map(type, B, {kK, kN}, {kK * 2}, {kDepth, kTileN});
  cudaFuncSetAttribute(Gemm, cudaFuncAttributeMaxDynamicSharedMemorySize, sizeof(Shared));
  const dim3 grid(kN / kTileN, static_cast<unsigned>(M + kTileM - 1) / kTileM);
  Gemm<<<grid, 160, sizeof(Shared), stream>>>(map_a, map_b, C, static_cast<int>(M));
}
