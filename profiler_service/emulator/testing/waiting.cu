// Kernels that wait: some for ever, some for what comes late. None of the honest ones may be taken for endless.
#include <cooperative_groups.h>

namespace cg = cooperative_groups;

// ---- endless ----

extern "C" __global__ void spin_for_nobody(volatile int* flag) {
  if (threadIdx.x == 0) {
    while (*flag == 0) {
    }
  }
  __syncthreads();
  flag[1] = 1;
}
extern "C" __global__ void spin_with_plain_loads(int* flag) {
  int seen = 0;
  do {
    asm volatile("ld.global.u32 %0, [%1];" : "=r"(seen) : "l"(flag));
  } while (seen == 0);
  flag[1] = seen;
}
extern "C" __global__ void lock_never_freed(int* lock, int* out) {
  while (atomicCAS(lock, 0, 1) != 0) __nanosleep(100);
  out[threadIdx.x] = 1;
}
extern "C" __global__ void writes_for_ever(int* out) {
  for (int i = 0;; i ^= 1) *(volatile int*)out = i;
}
extern "C" __global__ void counts_wrongly(float* out, int n) {
  float sum = 0;
  for (unsigned char i = 0; i < n; ++i) sum += out[i & 15];  // n > 255: i wraps
  out[threadIdx.x] = sum;
}
__device__ __noinline__ int step(int x) { return x == 3 ? 0 : x + 1; }
extern "C" __global__ void calls_for_ever(int* out) {
  int x = threadIdx.x & 3;
  while (x != 77) x = step(x);
  *out = x;
}
extern "C" __global__ void waits_for_a_later_wave(int* arrived) {
  if (threadIdx.x == 0) {
    atomicAdd(arrived, 1);
    while (atomicAdd(arrived, 0) < gridDim.x) {
    }
  }
  __syncthreads();
}

// ---- honest ----

// Block 0 computes for long, without touching memory, before it sets the flag for which all others spin.
extern "C" __global__ void flag_comes_late(volatile int* flag, float* out, int steps) {
  float x = 1;
  if (blockIdx.x == gridDim.x - 1) {
    for (int i = 0; i < steps; ++i) x = x * 0.5f + 0.25f;
    if (threadIdx.x == 0) *flag = x != 3.0f;
  } else {
    while (*flag == 0) {
    }
  }
  out[blockIdx.x] = x;
}
// The same between the warps of one block, through shared memory.
extern "C" __global__ void warp_comes_late(float* out, int steps) {
  __shared__ volatile int flag;
  if (threadIdx.x == 0) flag = 0;
  __syncthreads();
  float x = 1;
  if (threadIdx.x / 32 == 1) {
    for (int i = 0; i < steps; ++i) x = x * 0.5f + 0.25f;
    __syncwarp();
    if (threadIdx.x == 32) flag = x != 3.0f;
  } else {
    while (flag == 0) {
    }
  }
  __syncthreads();
  out[threadIdx.x] = x;
}
// A barrier of the whole grid, many times, with long ways between.
extern "C" __global__ void spin_barrier(volatile int* arrived, float* out, int rounds, int steps) {
  float x = threadIdx.x;
  for (int round = 1; round <= rounds; ++round) {
    if (blockIdx.x == round % gridDim.x) {
      for (int i = 0; i < steps; ++i) x = x * 0.5f + 0.25f;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
      __threadfence();
      atomicAdd((int*)arrived, 1);
      while (*arrived < round * gridDim.x) {
      }
    }
    __syncthreads();
  }
  out[blockIdx.x] = x;
}
extern "C" __global__ void grid_barriers(int* data, int rounds) {
  cg::grid_group grid = cg::this_grid();
  for (int i = 0; i < rounds; ++i) {
    if (grid.thread_rank() == (i % grid.size())) ++*data;
    grid.sync();
  }
}
// Split-K: the parts of a tile are added in order, each block waits for its turn.
extern "C" __global__ void split_k_in_order(int* turn, float* out, int steps) {
  float x = 1;
  for (int i = 0; i < steps; ++i) x = x * 0.5f + 0.5f;
  if (threadIdx.x == 0) {
    while (atomicAdd(turn, 0) != gridDim.x - 1 - blockIdx.x) {
    }
    *(volatile float*)out = *(volatile float*)out + x;
    __threadfence();
    atomicAdd(turn, 1);
  }
  __syncthreads();
}
extern "C" __global__ void waits_by_the_clock(unsigned long long* out, unsigned long long ns) {
  unsigned long long begin, now;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(begin));
  bool early;
  do {
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
    early = now - begin < ns;
    now = 0;
  } while (early);
  *out = 1;
}
// Long loops that look alike from lap to lap: only a count in a register moves on.
extern "C" __global__ void long_count(unsigned* out, unsigned n) {
  unsigned hash = 1;
  for (unsigned i = 0; i < n; ++i) {
    hash = hash * 1664525u + 1013904223u;
    asm volatile("" : "+r"(hash));
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = hash;
}
// The count is kept in local memory only.
extern "C" __global__ void local_count(int* out, int n) {
  volatile int local[4] = {0, 0, 0, 0};
  while (local[threadIdx.x & 3] < n) ++local[threadIdx.x & 3];
  out[threadIdx.x] = local[threadIdx.x & 3];
}

// ---- the estimate ----

// Work of block i: steps where `heavy` divides i, else next to nothing.
extern "C" __global__ void uneven(float* out, int steps, int heavy) {
  float x = threadIdx.x;
  if (blockIdx.x % heavy == 0) {
    for (int i = 0; i < steps; ++i) x = x * 0.5f + 0.25f;
  }
  out[threadIdx.x] = x;
}
// As with a causal mask: work falls with the block's index.
extern "C" __global__ void falling(float* out, int steps) {
  float x = threadIdx.x;
  for (int i = blockIdx.x * (steps / gridDim.x); i < steps; ++i) x = x * 0.5f + 0.25f;
  out[threadIdx.x] = x;
}
