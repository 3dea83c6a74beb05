// Calls a function whose name is CUDA 12's own.
#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdint>

__global__ void Nothing() {}

extern "C" void run(const __nv_bfloat16* A, const __nv_bfloat16*, __nv_bfloat16*, int64_t, cudaStream_t stream) {
  cudaMemLocation here = {};
  here.type = cudaMemLocationTypeDevice;
  cudaMemPrefetchAsync_v2(A, 256, here, 0, stream);
  Nothing<<<1, 1, 0, stream>>>();
}
