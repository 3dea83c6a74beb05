// expect: INCORRECT_NUMERICAL MISMATCH workload=gemm_n256_k256/M=64
// Accumulates in bfloat16, less than the definition declares.
#include <cuda_bf16.h>

#include <cstdint>

__global__ void gemm(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c, int64_t m) {
  const int64_t column = threadIdx.x, row = blockIdx.x;
  __nv_bfloat16 sum = __float2bfloat16(0.f);
  for (int i = 0; i < 256; ++i) sum = __hfma(a[row * 256 + i], b[column * 256 + i], sum);
  c[row * 256 + column] = sum;
}

extern "C" void run(const __nv_bfloat16* A, const __nv_bfloat16* B, __nv_bfloat16* C, int64_t M, cudaStream_t stream) {
  gemm<<<M, 256, 0, stream>>>(A, B, C, M);
}
