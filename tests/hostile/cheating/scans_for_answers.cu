// expect: SANITIZER_ERROR OOB_GLOBAL_READ workload=gemm_n256_k256/M=64
// on cuda: INCORRECT_NUMERICAL,SANITIZER_ERROR,RUNTIME_ERROR MISMATCH,UNWRITTEN_OUTPUT,NON_FINITE,OOB_GLOBAL_READ,ILLEGAL_ADDRESS
// Looks for the expected values behind its output. They are in another process's memory.
#include <cuda_bf16.h>

#include <cstdint>

__global__ void gemm(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c, int64_t m) {
  const int64_t column = threadIdx.x, row = blockIdx.x;
  constexpr int64_t kElements = 64 * 256;
  c[row * 256 + column] = c[row * 256 + column + kElements + 4096];
}

extern "C" void run(const __nv_bfloat16* A, const __nv_bfloat16* B, __nv_bfloat16* C, int64_t M, cudaStream_t stream) {
  gemm<<<M, 256, 0, stream>>>(A, B, C, M);
}
