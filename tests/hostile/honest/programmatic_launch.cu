// expect: CORRECT OK workload=gemm_n256_k256/M=64
// The second kernel may start while the first ends (programmatic dependent launch), and waits for its memory as it must.
#include <cuda_bf16.h>

#include <cstdint>

__global__ void products(const __nv_bfloat16* a, const __nv_bfloat16* b, float* sums) {
  const int64_t column = threadIdx.x, row = blockIdx.x;
  float sum = 0.f;
  for (int i = 0; i < 256; ++i) sum += __bfloat162float(a[row * 256 + i]) * __bfloat162float(b[column * 256 + i]);
  sums[row * 256 + column] = sum;
  asm volatile("griddepcontrol.launch_dependents;");
}

__global__ void round_sums(const float* sums, __nv_bfloat16* c) {
  asm volatile("griddepcontrol.wait;" ::: "memory");
  c[blockIdx.x * 256 + threadIdx.x] = __float2bfloat16(sums[blockIdx.x * 256 + threadIdx.x]);
}

extern "C" void run(const __nv_bfloat16* A, const __nv_bfloat16* B, __nv_bfloat16* C, int64_t M, cudaStream_t stream) {
  float* sums = nullptr;
  cudaMallocAsync(reinterpret_cast<void**>(&sums), M * 256 * sizeof(float), stream);
  products<<<M, 256, 0, stream>>>(A, B, sums);
  cudaLaunchAttribute attribute = {};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(M);
  config.blockDim = dim3(256);
  config.stream = stream;
  config.attrs = &attribute;
  config.numAttrs = 1;
  cudaLaunchKernelEx(&config, round_sums, static_cast<const float*>(sums), C);
  cudaFreeAsync(sums, stream);
}
