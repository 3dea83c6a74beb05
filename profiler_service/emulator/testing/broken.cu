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
