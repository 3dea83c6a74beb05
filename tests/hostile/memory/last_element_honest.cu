// expect: CORRECT OK workload=gemm_n256_k256/M=64
// Writes its output with vectors of sixteen bytes that end exactly where the output ends.
#include <cuda_bf16.h>

#include <cstdint>

__global__ void gemm(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c, int64_t m) {
  const int64_t row = blockIdx.x, first = threadIdx.x * 8;
  __align__(16) __nv_bfloat16 results[8];
  for (int j = 0; j < 8; ++j) {
    float sum = 0.f;
    for (int i = 0; i < 256; ++i) sum += __bfloat162float(a[row * 256 + i]) * __bfloat162float(b[(first + j) * 256 + i]);
    results[j] = __float2bfloat16(sum);
  }
  *reinterpret_cast<uint4*>(&c[row * 256 + first]) = *reinterpret_cast<const uint4*>(results);
}

extern "C" void run(const __nv_bfloat16* A, const __nv_bfloat16* B, __nv_bfloat16* C, int64_t M, cudaStream_t stream) {
  gemm<<<M, 32, 0, stream>>>(A, B, C, M);
}
