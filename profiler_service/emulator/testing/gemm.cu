// Matrix products, from naive to tensor cores: C[M,N] = A[M,K] B[N,K]^T in bf16, or f32 where the name says so.
#include <cuda_bf16.h>
#include <cuda_pipeline.h>
#include <mma.h>

#include <cstdint>

using bf16 = __nv_bfloat16;

extern "C" __global__ void gemm_naive(const bf16* A, const bf16* B, bf16* C, int M, int N, int K) {
  int n = blockIdx.x * blockDim.x + threadIdx.x, m = blockIdx.y * blockDim.y + threadIdx.y;
  if (m >= M || n >= N) return;
  float sum = 0;
  for (int k = 0; k < K; ++k) sum += __bfloat162float(A[m * K + k]) * __bfloat162float(B[n * K + k]);
  C[m * N + n] = __float2bfloat16(sum);
}

extern "C" __global__ void gemm_tiled_f32(const float* A, const float* B, float* C, int n) {
  __shared__ float a[16][16], b[16][16];
  int x = threadIdx.x, y = threadIdx.y;
  float sum = 0;
  for (int t = 0; t < n / 16; ++t) {
    a[y][x] = A[(blockIdx.y * 16 + y) * n + t * 16 + x];
    b[y][x] = B[(t * 16 + y) * n + blockIdx.x * 16 + x];
    __syncthreads();
    for (int k = 0; k < 16; ++k) sum += a[y][k] * b[k][x];
    __syncthreads();
  }
  C[(blockIdx.y * 16 + y) * n + blockIdx.x * 16 + x] = sum;
}

// One 16x16 tile per warp.
extern "C" __global__ void gemm_wmma(const bf16* A, const bf16* B, float* C, int N, int K) {
  using namespace nvcuda::wmma;
  fragment<matrix_a, 16, 16, 16, bf16, row_major> a;
  fragment<matrix_b, 16, 16, 16, bf16, col_major> b;
  fragment<accumulator, 16, 16, 16, float> c;
  fill_fragment(c, 0.0f);
  for (int k = 0; k < K; k += 16) {
    load_matrix_sync(a, A + blockIdx.y * 16 * K + k, K);
    load_matrix_sync(b, B + blockIdx.x * 16 * K + k, K);
    mma_sync(c, a, b, c);
  }
  store_matrix_sync(C + blockIdx.y * 16 * N + blockIdx.x * 16, c, N, mem_row_major);
}

// A 32x32 tile per block of two warps, tiles of K 32 doubly buffered by cp.async, fragments by ldmatrix, mma.sync m16n8k16.
extern "C" __global__ void gemm_mma_async(const bf16* A, const bf16* B, float* C, int N, int K) {
  __shared__ __align__(16) bf16 as[2][32][40], bs[2][32][40];
  int tid = threadIdx.x, warp = tid / 32, lane = tid % 32;
  float acc[4][4] = {};
  auto fetch = [&](int stage, int k0) {
    for (int i = tid; i < 128; i += 64) {
      int row = i / 4, col = i % 4 * 8;
      __pipeline_memcpy_async(&as[stage][row][col], A + (blockIdx.y * 32 + row) * K + k0 + col, 16);
      __pipeline_memcpy_async(&bs[stage][row][col], B + (blockIdx.x * 32 + row) * K + k0 + col, 16);
    }
    __pipeline_commit();
  };
  fetch(0, 0);
  for (int t = 0; t < K / 32; ++t) {
    int stage = t & 1;
    if (t + 1 < K / 32) {
      fetch(stage ^ 1, (t + 1) * 32);
      __pipeline_wait_prior(1);
    } else {
      __pipeline_wait_prior(0);
    }
    __syncthreads();
    for (int k = 0; k < 32; k += 16) {
      uint32_t a[4];
      uint32_t from = (uint32_t)__cvta_generic_to_shared(&as[stage][warp * 16 + lane % 16][k + lane / 16 * 8]);
      asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                   : "=r"(a[0]), "=r"(a[1]), "=r"(a[2]), "=r"(a[3]) : "r"(from));
      for (int j = 0; j < 4; ++j) {
        uint32_t b[2];
        uint32_t where = (uint32_t)__cvta_generic_to_shared(&bs[stage][j * 8 + lane % 8][k + lane / 8 % 2 * 8]);
        asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0,%1}, [%2];" : "=r"(b[0]), "=r"(b[1]) : "r"(where));
        asm volatile(
            "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
            : "+f"(acc[j][0]), "+f"(acc[j][1]), "+f"(acc[j][2]), "+f"(acc[j][3])
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
      }
    }
    __syncthreads();
  }
  for (int j = 0; j < 4; ++j) {
    int row = blockIdx.y * 32 + warp * 16 + lane / 4, col = blockIdx.x * 32 + j * 8 + lane % 4 * 2;
    C[row * N + col] = acc[j][0];
    C[row * N + col + 1] = acc[j][1];
    C[(row + 8) * N + col] = acc[j][2];
    C[(row + 8) * N + col + 1] = acc[j][3];
  }
}
