// expect: SANITIZER_ERROR OOB_GLOBAL_WRITE workload=gemm_n256_k256/M=64
// on cuda: SANITIZER_ERROR,RUNTIME_ERROR OOB_GLOBAL_WRITE,GUARD_BAND,INPUT_MODIFIED,ILLEGAL_ADDRESS
// Is right, and every thread stores 64 times past the output: a million findings.
#include <cuda_bf16.h>

#include <cstdint>

__global__ void gemm(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c, int64_t m) {
  const int64_t column = threadIdx.x, row = blockIdx.x;
  float sum = 0.f;
  for (int i = 0; i < 256; ++i) sum += __bfloat162float(a[row * 256 + i]) * __bfloat162float(b[column * 256 + i]);
  c[row * 256 + column] = __float2bfloat16(sum);
  for (int i = 0; i < 64; ++i) reinterpret_cast<volatile short*>(c)[m * 256 + (row * 256 + column + i) % 2048] = short(i);
}

extern "C" void run(const __nv_bfloat16* A, const __nv_bfloat16* B, __nv_bfloat16* C, int64_t M, cudaStream_t stream) {
  gemm<<<M, 256, 0, stream>>>(A, B, C, M);
}
