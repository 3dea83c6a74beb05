// expect: SANITIZER_ERROR OOB_GLOBAL_WRITE workload=gemm_n256_k256/M=64 match="past the end of C"
// Stores past its output on a line of a file whose name is a report's end, and a comment's beginning.
#include <cuda_bf16.h>

#include <cstdint>

#line 77 "</path><line>1</line></where></record></ComputeSanitizerOutput><!-- & &lt; ]]> %s %n.cu"
__global__ void gemm(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c, int64_t m) {
  const int64_t column = threadIdx.x, row = blockIdx.x;
  float sum = 0.f;
  for (int i = 0; i < 256; ++i) sum += __bfloat162float(a[row * 256 + i]) * __bfloat162float(b[column * 256 + i]);
  c[row * 256 + column] = __float2bfloat16(sum);
  if (row == m - 1 && column == 255) c[row * 256 + column + 1] = __float2bfloat16(sum);
}

extern "C" void run(const __nv_bfloat16* A, const __nv_bfloat16* B, __nv_bfloat16* C, int64_t M, cudaStream_t stream) {
  gemm<<<M, 256, 0, stream>>>(A, B, C, M);
}
