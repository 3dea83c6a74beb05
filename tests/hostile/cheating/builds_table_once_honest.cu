// expect: CORRECT OK workload=gemm_n256_k256/M=64
// Slow in its first call, which fills a table in __device__ memory that later calls read: of indices, nothing of any input.
#include <cuda_bf16.h>

#include <cstdint>

__device__ int order[256];
__device__ bool built;

__global__ void build() {
  if (built) return;
  const int i = threadIdx.x;
  int reversed = 0;
  for (int bit = 0; bit < 8; ++bit) reversed |= ((i >> bit) & 1) << (7 - bit);
  order[i] = reversed;
  __syncthreads();
  if (i == 0) built = true;
}

__global__ void gemm(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c) {
  const int64_t column = threadIdx.x, row = blockIdx.x;
  float sum = 0.f;
  for (int i = 0; i < 256; ++i) {
    const int k = order[i];
    sum += __bfloat162float(a[row * 256 + k]) * __bfloat162float(b[column * 256 + k]);
  }
  c[row * 256 + column] = __float2bfloat16(sum);
}

extern "C" void run(const __nv_bfloat16* A, const __nv_bfloat16* B, __nv_bfloat16* C, int64_t M, cudaStream_t stream) {
  build<<<1, 256, 0, stream>>>();
  gemm<<<M, 256, 0, stream>>>(A, B, C);
}
