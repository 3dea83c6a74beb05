// expect: CORRECT OK workload=gemm_n256_k256/M=64
// Adds the products from the last to the first, in four partial sums: another rounding, no worse a one.
#include <cuda_bf16.h>

#include <cstdint>

__global__ void gemm(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c, int64_t m) {
  const int64_t column = threadIdx.x, row = blockIdx.x;
  float sums[4] = {};
  for (int i = 255; i >= 0; --i) sums[i % 4] += __bfloat162float(a[row * 256 + i]) * __bfloat162float(b[column * 256 + i]);
  c[row * 256 + column] = __float2bfloat16((sums[0] + sums[1]) + (sums[2] + sums[3]));
}

extern "C" void run(const __nv_bfloat16* A, const __nv_bfloat16* B, __nv_bfloat16* C, int64_t M, cudaStream_t stream) {
  gemm<<<M, 256, 0, stream>>>(A, B, C, M);
}
