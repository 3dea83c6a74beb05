// expect: CORRECT OK workload=gemm_n256_k256/M=64
// Printing leaves glibc's random stack canary where the next struct's padding lies: still the same work in every process.
#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>

struct Shape {
  struct {
    char used;
    double scale;
  } columns[64];
  int64_t k;
};

__global__ void gemm(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c, Shape shape) {
  const int64_t column = threadIdx.x, row = blockIdx.x;
  float sum = 0.f;
  for (int64_t i = 0; i < shape.k; ++i) sum += __bfloat162float(a[row * 256 + i]) * __bfloat162float(b[column * 256 + i]);
  c[row * 256 + column] = __float2bfloat16(sum * static_cast<float>(shape.columns[column % 64].scale));
}

__attribute__((noinline)) static void Log(int64_t rows) {
  char line[512];
  std::snprintf(line, sizeof line, "%lld rows, %f %e", static_cast<long long>(rows), 1.5, 2.5);
  std::puts(line);
}

__attribute__((noinline)) static void Launch(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c, int64_t rows,
                                             cudaStream_t stream) {
  Shape shape;
  for (auto& column : shape.columns) {
    column.used = 1;
    column.scale = 1;
  }
  shape.k = 256;
  gemm<<<static_cast<unsigned>(rows), 256, 0, stream>>>(a, b, c, shape);
}

extern "C" void run(const __nv_bfloat16* A, const __nv_bfloat16* B, __nv_bfloat16* C, int64_t M, cudaStream_t stream) {
  Log(M);
  Launch(A, B, C, M, stream);
}
