// expect: INCORRECT_NUMERICAL MISMATCH workload=gemm_n256_k256/M=64
// The same number everywhere, whatever the inputs: what a known seed would make right once.
#include <cuda_bf16.h>

#include <cstdint>

__global__ void gemm(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c) {
  const int64_t column = threadIdx.x, row = blockIdx.x;
  c[row * 256 + column] = __float2bfloat16(13.125f);
}

extern "C" void run(const __nv_bfloat16* A, const __nv_bfloat16* B, __nv_bfloat16* C, int64_t M, cudaStream_t stream) {
  gemm<<<M, 256, 0, stream>>>(A, B, C);
}
