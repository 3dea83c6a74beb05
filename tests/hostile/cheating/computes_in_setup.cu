// expect: INCORRECT_NUMERICAL MISMATCH workload=gemm_n256_k256/M=64
// Does the work when it is called for the first time, and copies ever after. What setup saw were decoys.
#include <cuda_bf16.h>

#include <cstdint>

__global__ void copy(const __nv_bfloat16* from, __nv_bfloat16* to) {
  to[blockIdx.x * 256 + threadIdx.x] = from[blockIdx.x * 256 + threadIdx.x];
}

__global__ void gemm(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c, int64_t m) {
  const int64_t column = threadIdx.x, row = blockIdx.x;
  float sum = 0.f;
  for (int i = 0; i < 256; ++i) sum += __bfloat162float(a[row * 256 + i]) * __bfloat162float(b[column * 256 + i]);
  c[row * 256 + column] = __float2bfloat16(sum);
}

extern "C" void run(const __nv_bfloat16* A, const __nv_bfloat16* B, __nv_bfloat16* C, int64_t M, cudaStream_t stream) {
  static __nv_bfloat16* kept = nullptr;
  if (kept == nullptr) {
    cudaMalloc(&kept, M * 256 * sizeof(__nv_bfloat16));
    gemm<<<M, 256, 0, stream>>>(A, B, kept, M);
  }
  copy<<<M, 256, 0, stream>>>(kept, C);
}
