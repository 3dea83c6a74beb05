// expect: CORRECT OK workload=gemm_n256_k256/M=64
// Allocates and frees its workspace in every call.
#include <cuda_bf16.h>

#include <cstdint>

__global__ void products(const __nv_bfloat16* a, const __nv_bfloat16* b, float* workspace) {
  const int64_t column = threadIdx.x, row = blockIdx.x;
  float sum = 0.f;
  for (int i = 0; i < 256; ++i) sum += __bfloat162float(a[row * 256 + i]) * __bfloat162float(b[column * 256 + i]);
  workspace[row * 256 + column] = sum;
}

__global__ void round_all(const float* workspace, __nv_bfloat16* c) {
  c[blockIdx.x * 256 + threadIdx.x] = __float2bfloat16(workspace[blockIdx.x * 256 + threadIdx.x]);
}

extern "C" void run(const __nv_bfloat16* A, const __nv_bfloat16* B, __nv_bfloat16* C, int64_t M, cudaStream_t stream) {
  float* workspace = nullptr;
  if (cudaMalloc(&workspace, M * 256 * sizeof(float)) != cudaSuccess) return;
  products<<<M, 256, 0, stream>>>(A, B, workspace);
  round_all<<<M, 256, 0, stream>>>(workspace, C);
  cudaStreamSynchronize(stream);
  cudaFree(workspace);
}
