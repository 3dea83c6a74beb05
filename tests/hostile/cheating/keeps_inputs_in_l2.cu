// expect: CORRECT OK workload=gemm_n256_k256/M=64
// on cuda: CORRECT OK check="slower_than(0.8, 'gemm_naive')"
// Asks the L2 to hold on to the inputs for the next call. Every sample finds a cold L2 and other contents.
#include <cuda_bf16.h>

#include <cstdint>

__global__ void gemm(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c, int64_t m) {
  const int64_t column = threadIdx.x, row = blockIdx.x;
  float sum = 0.f;
  for (int i = 0; i < 256; ++i) sum += __bfloat162float(a[row * 256 + i]) * __bfloat162float(b[column * 256 + i]);
  c[row * 256 + column] = __float2bfloat16(sum);
  asm volatile("prefetch.global.L2::evict_last [%0];" ::"l"(a + row * 256 + column));
  asm volatile("prefetch.global.L2::evict_last [%0];" ::"l"(b + row * 256 + column));
}

extern "C" void run(const __nv_bfloat16* A, const __nv_bfloat16* B, __nv_bfloat16* C, int64_t M, cudaStream_t stream) {
  gemm<<<M, 256, 0, stream>>>(A, B, C, M);
}
