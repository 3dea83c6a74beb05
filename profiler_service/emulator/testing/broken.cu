// Kernels with one mistake each; the tests say which finding each must draw. The lines marked FAULT are where.
extern "C" __global__ void store_past_end(float* C, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i <= n) C[i] = 1.0f;  // FAULT store_past_end
}
extern "C" __global__ void load_before_start(const float* A, float* C) {
  C[threadIdx.x] = A[(int)threadIdx.x - 1];  // FAULT load_before_start
}
extern "C" __global__ void read_unwritten(const float* workspace, float* C) {
  C[threadIdx.x] = workspace[threadIdx.x] * 2.0f;  // FAULT read_unwritten
}
extern "C" __global__ void branch_on_unwritten(const int* workspace, float* C) {
  if (workspace[0] > 3) C[threadIdx.x] = 1.0f;  // FAULT branch_on_unwritten
}
extern "C" __global__ void missing_barrier(const float* A, float* C) {
  __shared__ float tile[128];
  tile[threadIdx.x] = A[threadIdx.x];  // FAULT missing_barrier
  C[threadIdx.x] = tile[127 - threadIdx.x];
}
extern "C" __global__ void missing_second_barrier(const float* A, float* C) {
  __shared__ float tile[64];
  float sum = 0;
  for (int t = 0; t < 4; ++t) {
    tile[threadIdx.x] = A[t * 64 + threadIdx.x];
    __syncthreads();
    for (int i = 0; i < 64; ++i) sum += tile[i];
  }
  C[threadIdx.x] = sum;
}
extern "C" __global__ void shared_past_end(float* C) {
  __shared__ float tile[64];
  tile[threadIdx.x + 1] = 1.0f;  // FAULT shared_past_end
  __syncthreads();
  C[threadIdx.x] = tile[1];
}
extern "C" __global__ void shared_unwritten(float* C) {
  __shared__ float tile[64];
  if (threadIdx.x < 32) tile[threadIdx.x] = 1.0f;
  __syncthreads();
  C[threadIdx.x] = tile[threadIdx.x] + 1.0f;  // FAULT shared_unwritten
}
extern "C" __global__ void misaligned(float* C) {
  *reinterpret_cast<double*>(C + 1) = 1.0;  // FAULT misaligned
}
extern "C" __global__ void divergent_barrier(float* C) {
  if (threadIdx.x % 2 == 0) {
    C[threadIdx.x] = 1.0f;
    asm volatile("bar.sync 0;");
  } else {
    C[threadIdx.x] = 2.0f;
    asm volatile("bar.sync 0;");
    C[threadIdx.x] += 1.0f;
  }
}
extern "C" __global__ void never_reached_barrier(float* C) {
  if (threadIdx.x < 96) {
    __syncthreads();
  } else {
    asm volatile("bar.sync 1, 64;");
  }
  C[threadIdx.x] = 1.0f;
}
extern "C" __global__ void endless(volatile int* flag) {
  while (*flag == 0) {
  }
}
extern "C" __global__ void endless_compute(float* C) {
  float x = C[0];
  while (x != 2.0f) x = x * 0.5f + 0.25f;
  C[1] = x;
}
extern "C" __global__ void slow(float* C, int steps) {
  float x = threadIdx.x;
  for (int i = 0; i < steps; ++i) x = x * 0.5f + 0.25f;
  C[blockIdx.x * blockDim.x + threadIdx.x] = x;
}
extern "C" __global__ void heap(int** out) { *out = static_cast<int*>(malloc(16)); }

// ---- asynchronous copies ----

