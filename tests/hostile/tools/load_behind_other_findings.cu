// expect: SANITIZER_ERROR OOB_SHARED workload=gemm_n256_k256/M=64
// on cuda: CORRECT,SANITIZER_ERROR,RUNTIME_ERROR OK,OOB_GLOBAL_READ,OOB_SHARED,ILLEGAL_ADDRESS,LAUNCH_FAILED check="not v.get('scorable')"
// Reads past its input, after more findings about shared memory than a tool prints.
#include <cuda_bf16.h>

#include <cstdint>

__global__ void gemm(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c, int64_t m) {
  extern __shared__ int few[];
  const int64_t column = threadIdx.x, row = blockIdx.x;
  const uint32_t past = uint32_t(__cvta_generic_to_shared(few)) + 64;
  for (int i = 0; i < 8; ++i) asm volatile("st.shared.u32 [%0], %1;" ::"r"(past + 4 * i), "r"(i) : "memory");
  __syncthreads();
  float sum = 0.f;
  for (int i = 0; i < 256; ++i) sum += __bfloat162float(a[row * 256 + i]) * __bfloat162float(b[column * 256 + i]);
  if (row == m - 1 && column == 255 && __bfloat162float(a[m * 256 + 1]) == 12345.f) sum = 0.f;
  c[row * 256 + column] = __float2bfloat16(sum);
}

extern "C" void run(const __nv_bfloat16* A, const __nv_bfloat16* B, __nv_bfloat16* C, int64_t M, cudaStream_t stream) {
  gemm<<<M, 256, 64, stream>>>(A, B, C, M);
}
