// expect: CORRECT OK workload=gemm_n256_k256/M=64 match=""dropped_launches":\{"launches":2,"tried":2\}"
// on cuda: CORRECT OK check="dead_launches() == []"
// The second kernel reads what the first one left in memory that lives from call to call: what an earlier call left there
// must not make the first one look dead.
#include <cuda_bf16.h>

#include <cstdint>

__device__ float partial[64 * 256];

__global__ void first_half(const __nv_bfloat16* a, const __nv_bfloat16* b) {
  const int64_t column = threadIdx.x, row = blockIdx.x;
  float sum = 0.f;
  for (int i = 0; i < 128; ++i) sum += __bfloat162float(a[row * 256 + i]) * __bfloat162float(b[column * 256 + i]);
  partial[row * 256 + column] = sum;
}

__global__ void second_half(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c) {
  const int64_t column = threadIdx.x, row = blockIdx.x;
  float sum = partial[row * 256 + column];
  for (int i = 128; i < 256; ++i) sum += __bfloat162float(a[row * 256 + i]) * __bfloat162float(b[column * 256 + i]);
  c[row * 256 + column] = __float2bfloat16(sum);
}

extern "C" void run(const __nv_bfloat16* A, const __nv_bfloat16* B, __nv_bfloat16* C, int64_t M, cudaStream_t stream) {
  first_half<<<M, 256, 0, stream>>>(A, B);
  second_half<<<M, 256, 0, stream>>>(A, B, C);
}
