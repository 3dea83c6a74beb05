// Kernels whose executed instructions are known beforehand. Compiled for sm_90a.
#include <cstdint>

__device__ void Multiply(float (&d)[4], uint64_t tile) {
  asm volatile(
      "wgmma.fence.sync.aligned;\n"
      "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%0, %1, %2, %3}, %4, %4, 1, 1, 1, 0, 0;\n"
      "wgmma.commit_group.sync.aligned;\n"
      "wgmma.wait_group.sync.aligned 0;\n"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "l"(tile)
      : "memory");
}

// Each warpgroup multiplies zeros `times` times.
extern "C" __global__ void multiplies(float* out, int times) {
  __shared__ alignas(1024) float zeros[2048];
  for (int i = threadIdx.x; i < 2048; i += blockDim.x) zeros[i] = 0;
  __syncthreads();
  const auto address = static_cast<uint64_t>(__cvta_generic_to_shared(zeros));
  const uint64_t tile = ((address & 0x3FFFF) >> 4) | (uint64_t{1} << 16) | (uint64_t{8} << 32);
  float d[4] = {};
  for (int i = 0; i < times; ++i) Multiply(d, tile);
  out[threadIdx.x] = d[0] + d[1] + d[2] + d[3];
}

// The multiplication sits in a branch that nobody takes.
extern "C" __global__ void might_multiply(float* out, int times) {
  float d[4] = {};
  if (times < 0) Multiply(d, static_cast<uint64_t>(times));
  out[threadIdx.x] = d[0] + d[1] + d[2] + d[3];
}

// Half of each warp's threads add.
extern "C" __global__ void adds(float* out, int times) {
  if (threadIdx.x % 2 == 0) out[threadIdx.x] += static_cast<float>(times);
}

extern "C" __global__ void faults(float* out, int times) { *reinterpret_cast<int*>(uint64_t{16}) = times; }
