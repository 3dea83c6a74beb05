// expect: CORRECT OK workload=gemm_n256_k256/M=64
// on cuda: CORRECT OK check="len(v['timing']['candidate']['samples_ns']) >= 5"
// Is slow at first, so that whoever measures for a fixed time takes few samples. The number of samples has a minimum.
#include <cuda_bf16.h>

#include <cstdint>

__device__ int calls;
__global__ void count() {
  const long long begin = clock64();
  while (++calls < 40 && clock64() - begin < 400000) {
  }
}

__global__ void gemm(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c, int64_t m) {
  const int64_t column = threadIdx.x, row = blockIdx.x;
  float sum = 0.f;
  for (int i = 0; i < 256; ++i) sum += __bfloat162float(a[row * 256 + i]) * __bfloat162float(b[column * 256 + i]);
  c[row * 256 + column] = __float2bfloat16(sum);
}

extern "C" void run(const __nv_bfloat16* A, const __nv_bfloat16* B, __nv_bfloat16* C, int64_t M, cudaStream_t stream) {
  gemm<<<M, 256, 0, stream>>>(A, B, C, M);
  count<<<1, 1, 0, stream>>>();
}
