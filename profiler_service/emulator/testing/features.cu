// What plain CUDA C++ uses besides arithmetic: calls, divergence, atomics, warps, grids, printf.
#include <cooperative_groups.h>
#include <cuda_fp16.h>
#include <cuda_bf16.h>

#include <cassert>
#include <cstdio>

namespace cg = cooperative_groups;

struct Scale {
  char tag;
  int shift;
  double factor;
  float values[3];
};

__constant__ float table[16] = {1, 2, 3, 4};
__device__ int counter = 5;

__device__ __noinline__ float apply(float x, Scale s) { return x * s.values[1] + sinf(x) + s.shift; }
extern "C" __global__ void call_struct(Scale s, float* out) {
  out[threadIdx.x] = apply(table[threadIdx.x], s) + (float)s.factor;
  atomicAdd(&counter, 1);
}

__device__ int add_one(int x) { return x + 1; }
__device__ int twice(int x) { return x * 2; }
using Function = int (*)(int);
__device__ Function functions[2] = {add_one, twice};
extern "C" __global__ void call_indirect(int* io) { io[threadIdx.x] = functions[threadIdx.x & 1](io[threadIdx.x]); }

__device__ __noinline__ int factorial(int n) { return n <= 1 ? 1 : n * factorial(n - 1); }
extern "C" __global__ void recurse(int* io) { io[threadIdx.x] = factorial(io[threadIdx.x]); }

extern "C" __global__ void diverge(int* out) {
  int x = threadIdx.x, steps = 0;
  while (x != 1 && steps < 200) {
    x = x % 2 ? 3 * x + 1 : x / 2;
    if (x == 0) break;
    ++steps;
  }
  switch (threadIdx.x % 5) {
    case 0: steps += 100; break;
    case 1: steps *= 2; break;
    case 2: steps = -steps; break;
    case 3: if (steps > 10) return;
    default: steps ^= 1;
  }
  out[threadIdx.x] = steps;
}

// A spin lock between threads of one warp: needs every thread to make progress.
extern "C" __global__ void spin_lock(int* lock, int* sum) {
  bool done = false;
  while (!done) {
    if (atomicCAS(lock, 0, 1) == 0) {
      *(volatile int*)sum = *(volatile int*)sum + 1;
      __threadfence();
      atomicExch(lock, 0);
      done = true;
    }
  }
}
extern "C" __global__ void spin_lock_naked(int* lock, int* sum) {
  while (atomicCAS(lock, 0, 1) != 0) {
  }
  *(volatile int*)sum = *(volatile int*)sum + 1;
  __threadfence();
  atomicExch(lock, 0);
}

extern "C" __global__ void block_reduce(const float* in, float* out) {
  __shared__ float partial[32];
  float v = in[blockIdx.x * blockDim.x + threadIdx.x];
  for (int d = 16; d > 0; d /= 2) v += __shfl_xor_sync(~0u, v, d);
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = v;
  __syncthreads();
  if (threadIdx.x < 32) {
    v = threadIdx.x < blockDim.x / 32 ? partial[threadIdx.x] : 0;
    for (int d = 16; d > 0; d /= 2) v += __shfl_down_sync(~0u, v, d);
    if (threadIdx.x == 0) atomicAdd(out, v);
  }
}

