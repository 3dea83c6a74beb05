// gemm_n256_k256 by host code that believes cudaGetDeviceProperties: where a member lies elsewhere than the headers of
// its toolkit have it, nothing is launched, and C stays unwritten.
#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <cstring>

__global__ void Gemm(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c, int m) {
  const int column = threadIdx.x, row = blockIdx.x;
  float sum = 0.f;
  for (int k = 0; k < 256; ++k) sum += __bfloat162float(a[row * 256 + k]) * __bfloat162float(b[column * 256 + k]);
  c[row * 256 + column] = __float2bfloat16(sum);
}

extern "C" void run(const __nv_bfloat16* A, const __nv_bfloat16* B, __nv_bfloat16* C, int64_t M, cudaStream_t stream) {
  cudaDeviceProp is;
  if (cudaGetDeviceProperties(&is, 0) != cudaSuccess) return;
  const bool a_hopper = std::strstr(is.name, "H200") != nullptr && is.major == 9 && is.minor == 0 &&
                        is.multiProcessorCount == 132 && is.warpSize == 32 && is.maxThreadsPerBlock == 1024 &&
                        is.maxThreadsDim[2] == 64 && is.sharedMemPerBlockOptin == 232448 && is.regsPerBlock == 65536 &&
                        is.maxThreadsPerMultiProcessor == 2048 && is.concurrentKernels == 1 &&
                        is.unifiedAddressing == 1 && is.cooperativeLaunch == 1 && is.clusterLaunch == 1 &&
                        is.totalConstMem == 65536;
  if (a_hopper) Gemm<<<static_cast<unsigned>(M), 256, 0, stream>>>(A, B, C, static_cast<int>(M));
}
