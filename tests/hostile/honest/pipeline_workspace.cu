// expect: CORRECT OK workload=gemm_n256_k256/M=64
// Two kernels over an allocated workspace, a memset, a __constant__ upload, templates, a struct parameter and a cooperative launch.
#include <cooperative_groups.h>
#include <cuda_bf16.h>

#include <cstdint>

namespace cg = cooperative_groups;

struct Problem {
  int64_t m, n, k;
  float alpha;
};
__constant__ Problem constant_problem;

template <int kSplits>
__global__ void partial_products(const __nv_bfloat16* a, const __nv_bfloat16* b, float* workspace, Problem problem) {
  const int64_t column = blockIdx.x * blockDim.x + threadIdx.x;
  const int64_t row = blockIdx.y;
  const int64_t begin = problem.k / kSplits * blockIdx.z, end = problem.k / kSplits * (blockIdx.z + 1);
  float sum = 0.f;
  for (int64_t i = begin; i < end; ++i) {
    sum += __bfloat162float(a[row * problem.k + i]) * __bfloat162float(b[column * problem.k + i]);
  }
  atomicAdd(&workspace[row * problem.n + column], sum);
}

template <typename Out>
__global__ void scale_and_round(const float* workspace, Out* c) {
  cg::grid_group grid = cg::this_grid();
  grid.sync();
  const int64_t total = constant_problem.m * constant_problem.n;
  for (int64_t i = grid.thread_rank(); i < total; i += grid.size()) c[i] = Out(workspace[i] * constant_problem.alpha);
}

extern "C" void run(const __nv_bfloat16* A, const __nv_bfloat16* B, __nv_bfloat16* C, int64_t M, cudaStream_t stream) {
  Problem problem{M, 256, 256, 1.0f};
  float* workspace = nullptr;
  cudaMallocAsync(reinterpret_cast<void**>(&workspace), M * 256 * sizeof(float), stream);
  cudaMemsetAsync(workspace, 0, M * 256 * sizeof(float), stream);
  cudaMemcpyToSymbolAsync(constant_problem, &problem, sizeof(problem), 0, cudaMemcpyHostToDevice, stream);
  partial_products<4><<<dim3(2, M, 4), 128, 0, stream>>>(A, B, workspace, problem);
  const float* input = workspace;
  void* arguments[] = {&input, &C};
  cudaLaunchCooperativeKernel(reinterpret_cast<void*>(scale_and_round<__nv_bfloat16>), dim3(4), dim3(128), arguments, 0, stream);
  cudaFreeAsync(workspace, stream);
}
