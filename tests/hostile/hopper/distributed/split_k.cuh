// A GEMM whose K two blocks of a cluster halve, with a place for one mistake: who includes this defines it first. The
// second block's sums reach the first one through shared memory, sixteen rows at a time: the first block fetches them,
// or (PUSHES) the second one brings them, and tells so by a cluster barrier or (SIGNALS) by an mbarrier.
#pragma once

#ifndef PUSHES
#define PUSHES false
#endif
#ifndef SIGNALS
#define SIGNALS false
#endif
#ifndef SIGNALS_EARLY
#define SIGNALS_EARLY false
#endif
#ifndef MEETS_FIRST
#define MEETS_FIRST true
#endif
#ifndef MEETS_WHEN_WRITTEN
#define MEETS_WHEN_WRITTEN true
#endif
#ifndef MEETS_WHEN_READ
#define MEETS_WHEN_READ true
#endif
#ifndef MEETS_LAST
#define MEETS_LAST true
#endif

#include <sassay/ptx/mbarrier.cuh>

using namespace sassay::ptx;

constexpr int kN = 256, kK = 256, kTileM = 64, kTileN = 32, kRows = 16, kThreads = 256;

struct Shared {
  float sums[kRows * kTileN];
  uint64_t written;
};

__device__ void Meet(bool whole_cluster) {
  if (whole_cluster) {
    cluster_sync();
  } else {
    __syncthreads();
  }
}

__global__ void __cluster_dims__(2, 1, 1) __launch_bounds__(kThreads)
    Gemm(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c, int m) {
  __shared__ Shared shared;
  const uint32_t rank = cluster_ctarank();
  if (threadIdx.x == 0) {
    mbarrier_init(&shared.written, kThreads);
    fence_mbarrier_init();
  }
  Meet(MEETS_FIRST);
  const int column = blockIdx.x / 2 * kTileN, first_k = rank * kK / 2;
  for (int round = 0; round < kTileM / kRows; ++round) {
    const int row = blockIdx.y * kTileM + round * kRows;
    float sums[2] = {};
    for (int i = 0; i < 2; ++i) {
      const int at = threadIdx.x + i * kThreads, r = row + at / kTileN, n = column + at % kTileN;
      for (int k = first_k; r < m && k < first_k + kK / 2; ++k) {
        sums[i] += __bfloat162float(a[r * kK + k]) * __bfloat162float(b[n * kK + k]);
      }
    }
    if (rank == 1) {
      if (SIGNALS && SIGNALS_EARLY) mbarrier_arrive_cluster(&shared.written, 0);
      for (int i = 0; i < 2; ++i) {
        float* at = &shared.sums[threadIdx.x + i * kThreads];
        if (PUSHES) {
          st_cluster(mapa(at, 0), __float_as_uint(sums[i]));
        } else {
          *at = sums[i];
        }
      }
      if (SIGNALS && !SIGNALS_EARLY) mbarrier_arrive_cluster(&shared.written, 0);
    }
    if (!SIGNALS) {
      Meet(MEETS_WHEN_WRITTEN);
    } else if (rank == 0) {
      mbarrier_wait_cluster(&shared.written, round % 2);
    }
    if (rank == 0) {
      for (int i = 0; i < 2; ++i) {
        const int at = threadIdx.x + i * kThreads;
        const float other = PUSHES ? shared.sums[at] : __uint_as_float(ld_cluster(mapa(&shared.sums[at], 1)));
        const int r = row + at / kTileN;
        if (r < m) c[r * kN + column + at % kTileN] = __float2bfloat16(sums[i] + other);
      }
    }
    const bool last = round + 1 == kTileM / kRows;
    Meet(last ? MEETS_LAST : MEETS_WHEN_READ);
  }
}

extern "C" void run(const __nv_bfloat16* A, const __nv_bfloat16* B, __nv_bfloat16* C, int64_t M, cudaStream_t stream) {
  const dim3 grid(2 * kN / kTileN, static_cast<unsigned>(M + kTileM - 1) / kTileM);
  Gemm<<<grid, kThreads, 0, stream>>>(A, B, C, static_cast<int>(M));
}
