// expect: CAPTURE_ERROR ENTRY_SIGNATURE workload=gemm_n256_k256/M=64 match="int64_t"
// run() takes the stream where an axis belongs.
#include <cuda_bf16.h>
__global__ void gemm(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c) {}
extern "C" void run(const __nv_bfloat16* A, const __nv_bfloat16* B, __nv_bfloat16* C, cudaStream_t stream) {
  gemm<<<1, 1, 0, stream>>>(A, B, C);
}
