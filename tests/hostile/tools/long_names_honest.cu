// expect: CORRECT OK workload=gemm_n256_k256/M=64
// on cuda: CORRECT OK submit="--diagnose ncu,hotspots" check="v['sanitizers'][0]['outcome'] == 'CLEAN' and [d['outcome'] for d in v['diagnoses']] == ['DONE', 'DONE']"
// A kernel with a name of 17,000 characters, as templates of templates make them.
#include <cuda_bf16.h>

#include <cstdint>
#include <utility>

template <typename Steps>
struct Unrolled;
template <int... kSteps>
struct Unrolled<std::integer_sequence<int, kSteps...>> {
  static __device__ int Count() { return sizeof...(kSteps); }
};

template <typename Loop>
__global__ void gemm(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c) {
  const int64_t column = threadIdx.x, row = blockIdx.x;
  float sum = 0.f;
  for (int i = 0; i < Loop::Count() / 10; ++i) {
    sum += __bfloat162float(a[row * 256 + i]) * __bfloat162float(b[column * 256 + i]);
  }
  c[row * 256 + column] = __float2bfloat16(sum);
}

extern "C" void run(const __nv_bfloat16* A, const __nv_bfloat16* B, __nv_bfloat16* C, int64_t M, cudaStream_t stream) {
  gemm<Unrolled<std::make_integer_sequence<int, 2560>>><<<M, 256, 0, stream>>>(A, B, C);
}
