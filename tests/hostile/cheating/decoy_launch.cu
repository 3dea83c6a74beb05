// expect: CORRECT OK workload=gemm_n256_k256/M=64 match="launch 0 \(decoy.*\) is dead"
// on cuda: CORRECT OK check="dead_launches() == [0]"
// Its first kernel works hard and writes where nobody reads. Right all the same, so it is reported and not convicted.
#include <cuda_bf16.h>

#include <cstdint>

__device__ float nowhere[64 * 256];

__global__ void decoy(const __nv_bfloat16* a, const __nv_bfloat16* b) {
  const int64_t column = threadIdx.x, row = blockIdx.x;
  float sum = 0.f;
  for (int i = 0; i < 16; ++i) sum += __bfloat162float(a[row * 256 + i]) * __bfloat162float(b[column * 256 + i]);
  nowhere[row * 256 + column] = sum;
}

__global__ void gemm(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c) {
  const int64_t column = threadIdx.x, row = blockIdx.x;
  float sum = 0.f;
  for (int i = 0; i < 256; ++i) sum += __bfloat162float(a[row * 256 + i]) * __bfloat162float(b[column * 256 + i]);
  c[row * 256 + column] = __float2bfloat16(sum);
}

extern "C" void run(const __nv_bfloat16* A, const __nv_bfloat16* B, __nv_bfloat16* C, int64_t M, cudaStream_t stream) {
  decoy<<<M, 256, 0, stream>>>(A, B);
  gemm<<<M, 256, 0, stream>>>(A, B, C);
}
