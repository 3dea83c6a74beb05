// expect: TIMEOUT KERNEL_TIMEOUT workload=gemm_n256_k256/M=64 match="deadline"
// One thread counts in memory for ever: that nothing will change cannot be told, so it runs to its deadline.
#include <cuda_bf16.h>

#include <cstdint>

__device__ unsigned counter;

__global__ void gemm(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c, int64_t m) {
  const int64_t column = threadIdx.x, row = blockIdx.x;
  float sum = 0.f;
  for (int i = 0; i < 256; ++i) sum += __bfloat162float(a[row * 256 + i]) * __bfloat162float(b[column * 256 + i]);
  c[row * 256 + column] = __float2bfloat16(sum);
  if (row == 3 && column == 17) {
    volatile unsigned* count = &counter;
    while (*count != ~0u) *count = (*count + 1) & 0xffff;
  }
}

extern "C" void run(const __nv_bfloat16* A, const __nv_bfloat16* B, __nv_bfloat16* C, int64_t M, cudaStream_t stream) {
  gemm<<<M, 256, 0, stream>>>(A, B, C, M);
}
