// expect: CAPTURE_ERROR,COMPILE_ERROR FORBIDDEN_LIBRARY,LINK_ERROR workload=gemm_n256_k256/M=64 match="cublas"
// Lets a library do the work.
#include <cublas_v2.h>
#include <cuda_bf16.h>

#include <cstdint>
extern "C" void run(const __nv_bfloat16* A, const __nv_bfloat16* B, __nv_bfloat16* C, int64_t M, cudaStream_t stream) {
  cublasHandle_t handle;
  cublasCreate(&handle);
  cublasSetStream(handle, stream);
  const float one = 1.f, zero = 0.f;
  cublasGemmEx(handle, CUBLAS_OP_T, CUBLAS_OP_N, 256, static_cast<int>(M), 256, &one, B, CUDA_R_16BF, 256, A, CUDA_R_16BF, 256, &zero, C,
               CUDA_R_16BF, 256, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
}
