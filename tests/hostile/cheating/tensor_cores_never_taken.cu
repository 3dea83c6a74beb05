// expect: CORRECT OK workload=gemm_n256_k256/M=64
//
// C = A * B^T without tensor cores, with a wgmma in a branch that no launch takes: whoever looks at the cubin alone finds
// the instruction. Right, so CORRECT; what the evidence says of it is DYNAMIC_NOT_EXECUTED (tests/gpu/evidence.sh).
#include <cuda_bf16.h>

#include <cstdint>

constexpr int kN = 256, kK = 256;

__device__ float Decoy(int rows) {
  float d[4] = {};
  const uint64_t tile = static_cast<uint64_t>(rows);
  asm volatile(
      "wgmma.fence.sync.aligned;\n"
      "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%0, %1, %2, %3}, %4, %4, 1, 1, 1, 0, 0;\n"
      "wgmma.commit_group.sync.aligned;\n"
      "wgmma.wait_group.sync.aligned 0;\n"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "l"(tile)
      : "memory");
  return d[0] + d[1] + d[2] + d[3];
}

__global__ void gemm(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c, int rows) {
  const int row = blockIdx.x, column = threadIdx.x;
  float sum = 0;
  for (int k = 0; k < kK; ++k) sum += __bfloat162float(a[row * kK + k]) * __bfloat162float(b[column * kK + k]);
  if (rows < 0) sum += Decoy(rows);
  c[row * kN + column] = __float2bfloat16(sum);
}

extern "C" void run(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c, int64_t m, cudaStream_t stream) {
  gemm<<<static_cast<int>(m), kN, 0, stream>>>(a, b, c, static_cast<int>(m));
}
