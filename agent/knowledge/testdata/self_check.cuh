// A candidate for gemm_n256_k256 that checks functions of the template library besides. C is right unless a check
// failed: then its first element is NaN, and the device's output says which check, in which function and line.
#pragma once

#include <cuda_bf16.h>

#include <cstdint>
#include <cstdio>

namespace self_check {

constexpr int kN = 256, kK = 256;

__device__ int failures;

__device__ inline void Expect(bool holds, const char* what, const char* function, int line) {
  if (holds) return;
  if (atomicAdd(&failures, 1) < 8 || threadIdx.x == 0)
    printf("line %d: %s does not hold for thread %d in %s\n", line, what, threadIdx.x, function);
}

#define EXPECT(condition) self_check::Expect(condition, #condition, __PRETTY_FUNCTION__, __LINE__)

// Plain integers for inputs, the same wherever they are asked for; between -3 and 3, or 0 and 6.
__device__ inline int Value(int row, int column, int salt = 0) {
  return (row * 7 + column * 3 + row * column + salt) % 7 - 3;
}

__global__ void Plain(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c, int m) {
  const int row = blockIdx.x, column = threadIdx.x;
  float sum = 0;
  for (int k = 0; k < kK; ++k) sum += __bfloat162float(a[row * kK + k]) * __bfloat162float(b[column * kK + k]);
  c[row * kN + column] = __float2bfloat16(sum);
}

__global__ void Begin() { failures = 0; }

__global__ void End(__nv_bfloat16* c) {
  if (failures != 0) c[0] = __ushort_as_bfloat16(0x7fff);
}

}  // namespace self_check

// The file that includes this one says what is launched.
void Checks(cudaStream_t stream);

extern "C" void run(const __nv_bfloat16* A, const __nv_bfloat16* B, __nv_bfloat16* C, int64_t M, cudaStream_t stream) {
  self_check::Plain<<<static_cast<unsigned>(M), self_check::kN, 0, stream>>>(A, B, C, static_cast<int>(M));
  self_check::Begin<<<1, 1, 0, stream>>>();
  Checks(stream);
  self_check::End<<<1, 1, 0, stream>>>(C);
}
