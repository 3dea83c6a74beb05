// Calls a CUDA library; declared by hand, since a small toolkit has no header of it.
#include <cuda_bf16.h>

#include <cstdint>

extern "C" int cublasCreate_v2(void** handle);

__global__ void kernel(__nv_bfloat16* c) { c[0] = c[1]; }

extern "C" void run(const __nv_bfloat16* A, const __nv_bfloat16* B, __nv_bfloat16* C, int64_t M, cudaStream_t stream) {
  void* handle = nullptr;
  cublasCreate_v2(&handle);
  kernel<<<1, 1, 0, stream>>>(C);
}
