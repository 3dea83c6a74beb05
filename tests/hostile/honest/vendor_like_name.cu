// expect: CORRECT OK workload=gemm_n256_k256/M=64
// Twin of cheating/vendor_kernel: the name holds a vendor's words and is nobody's.
#include <cuda_bf16.h>

#include <cstdint>

extern "C" __global__ void my_sm90_xmma_gemm(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c) {
  const int64_t column = threadIdx.x, row = blockIdx.x;
  float sum = 0.f;
  for (int i = 0; i < 256; ++i) sum += __bfloat162float(a[row * 256 + i]) * __bfloat162float(b[column * 256 + i]);
  c[row * 256 + column] = __float2bfloat16(sum);
}

extern "C" void run(const __nv_bfloat16* A, const __nv_bfloat16* B, __nv_bfloat16* C, int64_t M, cudaStream_t stream) {
  my_sm90_xmma_gemm<<<M, 256, 0, stream>>>(A, B, C);
}
