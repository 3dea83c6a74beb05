// expect: CAPTURE_ERROR POINTER_OUT_OF_BUFFER workload=gemm_n256_k256/M=64 match="freed at .*[.]cu:[0-9]+"
// Frees its workspace before the kernel that reads it.
#include <cuda_bf16.h>

#include <cstdint>

__global__ void gemm(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c, int64_t m, float* workspace) {
  const int64_t column = threadIdx.x, row = blockIdx.x;
  float sum = 0.f;
  for (int i = 0; i < 256; ++i) sum += __bfloat162float(a[row * 256 + i]) * __bfloat162float(b[column * 256 + i]);
  workspace[column] = sum;
  c[row * 256 + column] = __float2bfloat16(sum);
}

extern "C" void run(const __nv_bfloat16* A, const __nv_bfloat16* B, __nv_bfloat16* C, int64_t M, cudaStream_t stream) {
  float* workspace = nullptr;
  cudaMallocAsync(reinterpret_cast<void**>(&workspace), 256 * sizeof(float), stream);
  cudaFreeAsync(workspace, stream);
  gemm<<<M, 256, 0, stream>>>(A, B, C, M, workspace);
}