static __device__ void copy16(void* to, const void* from) {
  unsigned address = (unsigned)__cvta_generic_to_shared(to);
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(address), "l"(from) : "memory");
}
static __device__ void commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int kLeft>
static __device__ void wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kLeft) : "memory");
}
extern "C" __global__ void copy_read_too_early(const float4* A, float4* C) {
  __shared__ float4 tile[128];
  copy16(&tile[threadIdx.x], &A[threadIdx.x]);
  commit();
  C[threadIdx.x] = *(volatile float*)&tile[threadIdx.x] > 0 ? tile[threadIdx.x] : A[0];  // FAULT copy_read_too_early
  wait<0>();
}
extern "C" __global__ void copy_waits_for_the_wrong_group(const float4* A, float4* C) {
  __shared__ float4 tile[2][64];
  copy16(&tile[0][threadIdx.x], &A[threadIdx.x]);
  commit();
  copy16(&tile[1][threadIdx.x], &A[64 + threadIdx.x]);
  commit();
  wait<1>();
  __syncthreads();
  C[threadIdx.x] = tile[1][63 - threadIdx.x];  // FAULT copy_waits_for_the_wrong_group
  wait<0>();
}
extern "C" __global__ void copy_without_barrier(const float4* A, float4* C) {
  __shared__ float4 tile[64];
  copy16(&tile[threadIdx.x], &A[threadIdx.x]);
  commit();
  wait<0>();
  C[threadIdx.x] = tile[63 - threadIdx.x];  // FAULT copy_without_barrier
}
extern "C" __global__ void copy_destination_written(const float4* A, float4* C) {
  __shared__ float4 tile[64];
  copy16(&tile[threadIdx.x], &A[threadIdx.x]);
  tile[threadIdx.x].x = 7;  // FAULT copy_destination_written
  wait<0>();
  asm volatile("cp.async.wait_all;" ::: "memory");
  __syncthreads();
  C[threadIdx.x] = tile[63 - threadIdx.x];
}
extern "C" __global__ void copy_source_written(float4* A, float4* C) {
  __shared__ float4 tile[64];
  copy16(&tile[threadIdx.x], &A[threadIdx.x]);
  A[threadIdx.x].y = 9;  // FAULT copy_source_written
  asm volatile("cp.async.wait_all;" ::: "memory");
  __syncthreads();
  C[threadIdx.x] = tile[63 - threadIdx.x];
}
// The next tile is fetched into the buffer that others still read; the barrier comes too late.
extern "C" __global__ void copy_overwrites_what_others_read(const float4* A, float4* C, int tiles) {
  __shared__ float4 tile[64];
  float4 sum = A[0];
  for (int t = 0; t < tiles; ++t) {
    copy16(&tile[threadIdx.x], &A[t * 64 + threadIdx.x]);
    commit();
    if (t > 0) __syncthreads();
    wait<0>();
    __syncthreads();
    sum.x += tile[63 - threadIdx.x].x;  // FAULT copy_overwrites_what_others_read
  }
  C[threadIdx.x] = sum;
}
// Honest: three buffers, two groups under way.
extern "C" __global__ void copy_pipeline(const float4* A, float4* C, int tiles) {
  __shared__ float4 tile[3][64];
  float4 sum = {0, 0, 0, 0};
  for (int t = 0; t < 2; ++t) {
    if (t < tiles) copy16(&tile[t][threadIdx.x], &A[t * 64 + threadIdx.x]);
    commit();
  }
  for (int t = 0; t < tiles; ++t) {
    wait<1>();
    __syncthreads();
    if (t + 2 < tiles) copy16(&tile[(t + 2) % 3][threadIdx.x], &A[(t + 2) * 64 + threadIdx.x]);
    commit();
    sum.x += tile[t % 3][63 - threadIdx.x].x;
    C[t * 64 + threadIdx.x] = sum;
  }
}
// Honest: each thread reads only what it has copied, and waits for.
extern "C" __global__ void copy_own(const float4* A, float4* C, int take) {
  __shared__ float4 tile[64];
  unsigned address = (unsigned)__cvta_generic_to_shared(&tile[threadIdx.x]);
  asm volatile(
      "{ .reg .pred p; setp.ne.s32 p, %2, 0; cp.async.cg.shared.global [%0], [%1], 16, p; }" ::"r"(address),
      "l"(A + threadIdx.x), "r"((int)threadIdx.x >= take ? 1 : 0)
      : "memory");
  asm volatile("cp.async.wait_all;" ::: "memory");
  C[threadIdx.x] = tile[threadIdx.x];
}

// ---- lanes that meet from different places ----

extern "C" __global__ void meet_in_both_arms(int* out) {
  __shared__ volatile int box[32];
  int lane = threadIdx.x, got;
  if (lane % 2 == 0) {
    box[lane] = lane * 10;
    asm volatile("bar.warp.sync 0xffffffff;" ::: "memory");
    got = box[lane + 1] + 1;
    asm volatile("bar.warp.sync 0xffffffff;" ::: "memory");
  } else {
    box[lane] = lane * 100;
    asm volatile("bar.warp.sync 0xffffffff;" ::: "memory");
    asm volatile("bar.warp.sync 0xffffffff;" ::: "memory");
    got = box[lane - 1] + 2;
  }
  out[lane] = got;
}
extern "C" __global__ void meet_with_other_masks(int* out) {
  if (threadIdx.x % 2 == 0) {
    asm volatile("bar.warp.sync 0xffffffff;" ::: "memory");  // FAULT meet_with_other_masks
    out[threadIdx.x] = 1;
  } else {
    asm volatile("bar.warp.sync 0xfffffffe;" ::: "memory");
    out[threadIdx.x] = 2;
  }
}

// Other qualifiers: the arms wait for one another in vain.
extern "C" __global__ void shuffle_otherwise_in_the_other_arm(int* out) {
  int value = threadIdx.x;
  if (threadIdx.x % 2) {
    asm volatile("shfl.sync.up.b32 %0, %0, 1, 0, 0xffffffff;" : "+r"(value));
  } else {
    asm volatile("shfl.sync.bfly.b32 %0, %0, 1, 31, 0xffffffff;" : "+r"(value));
    value *= 2;
  }
  out[threadIdx.x] = value;
}

// ---- inputs ----

extern "C" __global__ void input_put_back(volatile int* A, int* C) {
  const int kept = A[threadIdx.x];
  A[threadIdx.x] = threadIdx.x + 100;  // FAULT input_put_back
  C[threadIdx.x] = A[threadIdx.x];
  A[threadIdx.x] = kept;
}
extern "C" __global__ void input_left_as_it_is(volatile int* A, int* C) {
  A[threadIdx.x] = 5;
  C[threadIdx.x] = atomicAdd((int*)&A[threadIdx.x], 0);
}
extern "C" __global__ void input_counted_in(int* A) { atomicAdd(A, threadIdx.x == 7 ? 1 : 0); }

// ---- volatile ----

// Each warp takes the box for its own: volatile makes no order among them.
extern "C" __global__ void volatile_box(int* out) {
  __shared__ volatile int box;
  box = threadIdx.x / 32;  // FAULT volatile_box
  out[threadIdx.x] = box;
}
// Honest: a flag handed to and fro, and one that all set to the same value.
extern "C" __global__ void volatile_flags(int* out, int rounds) {
  __shared__ volatile int turn, seen;
  __shared__ int sum;
  if (threadIdx.x == 0) turn = seen = sum = 0;
  __syncthreads();
  int warp = threadIdx.x / 32, warps = blockDim.x / 32;
  for (int round = 0; round < rounds; ++round) {
    if (threadIdx.x % 32 == 0) {
      while (turn != round * warps + warp) {
      }
      sum = sum + warp;
      __threadfence_block();
      turn = round * warps + warp + 1;
    }
  }
  seen = 1;
  __syncthreads();
  out[threadIdx.x] = sum + seen;
}
