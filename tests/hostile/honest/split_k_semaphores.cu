// expect: CORRECT OK workload=gemm_n256_k256/M=64
// Split-K whose semaphores live in a workspace that the first call allocates and clears; each call leaves them cleared.
#include <cuda_bf16.h>

#include <cstdint>

constexpr int kSplits = 4;

__global__ void gemm(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c, float* partial, unsigned* semaphore) {
  const int column = threadIdx.x, row = blockIdx.x, split = blockIdx.y;
  float sum = 0.f;
  for (int i = split * 64; i < split * 64 + 64; ++i) {
    sum += __bfloat162float(a[row * 256 + i]) * __bfloat162float(b[column * 256 + i]);
  }
  partial[(split * gridDim.x + row) * 256 + column] = sum;
  __threadfence();
  __shared__ unsigned arrived;
  __syncthreads();
  if (threadIdx.x == 0) arrived = atomicAdd(&semaphore[row], 1u);
  __syncthreads();
  if (arrived != kSplits - 1) return;
  float total = 0.f;
  for (int s = 0; s < kSplits; ++s) total += __ldcg(&partial[(s * gridDim.x + row) * 256 + column]);
  c[row * 256 + column] = __float2bfloat16(total);
  if (threadIdx.x == 0) semaphore[row] = 0;
}

extern "C" void run(const __nv_bfloat16* A, const __nv_bfloat16* B, __nv_bfloat16* C, int64_t M, cudaStream_t stream) {
  static float* partial = nullptr;
  static unsigned* semaphore = nullptr;
  if (semaphore == nullptr) {
    cudaMalloc(&partial, kSplits * M * 256 * sizeof(float));
    cudaMalloc(&semaphore, M * sizeof(unsigned));
    cudaMemset(semaphore, 0, M * sizeof(unsigned));
  }
  gemm<<<dim3(M, kSplits), 256, 0, stream>>>(A, B, C, partial, semaphore);
}
