// A GEMM by a warpgroup that brings tiles and two that multiply, with a place for one mistake: who includes this
// defines it first. The bringing one gives registers, the others take them; each of those writes its half of the tile
// through shared memory, behind a named barrier of its own.
#pragma once

#ifndef GIVES
#define GIVES true
#endif
#ifndef TAKEN
#define TAKEN 232
#endif
#ifndef ARRIVALS_WANTED
#define ARRIVALS_WANTED 8
#endif
#ifndef FREES
#define FREES true
#endif
#ifndef ROWS_OF
#define ROWS_OF(consumer) (consumer)
#endif
#ifndef NAMED_BARRIER
#define NAMED_BARRIER (1 + consumer)
#endif
#ifndef STAGE_OF_LAST
#define STAGE_OF_LAST place.stage
#endif

#include <sassay/ptx/mbarrier.cuh>
#include <sassay/ptx/tma.cuh>
#include <sassay/ptx/wgmma.cuh>

using namespace sassay::ptx;

constexpr int kN = 256, kK = 256, kTileM = 128, kTileN = 128, kDepth = 64, kStages = 3;

struct Shared {
  __nv_bfloat16 a[kStages][2][64 * kDepth], b[kStages][kTileN * kDepth];
  __nv_bfloat16 c[2][64 * 64];
  uint64_t full[kStages], empty[kStages];
};

__device__ void Produce(Shared& shared, const CUtensorMap& map_a, const CUtensorMap& map_b, int row, int column) {
  Ring<kStages> place;
  for (int k = 0; k < kK; k += kDepth, place.advance()) {
    mbarrier_wait(&shared.empty[place.stage], place.parity ^ 1);
    uint64_t* full = &shared.full[place.stage];
    mbarrier_arrive_expect_tx(full, sizeof shared.a[0] + sizeof shared.b[0]);
    tma_load(shared.a[place.stage][0], &map_a, full, k, row);
    tma_load(shared.b[place.stage], &map_b, full, k, column);
  }
}

__device__ void Consume(Shared& shared, const CUtensorMap& map_c, int consumer, int row, int column) {
  Ring<kStages> place;
  float d[kTileN / 2] = {};
  for (int k = 0; k < kK; k += kDepth, place.advance()) {
    mbarrier_wait(&shared.full[place.stage], place.parity);
    const uint64_t a = wgmma_desc_k(shared.a[place.stage][ROWS_OF(consumer)]), b = wgmma_desc_k(shared.b[place.stage]);
    wgmma_fence();
    for (int i = 0; i < kDepth / 16; ++i) wgmma<In::bf16>(d, a + 2 * i, b + 2 * i);
    wgmma_commit_group();
    wgmma_wait_group<0>();
    if (FREES && lane_id() == 0) mbarrier_arrive(&shared.empty[STAGE_OF_LAST]);
  }
  pin_registers(d);
  for (int half = 0; half < 2; ++half) {
    if (threadIdx.x % 128 == 0) tma_wait_group_read<0>();
    named_barrier_sync(NAMED_BARRIER, 128);
    for (int i = 0; i < 32; i += 2) {
      const uint32_t at = swizzled<Swizzle::b128>(wgmma_row(i) % 64 * 128 + wgmma_column(i) * 2);
      *reinterpret_cast<uint32_t*>(reinterpret_cast<char*>(shared.c[consumer]) + at) =
          pack_bf16(d[32 * half + i], d[32 * half + i + 1]);
    }
    fence_proxy_async();
    named_barrier_sync(NAMED_BARRIER, 128);
    if (threadIdx.x % 128 == 0) {
      tma_store(&map_c, shared.c[consumer], column + 64 * half, row + 64 * consumer);
      tma_commit_group();
    }
  }
  if (threadIdx.x % 128 == 0) tma_wait_group<0>();
}

__global__ void __launch_bounds__(384, 1)
    Gemm(const __grid_constant__ CUtensorMap map_a, const __grid_constant__ CUtensorMap map_b,
         const __grid_constant__ CUtensorMap map_c) {
  Shared& shared = dynamic_smem<Shared>();
  if (threadIdx.x == 0) {
    for (int i = 0; i < kStages; ++i) {
      mbarrier_init(&shared.full[i], 1);
      mbarrier_init(&shared.empty[i], ARRIVALS_WANTED);  // a lane of each warp that multiplies
    }
    fence_mbarrier_init();
  }
  __syncthreads();
  const int row = blockIdx.y * kTileM, column = blockIdx.x * kTileN;
  if (warpgroup_id() == 2) {
    if (GIVES) setmaxnreg_dec<40>();
    if (threadIdx.x % 128 == 0) Produce(shared, map_a, map_b, row, column);
  } else {
    setmaxnreg_inc<TAKEN>();
    Consume(shared, map_c, warpgroup_id(), row, column);
  }
}

extern "C" void run(const __nv_bfloat16* A, const __nv_bfloat16* B, __nv_bfloat16* C, int64_t M, cudaStream_t stream) {
  const auto type = CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
  const CUtensorMap map_a = make_tensor_map(type, A, {kK, M}, {kK * 2}, {kDepth, kTileM});
  const CUtensorMap map_b = make_tensor_map(type, B, {kK, kN}, {kK * 2}, {kDepth, kTileN});
  const CUtensorMap map_c = make_tensor_map(type, C, {kN, M}, {kN * 2}, {64, 64});
  cudaFuncSetAttribute(Gemm, cudaFuncAttributeMaxDynamicSharedMemorySize, sizeof(Shared));
  const dim3 grid(kN / kTileN, static_cast<unsigned>(M + kTileM - 1) / kTileM);
  Gemm<<<grid, 384, sizeof(Shared), stream>>>(map_a, map_b, map_c);
}
