// expect: CORRECT OK workload=gemm_n256_k256/M=64
//
// C = A * B^T in the fewest lines that are right. Workload: gemm_n256_k256/M=256 (any M).
//
//   mini-ptx-agent submit agent/examples/gemm_naive.cu --workload gemm_n256_k256/M=256
//
// What a candidate is: kernels, and one host function `run` that takes the workload's inputs, then its outputs, in the
// definition's order, as device pointers; then its variable axes as int64_t; then the stream to launch on. `run` is
// called again and again with different pointers and must do the same work each time.
#include <cuda_bf16.h>

#include <cstdint>

// Constant axes of the definition may be compiled in.
constexpr int kN = 256, kK = 256;

// One thread per element of C.
__global__ void GemmNaive(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c, int m) {
  const int column = blockIdx.x * blockDim.x + threadIdx.x;
  const int row = blockIdx.y * blockDim.y + threadIdx.y;
  if (row >= m || column >= kN) return;
  // Sums of products are kept in float: a bf16 accumulator would lose bits at every step, and the judge would notice.
  float sum = 0.f;
  for (int k = 0; k < kK; ++k) {
    sum += __bfloat162float(a[row * kK + k]) * __bfloat162float(b[column * kK + k]);
  }
  c[row * kN + column] = __float2bfloat16(sum);
}

extern "C" void run(const __nv_bfloat16* A, const __nv_bfloat16* B, __nv_bfloat16* C, int64_t M, cudaStream_t stream) {
  const dim3 block(16, 16);
  const dim3 grid(kN / block.x, (static_cast<unsigned>(M) + block.y - 1) / block.y);
  GemmNaive<<<grid, block, 0, stream>>>(A, B, C, static_cast<int>(M));
}
