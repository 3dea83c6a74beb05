// expect: CORRECT OK workload=gemm_n256_k256/M=256 arch=sm_100a
// C = A * B^T, N = K = 256, any M: one warp fills a ring of tiles by TMA, one starts the products, four store them.
#include <sassay/ptx/mbarrier.cuh>
#include <sassay/ptx/tcgen05.cuh>
#include <sassay/ptx/tma.cuh>

using namespace sassay::ptx;

constexpr int kN = 256, kK = 256, kTileM = 128, kTileN = 128, kDepth = 64, kStages = 3;

struct Shared {
  __nv_bfloat16 a[kStages][kTileM * kDepth], b[kStages][kTileN * kDepth];
  uint64_t full[kStages], empty[kStages], done;
  uint32_t tensor_memory;
};

__global__ void __launch_bounds__(192) Gemm(const __grid_constant__ CUtensorMap map_a,
                                            const __grid_constant__ CUtensorMap map_b, __nv_bfloat16* c, int m) {
  Shared& shared = dynamic_smem<Shared>();
  if (threadIdx.x == 0) {
    for (int i = 0; i < kStages; ++i) {
      mbarrier_init(&shared.full[i], 1);   // the producer arrives, announcing the bytes
      mbarrier_init(&shared.empty[i], 1);  // tcgen05_commit arrives
    }
    mbarrier_init(&shared.done, 1);
    fence_mbarrier_init();
  }
  if (warp_id() == 0) tcgen05_alloc(&shared.tensor_memory, kTileN);
  tcgen05_fence_before_thread_sync();
  __syncthreads();
  tcgen05_fence_after_thread_sync();
  const uint32_t d = shared.tensor_memory;
  const int row = blockIdx.y * kTileM, column = blockIdx.x * kTileN;
  Ring<kStages> place;
  if (warp_id() == 4) {
    if (elect_one()) {
      for (int k = 0; k < kK; k += kDepth, place.advance()) {
        mbarrier_wait(&shared.empty[place.stage], place.parity ^ 1);
        uint64_t* full = &shared.full[place.stage];
        mbarrier_arrive_expect_tx(full, sizeof shared.a[0] + sizeof shared.b[0]);
        tma_load(shared.a[place.stage], &map_a, full, k, row);
        tma_load(shared.b[place.stage], &map_b, full, k, column);
      }
    }
  } else if (warp_id() == 5) {
    if (elect_one()) {
      constexpr uint32_t kProduct = tcgen05_idesc<In::bf16>(kTileM, kTileN);
      for (int k = 0; k < kK; k += kDepth, place.advance()) {
        mbarrier_wait(&shared.full[place.stage], place.parity);
        tcgen05_fence_after_thread_sync();
        const uint64_t a = tcgen05_desc_k(shared.a[place.stage]), b = tcgen05_desc_k(shared.b[place.stage]);
        for (int i = 0; i < kDepth / 16; ++i) tcgen05_mma<In::bf16>(d, a + 2 * i, b + 2 * i, kProduct, k + i > 0);
        tcgen05_commit(&shared.empty[place.stage]);
      }
      tcgen05_commit(&shared.done);
    }
  } else {
    mbarrier_wait(&shared.done, 0);
    tcgen05_fence_after_thread_sync();
    const int r = row + threadIdx.x;
    for (int j = 0; j < kTileN; j += 32) {
      float x[32];
      tcgen05_ld(x, d + (warp_id() * 32 << 16) + j);
      tcgen05_wait_ld(x);
      uint32_t* out = reinterpret_cast<uint32_t*>(c + int64_t{r} * kN + column + j);
      for (int i = 0; i < 32 && r < m; i += 2) out[i / 2] = pack_bf16(x[i], x[i + 1]);
    }
    tcgen05_fence_before_thread_sync();
  }
  __syncthreads();
  tcgen05_fence_after_thread_sync();
  if (warp_id() == 0) tcgen05_dealloc(d, kTileN);
}

extern "C" void run(const __nv_bfloat16* A, const __nv_bfloat16* B, __nv_bfloat16* C, int64_t M, cudaStream_t stream) {
  const auto type = CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
  const CUtensorMap map_a = make_tensor_map(type, A, {kK, M}, {kK * 2}, {kDepth, kTileM});
  const CUtensorMap map_b = make_tensor_map(type, B, {kK, kN}, {kK * 2}, {kDepth, kTileN});
  cudaFuncSetAttribute(Gemm, cudaFuncAttributeMaxDynamicSharedMemorySize, sizeof(Shared));
  const dim3 grid(kN / kTileN, static_cast<unsigned>(M + kTileM - 1) / kTileM);
  Gemm<<<grid, 192, sizeof(Shared), stream>>>(map_a, map_b, C, static_cast<int>(M));
}
