// expect: CORRECT OK workload=gemm_n256_k256/M=64
// The twin of computes_in_setup: the first call prepares a table that no input has a say in, and the later ones use it.
#include <cuda_bf16.h>

#include <cstdint>

__global__ void make_order(int* order) { order[threadIdx.x] = (threadIdx.x * 37) % 256; }

__global__ void gemm(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c, const int* order) {
  const int64_t column = threadIdx.x, row = blockIdx.x;
  float sum = 0.f;
  for (int step = 0; step < 256; ++step) {
    const int i = order[step];
    sum += __bfloat162float(a[row * 256 + i]) * __bfloat162float(b[column * 256 + i]);
  }
  c[row * 256 + column] = __float2bfloat16(sum);
}

extern "C" void run(const __nv_bfloat16* A, const __nv_bfloat16* B, __nv_bfloat16* C, int64_t M, cudaStream_t stream) {
  static int* order = nullptr;
  if (order == nullptr) {
    cudaMalloc(&order, 256 * sizeof(int));
    make_order<<<1, 256, 0, stream>>>(order);
  }
  gemm<<<M, 256, 0, stream>>>(A, B, C, order);
}
