// expect: CORRECT OK workload=gemm_n256_k256/M=64
// on cuda: CORRECT OK check="v['evidence']['status'] in ('CUBIN_SASS_ABSENT', 'UNAVAILABLE') and v['sanitizers'][0]['outcome'] == 'CLEAN'"
// 4,096 launches of 64 kernels in one call, each a piece of a row: as many rows of counts for whoever counts instructions.
#include <cuda_bf16.h>

#include <cstdint>
#include <utility>

template <int kSlice>
__global__ void gemm(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c) {
  const int64_t column = kSlice * 4 + threadIdx.x;
  float sum = 0.f;
  for (int i = 0; i < 256; ++i) sum += __bfloat162float(a[i]) * __bfloat162float(b[column * 256 + i]);
  c[column] = __float2bfloat16(sum);
}

template <int... kSlices>
void LaunchRow(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c, cudaStream_t stream,
               std::integer_sequence<int, kSlices...>) {
  (gemm<kSlices><<<1, 4, 0, stream>>>(a, b, c), ...);
}

extern "C" void run(const __nv_bfloat16* A, const __nv_bfloat16* B, __nv_bfloat16* C, int64_t M, cudaStream_t stream) {
  for (int64_t row = 0; row < M; ++row) {
    LaunchRow(A + row * 256, B, C + row * 256, stream, std::make_integer_sequence<int, 64>());
  }
}
