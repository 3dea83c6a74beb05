// expect: SANITIZER_ERROR INPUT_MODIFIED workload=gemm_n256_k256/M=64 match="A"
// on cuda: CORRECT OK
// Uses an input as scratch memory, and puts everything back before it ends. Only who looks at every store sees that.
#include <cuda_bf16.h>

#include <cstdint>

__global__ void gemm(__nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c) {
  const int64_t column = threadIdx.x, row = blockIdx.x;
  __nv_bfloat16* const own = &a[row * 256 + column];
  const __nv_bfloat16 kept = *own;
  __syncthreads();
  *(volatile unsigned short*)own = 0x3f80;
  __syncthreads();
  *(volatile unsigned short*)own = __bfloat16_as_ushort(kept);
  __syncthreads();
  float sum = 0.f;
  for (int i = 0; i < 256; ++i) sum += __bfloat162float(a[row * 256 + i]) * __bfloat162float(b[column * 256 + i]);
  c[row * 256 + column] = __float2bfloat16(sum);
}

extern "C" void run(const __nv_bfloat16* A, const __nv_bfloat16* B, __nv_bfloat16* C, int64_t M, cudaStream_t stream) {
  gemm<<<M, 256, 0, stream>>>(const_cast<__nv_bfloat16*>(A), B, C);
}
