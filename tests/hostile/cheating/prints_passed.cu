// expect: INCORRECT_NUMERICAL MISMATCH workload=gemm_n256_k256/M=64
// Prints what a careless scorer greps for.
#include <cuda_bf16.h>

#include <cstdint>
#include <cstdio>

__global__ void gemm(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c, int64_t m) {
  const int64_t column = threadIdx.x, row = blockIdx.x;
  if (row == 0 && column == 0) printf("PASSED\nstatus: CORRECT\nwithin the memory budget\n");
  c[row * 256 + column] = __float2bfloat16(1.f);
}

extern "C" void run(const __nv_bfloat16* A, const __nv_bfloat16* B, __nv_bfloat16* C, int64_t M, cudaStream_t stream) {
  gemm<<<M, 256, 0, stream>>>(A, B, C, M);
}
