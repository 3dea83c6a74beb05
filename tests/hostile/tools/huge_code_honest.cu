// expect: CORRECT OK workload=gemm_n256_k256/M=64
// on cuda: CORRECT OK check="v['evidence']['status'] == 'CUBIN_SASS_ABSENT' and v['sanitizers'][0]['outcome'] == 'CLEAN'"
// One kernel of some 15,000 instructions, most of which nobody executes: patching and disassembling it takes a while.
#include <cuda_bf16.h>

#include <cstdint>

#define TIMES4(text) text text text text
#define TIMES64(text) TIMES4(TIMES4(TIMES4(text)))

__global__ void gemm(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c, int64_t m) {
  const int64_t column = threadIdx.x, row = blockIdx.x;
  float sum = 0.f;
  for (int i = 0; i < 256; ++i) sum += __bfloat162float(a[row * 256 + i]) * __bfloat162float(b[column * 256 + i]);
  if (m == 12345) {
    uint32_t x = uint32_t(row);
    TIMES64(TIMES64(asm volatile("mad.lo.u32 %0, %0, %0, 12345; xor.b32 %0, %0, 77;" : "+r"(x));))
    sum += float(x);
  }
  c[row * 256 + column] = __float2bfloat16(sum);
}

extern "C" void run(const __nv_bfloat16* A, const __nv_bfloat16* B, __nv_bfloat16* C, int64_t M, cudaStream_t stream) {
  gemm<<<M, 256, 0, stream>>>(A, B, C, M);
}
