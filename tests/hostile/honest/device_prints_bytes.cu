// expect: CORRECT OK workload=gemm_n256_k256/M=64
// Prints bytes that are no text, and more characters than are kept: the last may be cut in half.
#include <cuda_bf16.h>

#include <cstdint>
#include <cstdio>

__global__ void gemm(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c) {
  const int64_t column = threadIdx.x, row = blockIdx.x;
  if (column == 0 && row == 0) {
    printf("\xff %c\n", 200);
    for (int i = 0; i < 2500; ++i)
      printf(
          "\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3"
          "\xa9\xc3\xa9\xc3\xa9");
  }
  float sum = 0.f;
  for (int i = 0; i < 256; ++i) sum += __bfloat162float(a[row * 256 + i]) * __bfloat162float(b[column * 256 + i]);
  c[row * 256 + column] = __float2bfloat16(sum);
}

extern "C" void run(const __nv_bfloat16* A, const __nv_bfloat16* B, __nv_bfloat16* C, int64_t M, cudaStream_t stream) {
  gemm<<<M, 256, 0, stream>>>(A, B, C);
}
