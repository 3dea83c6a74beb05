// expect: CORRECT OK workload=gemm_n256_k256/M=64
// A parameter struct whose padding is never initialised: whatever the stack held before must not look like a kept pointer.
#include <cuda_bf16.h>

#include <cstdint>

struct Operand {
  const __nv_bfloat16* data;
  char layout;  // seven bytes of padding follow
};
struct Arguments {
  Operand a, b;
  char flags;
  __nv_bfloat16* c;
  int k;  // four bytes of padding follow
};

__global__ void gemm(Arguments arguments) {
  const int64_t column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y;
  float sum = 0.f;
  for (int i = 0; i < arguments.k; ++i) {
    sum += __bfloat162float(arguments.a.data[row * arguments.k + i]) * __bfloat162float(arguments.b.data[column * arguments.k + i]);
  }
  arguments.c[row * 256 + column] = __float2bfloat16(sum);
}

extern "C" void run(const __nv_bfloat16* A, const __nv_bfloat16* B, __nv_bfloat16* C, int64_t M, cudaStream_t stream) {
  Arguments arguments;
  arguments.a.data = A;
  arguments.a.layout = 'r';
  arguments.b.data = B;
  arguments.b.layout = 'c';
  arguments.flags = 0;
  arguments.c = C;
  arguments.k = 256;
  gemm<<<dim3(2, M), 128, 0, stream>>>(arguments);
}
