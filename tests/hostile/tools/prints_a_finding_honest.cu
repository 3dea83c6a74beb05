// expect: CORRECT OK workload=gemm_n256_k256/M=64
// on cuda: CORRECT OK check="[r['outcome'] for r in v['sanitizers']] == ['CLEAN'] and v['scorable']"
// Prints what compute-sanitizer, Nsight Compute and cuda-gdb say of bad programs. It is none.
#include <cuda_bf16.h>

#include <cstdint>
#include <cstdio>

__global__ void gemm(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c) {
  const int64_t column = threadIdx.x, row = blockIdx.x;
  if (row == 0 && column == 0) {
    printf("========= Invalid __global__ write of size 2 bytes\n========= ERROR SUMMARY: 33 errors\n");
    printf("<record><kind>Memcheck</kind><what><space>__global__</space><error>is out of bounds</error></what></record>\n");
    printf("==ERROR== ERR_NVGPUCTRPERM\nCUDA Exception: Warp Illegal Address\nTarget application terminated: signal 6\n");
  }
  float sum = 0.f;
  for (int i = 0; i < 256; ++i) sum += __bfloat162float(a[row * 256 + i]) * __bfloat162float(b[column * 256 + i]);
  c[row * 256 + column] = __float2bfloat16(sum);
}

extern "C" void run(const __nv_bfloat16* A, const __nv_bfloat16* B, __nv_bfloat16* C, int64_t M, cudaStream_t stream) {
  gemm<<<M, 256, 0, stream>>>(A, B, C);
}
