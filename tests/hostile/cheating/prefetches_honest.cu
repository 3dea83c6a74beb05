// expect: CORRECT OK workload=gemm_n256_k256/M=64
// Has the L2 fetch ahead, too, but what this very call reads next.
#include <cuda_bf16.h>

#include <cstdint>

__global__ void gemm(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c) {
  const int64_t column = threadIdx.x, row = blockIdx.x;
  float sum = 0.f;
  for (int i = 0; i < 256; ++i) {
    if (i % 64 == 0 && i + 64 < 256) asm volatile("prefetch.global.L2 [%0];" ::"l"(b + column * 256 + i + 64));
    sum += __bfloat162float(a[row * 256 + i]) * __bfloat162float(b[column * 256 + i]);
  }
  c[row * 256 + column] = __float2bfloat16(sum);
}

extern "C" void run(const __nv_bfloat16* A, const __nv_bfloat16* B, __nv_bfloat16* C, int64_t M, cudaStream_t stream) {
  gemm<<<M, 256, 0, stream>>>(A, B, C);
}
