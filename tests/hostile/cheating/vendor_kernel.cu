// expect: REJECTED VENDOR_KERNEL workload=gemm_n256_k256/M=64 match="a name of cuBLAS's kernels"
// A kernel as cuBLAS names those that its generator makes: nobody else has it.
#include <cuda_bf16.h>

#include <cstdint>

extern "C" __global__ void nvjet_sm90_tst_128x256_64x4_1x2_h_bz_coopA_NTT(const __nv_bfloat16* a,
                                                                          const __nv_bfloat16* b, __nv_bfloat16* c) {
  const int64_t column = threadIdx.x, row = blockIdx.x;
  float sum = 0.f;
  for (int i = 0; i < 256; ++i) sum += __bfloat162float(a[row * 256 + i]) * __bfloat162float(b[column * 256 + i]);
  c[row * 256 + column] = __float2bfloat16(sum);
}

extern "C" void run(const __nv_bfloat16* A, const __nv_bfloat16* B, __nv_bfloat16* C, int64_t M, cudaStream_t stream) {
  nvjet_sm90_tst_128x256_64x4_1x2_h_bz_coopA_NTT<<<M, 256, 0, stream>>>(A, B, C);
}
