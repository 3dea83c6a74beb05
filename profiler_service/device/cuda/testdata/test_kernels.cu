// Kernels of the GPU tests: each does what its name says.
#include <cassert>
#include <cstdio>

__constant__ int table[4];
__device__ int counter;

extern "C" __global__ void add(const float* a, const float* b, float* c, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}

extern "C" __global__ void read_symbols(int* out) {
  out[threadIdx.x] = table[threadIdx.x] + counter;
}

extern "C" __global__ void use_dynamic_shared(int* out, int words) {
  extern __shared__ int shared[];
  for (int i = threadIdx.x; i < words; i += blockDim.x) shared[i] = i;
  __syncthreads();
  if (threadIdx.x == 0) *out = shared[words - 1];
}

extern "C" __global__ void blocks_in_cluster(unsigned* out) {
  unsigned blocks;
  asm volatile("mov.u32 %0, %%cluster_nctarank;" : "=r"(blocks));
  if (blockIdx.x == 0 && threadIdx.x == 0) *out = blocks;
}

extern "C" __global__ void spins_for_ever() {
  for (;;) __nanosleep(1000);
}

extern "C" __global__ void stores_far_away(int* p) { p[1ll << 40] = 1; }

extern "C" __global__ void stores_past_the_end(short* p, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i <= n) p[i] = 1;
}

extern "C" __global__ void stores_misaligned(char* p) { *reinterpret_cast<int*>(p + 1) = 1; }

extern "C" __global__ void traps() { __trap(); }

extern "C" __global__ void fails_an_assert(int value) { assert(value == 0); }

extern "C" __global__ void prints() { printf("hello from thread %d\n", threadIdx.x); }

// The device heap has 8 MiB; then malloc gives null, and the store faults.
extern "C" __global__ void exhausts_the_heap() {
  for (;;) *static_cast<volatile int*>(malloc(1 << 20)) = 1;
}

extern "C" __global__ void floods_printf() {
  for (int i = 0; i < 200; ++i) printf("thread %d says a line that is there to fill the buffer, %d times\n", threadIdx.x, i);
}

extern "C" __global__ void races(int* out) {
  __shared__ int tile[256];
  tile[threadIdx.x] = threadIdx.x;
  out[threadIdx.x] = tile[255 - threadIdx.x];
}

extern "C" __global__ void syncs_without_itself(int* out) {
  if (threadIdx.x < 16) {
    __syncwarp(0xffff0000u);
    out[threadIdx.x] = 1;
  }
}

extern "C" __global__ void waits_for_nobody(int* out) {
  if (threadIdx.x >= 32) {
    volatile int* flag = out;
    while (flag[1] != 0x5a5a5a5a) {
    }
  }
  __syncthreads();
  out[0] = 1;
}
