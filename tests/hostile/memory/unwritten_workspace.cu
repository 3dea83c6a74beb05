// expect: SANITIZER_ERROR UNINITIALIZED_READ workload=gemm_n256_k256/M=64 match="workspace"
// on cuda: CORRECT,SANITIZER_ERROR OK,OOB_GLOBAL_READ
// Adds a workspace that nothing ever wrote.
#include <cuda_bf16.h>

#include <cstdint>

__global__ void gemm(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c, int64_t m, const float* workspace) {
  const int64_t column = threadIdx.x, row = blockIdx.x;
  float sum = 0.f;
  for (int i = 0; i < 256; ++i) sum += __bfloat162float(a[row * 256 + i]) * __bfloat162float(b[column * 256 + i]);
  sum += workspace[column] == 12345.f ? 1.f : 0.f;
  c[row * 256 + column] = __float2bfloat16(sum);
}

extern "C" void run(const __nv_bfloat16* A, const __nv_bfloat16* B, __nv_bfloat16* C, int64_t M, cudaStream_t stream) {
  float* workspace = nullptr;
  cudaMallocAsync(reinterpret_cast<void**>(&workspace), 256 * sizeof(float), stream);
  gemm<<<M, 256, 0, stream>>>(A, B, C, M, workspace);
  cudaFreeAsync(workspace, stream);
}
