// C = A x B^T of 8-bit integers by TMA and wgmma: one block has 64 x 128 of C. Workload: gemm_s8_m128_n256_k256.
#include <sassay/ptx/mbarrier.cuh>
#include <sassay/ptx/tma.cuh>
#include <sassay/ptx/wgmma.cuh>

using namespace sassay::ptx;

constexpr int kM = 128, kN = 256, kK = 256, kTileM = 64, kTileN = 128, kDepth = 128;

struct Shared {
  int8_t a[kK / kDepth][kTileM * kDepth], b[kK / kDepth][kTileN * kDepth];
  uint64_t full[kK / kDepth];
};

__global__ void Gemm(const __grid_constant__ CUtensorMap map_a, const __grid_constant__ CUtensorMap map_b, int32_t* c) {
  Shared& shared = dynamic_smem<Shared>();
  const int row = blockIdx.y * kTileM, column = blockIdx.x * kTileN;
  if (threadIdx.x == 0) {
    for (uint64_t& bar : shared.full) mbarrier_init(&bar, 1);
    fence_mbarrier_init();
    for (int i = 0; i < kK / kDepth; ++i) {
      mbarrier_arrive_expect_tx(&shared.full[i], sizeof(shared.a[i]) + sizeof(shared.b[i]));
      tma_load(shared.a[i], &map_a, &shared.full[i], i * kDepth, row);
      tma_load(shared.b[i], &map_b, &shared.full[i], i * kDepth, column);
    }
  }
  __syncthreads();
  int32_t d[kTileN / 2];
  for (int i = 0; i < kK / kDepth; ++i) {
    mbarrier_wait(&shared.full[i], 0);
    wgmma_fence();
    for (int step = 0; step < kDepth / 32; ++step) {
      wgmma<In::s8>(d, wgmma_desc_k(shared.a[i]) + 2 * step, wgmma_desc_k(shared.b[i]) + 2 * step, i + step > 0);
    }
    wgmma_commit_group();
  }
  wgmma_wait_group<0>();
  pin_registers(d);
#pragma unroll
  for (int i = 0; i < kTileN / 2; ++i) c[(row + wgmma_row(i)) * kN + column + wgmma_column(i)] = d[i];
}

extern "C" void run(const int8_t* a, const int8_t* b, int32_t* c, cudaStream_t stream) {
  const auto map = [](const int8_t* base, int64_t rows, int64_t box) {
    return make_tensor_map(CU_TENSOR_MAP_DATA_TYPE_UINT8, base, {kK, rows}, {kK}, {kDepth, box}, Swizzle::b128);
  };
  cudaFuncSetAttribute(Gemm, cudaFuncAttributeMaxDynamicSharedMemorySize, sizeof(Shared) + 1024);
  Gemm<<<dim3(kN / kTileN, kM / kTileM), 128, sizeof(Shared) + 1024, stream>>>(map(a, kM, kTileM), map(b, kN, kTileN),
                                                                               c);
}
