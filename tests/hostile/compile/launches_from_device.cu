// expect: COMPILE_ERROR NVCC_ERROR workload=gemm_n256_k256/M=64 match="[.]cu:[0-9]+"
// Starts a child grid that would still run when the parent's end is measured.
#include <cuda_bf16.h>

#include <cstdint>

__global__ void child(__nv_bfloat16* c) { c[threadIdx.x] = __float2bfloat16(0.f); }

__global__ void gemm(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c, int64_t m) {
  child<<<1, 256>>>(c);
}

extern "C" void run(const __nv_bfloat16* A, const __nv_bfloat16* B, __nv_bfloat16* C, int64_t M, cudaStream_t stream) {
  gemm<<<M, 256, 0, stream>>>(A, B, C, M);
}
