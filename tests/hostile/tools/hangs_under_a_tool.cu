// expect: CORRECT OK workload=gemm_n256_k256/M=64
// on cuda: CORRECT OK check="v['sanitizers'][0]['outcome'] == 'UNAVAILABLE' and not v.get('scorable') and 'under memcheck' in v['sanitizers'][0]['reason']"
// Is right, and never ends where a load takes far longer than arithmetic: under a tool.
#include <cuda_bf16.h>

#include <cstdint>

__global__ void gemm(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c) {
  const int64_t column = threadIdx.x, row = blockIdx.x;
  float sum = 0.f;
  for (int i = 0; i < 256; ++i) sum += __bfloat162float(a[row * 256 + i]) * __bfloat162float(b[column * 256 + i]);
  c[row * 256 + column] = __float2bfloat16(sum);
  __syncthreads();
  if (row != 0 || column != 0) return;
  // The first round fetches what the second one measures.
  uint32_t x = uint32_t(row);
  int64_t steps = 0, loads = 0;
  for (int round = 0; round < 2; ++round) {
    int64_t begin = clock64();
    for (int i = 0; i < 64; ++i) x = (x ^ 0x55u) * 5 + 1;
    c[0] = x == 12345 ? c[1] : c[0];
    steps = clock64() - begin;
    begin = clock64();
    for (int i = 0; i < 64; ++i) x += reinterpret_cast<const volatile uint16_t*>(a)[i];
    c[0] = x == 12345 ? c[1] : c[0];
    loads = clock64() - begin;
  }
  while (loads > 8 * steps) loads += clock64() == 12345;
}

extern "C" void run(const __nv_bfloat16* A, const __nv_bfloat16* B, __nv_bfloat16* C, int64_t M, cudaStream_t stream) {
  gemm<<<M, 256, 0, stream>>>(A, B, C);
}