extern "C" __global__ void tree_reduce(const float* in, float* out) {
  extern __shared__ float tree[];
  tree[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  for (int d = blockDim.x / 2; d > 0; d /= 2) {
    if (threadIdx.x < d) tree[threadIdx.x] += tree[threadIdx.x + d];
    __syncthreads();
  }
  if (threadIdx.x == 0) *out = tree[0];
}

// The last block to arrive adds the partial sums up: a semaphore that waits for nobody.
extern "C" __global__ void split_sum(const float* in, float* partial, int* arrived, float* out) {
  __shared__ bool last;
  float v = in[blockIdx.x * blockDim.x + threadIdx.x];
  for (int d = 16; d > 0; d /= 2) v += __shfl_xor_sync(~0u, v, d);
  if (threadIdx.x == 0) {
    partial[blockIdx.x] = v;
    __threadfence();
    last = atomicAdd(arrived, 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (last && threadIdx.x == 0) {
    float sum = 0;
    for (int i = 0; i < gridDim.x; ++i) sum += ((volatile float*)partial)[i];
    *out = sum;
  }
}

// Blocks take turns in order: each waits for the one before it (a serial split-K).
extern "C" __global__ void in_order(int* turn, float* out) {
  if (threadIdx.x == 0) {
    while (atomicAdd(turn, 0) != blockIdx.x) {
    }
    *(volatile float*)out = *(volatile float*)out * 2 + blockIdx.x;
    __threadfence();
    atomicAdd(turn, 1);
  }
  __syncthreads();
}

extern "C" __global__ void grid_sync(int* data, int* out) {
  auto grid = cg::this_grid();
  int rank = (int)grid.thread_rank(), size = (int)grid.size();
  data[rank] = rank;
  grid.sync();
  int next = data[(rank + blockDim.x) % size];
  grid.sync();
  out[rank] = next;
}

extern "C" __global__ void print_and_check(int limit) {
  if (threadIdx.x == 0) printf("block %d of %u: %5.2f %s %c %lld%%\n", blockIdx.x, gridDim.x, 2.5, "text", 'x', 1ll << 40);
  assert((int)threadIdx.x < limit);
}
extern "C" __global__ void trap_on(int thread) {
  if (threadIdx.x == thread) __trap();
}

extern "C" __global__ void warp_wide(unsigned* out) {
  unsigned lane = threadIdx.x;
  unsigned ballot = __ballot_sync(~0u, lane % 3 == 0);
  unsigned match = __match_any_sync(~0u, lane % 4);
  unsigned sum = __reduce_add_sync(~0u, lane);
  int up = __shfl_up_sync(~0u, (int)lane, 3);
  int narrow = __shfl_sync(~0u, (int)lane, 5, 8);
  unsigned odd = 0;
  if (lane & 1) odd = __activemask();
  __syncwarp();
  out[lane * 6] = ballot;
  out[lane * 6 + 1] = match;
  out[lane * 6 + 2] = sum;
  out[lane * 6 + 3] = up;
  out[lane * 6 + 4] = narrow;
  out[lane * 6 + 5] = odd;
}

extern "C" __global__ void barriers(int* out) {
  int early = threadIdx.x >= 96;
  if (early) return;  // a warp that leaves is not waited for
  int votes = __syncthreads_count(threadIdx.x % 2);
  int all = __syncthreads_and(threadIdx.x < 96);
  out[threadIdx.x] = votes * 10 + (all != 0);
}

// A struct with padding, copied whole through shared memory and local memory.
struct __align__(16) Padded {
  float x;
  char c;
  double y;
};
extern "C" __global__ void copy_padded(const float* in, float* out, Padded* kept) {
  __shared__ Padded items[64];
  Padded mine;
  mine.x = in[threadIdx.x];
  mine.c = (char)threadIdx.x;
  mine.y = in[threadIdx.x] * 2;
  items[threadIdx.x] = mine;
  __syncthreads();
  Padded other = items[63 - threadIdx.x];
  kept[threadIdx.x] = other;
  out[threadIdx.x] = other.x + other.c + (float)other.y;
}

extern "C" __global__ void halves(const float* in, __half* h, __nv_bfloat162* b) {
  int i = threadIdx.x;
  __half x = __float2half(in[i]), y = __float2half(in[i + 32]);
  h[i * 4] = __hadd(x, y);
  h[i * 4 + 1] = __hfma(x, y, __hmul(x, x));
  h[i * 4 + 2] = hexp2(x);
  h[i * 4 + 3] = __hgt(x, y) ? x : y;
  __nv_bfloat162 p = __floats2bfloat162_rn(in[i], in[i + 32]);
  b[i] = __hfma2(p, p, p);
}
// The arms of a branch make each warp-wide instruction together: same qualifiers, same mask, other places.
extern "C" __global__ void warp_wide_in_both_arms(unsigned* out) {
  const unsigned lane = threadIdx.x, full = 0xffffffff;
  unsigned shuffled = 0, votes = 0, alike = 0, sum = 0;
  bool inside = false;
  if (lane % 3 == 0) {
    const unsigned value = 1000 + lane;
    for (unsigned i = 0; i < lane; ++i) sum = sum * 3 + i;
    asm volatile("{ .reg .pred p; shfl.sync.down.b32 %0|p, %2, 5, 31, 0xffffffff; selp.u32 %1, 1, 0, p; }"
                 : "=r"(shuffled), "=r"(sum)
                 : "r"(value));
    inside = sum != 0;
    asm volatile("{ .reg .pred p; setp.lt.u32 p, %1, 8; vote.sync.ballot.b32 %0, p, 0xffffffff; }"
                 : "=r"(votes)
                 : "r"(lane));
    asm volatile("match.any.sync.b32 %0, %1, 0xffffffff;" : "=r"(alike) : "r"(lane / 4));
    asm volatile("redux.sync.add.u32 %0, %1, %2;" : "=r"(sum) : "r"(lane), "r"(full));
  } else {
    const unsigned value = 2000 + 2 * lane;
    asm volatile("{ .reg .pred p; shfl.sync.down.b32 %0|p, %2, %3, 31, 0xffffffff; selp.u32 %1, 1, 0, p; }"
                 : "=r"(shuffled), "=r"(sum)
                 : "r"(value), "r"(5));
    inside = sum != 0;
    asm volatile("{ .reg .pred p; setp.ge.u32 p, %1, 8; vote.sync.ballot.b32 %0, !p, 0xffffffff; }"
                 : "=r"(votes)
                 : "r"(lane));
    asm volatile("match.any.sync.b32 %0, %1, 0xffffffff;" : "=r"(alike) : "r"(lane / 4));
    asm volatile("redux.sync.add.u32 %0, %1, %2;" : "=r"(sum) : "r"(lane), "r"(full));
    shuffled *= 10;
  }
  out[lane * 5] = shuffled;
  out[lane * 5 + 1] = inside;
  out[lane * 5 + 2] = votes;
  out[lane * 5 + 3] = alike;
  out[lane * 5 + 4] = sum;
}
// Not aligned: the lanes of a warp may wait at different instructions.
extern "C" __global__ void barrier_in_both_arms(int* out) {
  __shared__ int box[64];
  if (threadIdx.x % 2) {
    box[threadIdx.x] = threadIdx.x;
    asm volatile("barrier.sync 1;" ::: "memory");
    out[threadIdx.x] = box[threadIdx.x ^ 33];
  } else {
    box[threadIdx.x] = threadIdx.x + 100;
    asm volatile("barrier.sync 1;" ::: "memory");
    out[threadIdx.x] = box[threadIdx.x ^ 33] * 2;
  }
}
