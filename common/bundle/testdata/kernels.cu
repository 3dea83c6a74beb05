// One kernel for every shape that the cubin reader must understand; cubin_test.cc says what it expects of each.
#include <cuda.h>

#include <cstdio>

struct Packed {
  char a;
  double b;
  float* p;
};

struct Empty {};

struct Large {
  char c[20000];
};

__constant__ float coefficients[17];
__device__ int counter;
__device__ float table[4] = {1, 2, 3, 4};
static __device__ double hidden[3];

template <int N, typename T>
__global__ void templated(T* out, int n) {
  __shared__ T s[N];
  s[threadIdx.x % N] = out[threadIdx.x];
  __syncthreads();
  if (threadIdx.x < n) out[threadIdx.x] = s[(threadIdx.x + 1) % N] * (T)coefficients[n % 17];
}
template __global__ void templated<64, float>(float*, int);
template __global__ void templated<128, double>(double*, int);

namespace {
__global__ void anonymous(float* p, Packed q, bool b) {
  p[0] = q.b + (b ? 1 : 0) + hidden[threadIdx.x % 3];
  counter++;
}
}  // namespace

extern "C" __global__ void gemm(const float* a, const float* b, float* c, int m) {
  c[threadIdx.x] = a[threadIdx.x] * b[threadIdx.x] + m;
}

__global__ void __launch_bounds__(256, 2) bounded(int* p) { p[threadIdx.x] = threadIdx.x; }

__global__ void no_arguments() { counter = 1; }

__global__ void empty_struct(Empty e, float* p) { p[0] = 1; }

__global__ void static_variable(int* p) {
  static __device__ int calls;
  __shared__ alignas(1024) char s[3072];
  s[threadIdx.x] = p[threadIdx.x];
  __syncthreads();
  *p = atomicAdd(&calls, s[5]);
}

extern __shared__ float dynamic_shared[];
__global__ void dynamic(float* o) {
  dynamic_shared[threadIdx.x] = o[threadIdx.x];
  __syncthreads();
  o[threadIdx.x] = dynamic_shared[threadIdx.x ^ 1];
}

__device__ __noinline__ float deep(float* a, int n) {
  float buffer[100];
  for (int i = 0; i < n; i++) buffer[i % 100] = a[i];
  return buffer[n % 100];
}

__global__ void prints(float* a, int n) {
  a[0] = deep(a, n);
  printf("%d", n);
}

#if __CUDA_ARCH__ >= 900
__global__ void __cluster_dims__(2, 2, 1) clustered(float* p) {
  p[blockIdx.x] = table[threadIdx.x % 4];
  hidden[0] = 1;
}

__global__ void __cluster_dims__(4) __launch_bounds__(128, 1) tensor_map(const __grid_constant__ CUtensorMap map, int k,
                                                                         float* o) {
  o[k] = ((const int*)&map)[k];
}

__global__ void __block_size__((128, 1, 1), (2, 1, 1)) block_size(float* o) { o[0] = 1; }

__global__ void large(Large large, float* p) { p[threadIdx.x] = large.c[threadIdx.x]; }
#endif

// Keeps the kernel of the anonymous namespace.
void Use(float* p) { anonymous<<<1, 1>>>(p, {}, true); }
