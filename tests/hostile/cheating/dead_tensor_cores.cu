// expect: CORRECT OK workload=gemm_n256_k256/M=64
// on cuda: CORRECT OK check="0 < tensor_core_share() < 0.2"
// Executes one tensor-core instruction so as to have executed one; the work is done without. Right, and the share tells.
#include <cuda_bf16.h>

#include <cstdint>

// The instruction whose presence is asked for, on zeros, with a result that nobody reads.
__device__ void one_wgmma() {
  __shared__ __align__(128) __nv_bfloat16 tile[64 * 16];
  for (int i = threadIdx.x; i < 64 * 16; i += blockDim.x) tile[i] = __float2bfloat16(0.f);
  asm volatile("fence.proxy.async.shared::cta;");
  __syncthreads();
  if (threadIdx.x >= 128) return;
  const uint64_t where = (__cvta_generic_to_shared(tile) & 0x3ffff) >> 4;
  float d[4] = {};
  asm volatile(
      "wgmma.fence.sync.aligned;\n"
      "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%0, %1, %2, %3}, %4, %4, 1, 1, 1, 0, 0;\n"
      "wgmma.commit_group.sync.aligned;\n"
      "wgmma.wait_group.sync.aligned 0;\n"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "l"(where));
}

__global__ void gemm(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c, int64_t m) {
  const int64_t column = threadIdx.x, row = blockIdx.x;
  one_wgmma();
  float sum = 0.f;
  for (int i = 0; i < 256; ++i) sum += __bfloat162float(a[row * 256 + i]) * __bfloat162float(b[column * 256 + i]);
  c[row * 256 + column] = __float2bfloat16(sum);
}

extern "C" void run(const __nv_bfloat16* A, const __nv_bfloat16* B, __nv_bfloat16* C, int64_t M, cudaStream_t stream) {
  gemm<<<M, 256, 0, stream>>>(A, B, C, M);
}
