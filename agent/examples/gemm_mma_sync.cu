// expect: CORRECT OK workload=gemm_n256_k256/M=64
//
// C = A * B^T on tensor cores by mma.sync, with tiles that cp.async brings while the previous ones are used.
// Workload: gemm_n256_k256/M=256 (any M).
//
//   mini-ptx-agent submit agent/examples/gemm_mma_sync.cu --workload gemm_n256_k256/M=256
//
// mma.sync is the tensor-core instruction of Ampere (HMMA in SASS). Hopper runs it, at about 60 % of what its own wgmma
// reaches, so the evidence says CUBIN_SASS_ABSENT for the Hopper family: right and safe, but not Hopper's instructions.
#include <cuda_bf16.h>

#include <cstdint>

constexpr int kN = 256, kK = 256;
constexpr int kTile = 64;   // a block of four warps computes kTile x kTile of C, each warp 32 x 32
constexpr int kDepth = 32;  // K per step
constexpr int kSteps = kK / kDepth;
// Rows of 40 elements (80 bytes): the eight rows that one ldmatrix reads start in eight different groups of banks.
constexpr int kPitch = kDepth + 8;
constexpr int kThreads = 128;

// Copies 16 bytes from global to shared memory without passing through registers; zeros instead if `valid` is false.
__device__ void CopyAsync(void* shared, const void* global, bool valid) {
  const auto address = static_cast<uint32_t>(__cvta_generic_to_shared(shared));
  const int bytes = valid ? 16 : 0;
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(address), "l"(global), "r"(bytes) : "memory");
}

// Loads four 8x8 matrices; thread t names row t % 8 of matrix t / 8.
__device__ void LoadMatrices(uint32_t (&registers)[4], const __nv_bfloat16* row) {
  const auto address = static_cast<uint32_t>(__cvta_generic_to_shared(row));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(registers[0]), "=r"(registers[1]), "=r"(registers[2]), "=r"(registers[3])
               : "r"(address)
               : "memory");
}

// c (16 x 8, float) += a (16 x 16) * b (16 x 8).
__device__ void Multiply(float (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, "
      "%3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

struct Stage {
  __nv_bfloat16 a[kTile][kPitch];
  __nv_bfloat16 b[kTile][kPitch];
};

// Starts the copy of one step's tiles. Rows of A past the end become zeros; the pointer stays inside A all the same.
__device__ void Fetch(Stage& stage, const __nv_bfloat16* a, const __nv_bfloat16* b, int first_row, int first_column,
                      int step, int m) {
  for (int i = threadIdx.x; i < kTile * kDepth / 8; i += kThreads) {
    const int line = i / (kDepth / 8), k = i % (kDepth / 8) * 8;
    const int row = first_row + line;
    const bool valid = row < m;
    CopyAsync(&stage.a[line][k], a + (valid ? row : 0) * kK + step * kDepth + k, valid);
    CopyAsync(&stage.b[line][k], b + (first_column + line) * kK + step * kDepth + k, true);
  }
  asm volatile("cp.async.commit_group;" ::: "memory");
}

__global__ void __launch_bounds__(kThreads)
    GemmMmaSync(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c, int m) {
  __shared__ __align__(16) Stage stages[2];
  const int first_row = blockIdx.y * kTile, first_column = blockIdx.x * kTile;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int warp_row = warp / 2 * 32, warp_column = warp % 2 * 32;
  float sums[2][4][4] = {};  // [16 rows][8 columns][registers of one mma]

  Fetch(stages[0], a, b, first_row, first_column, 0, m);
  for (int step = 0; step < kSteps; ++step) {
    if (step + 1 < kSteps) {
      Fetch(stages[(step + 1) % 2], a, b, first_row, first_column, step + 1, m);
      asm volatile("cp.async.wait_group 1;" ::: "memory");  // all but the newest group have arrived
    } else {
      asm volatile("cp.async.wait_group 0;" ::: "memory");
    }
    __syncthreads();  // what the other threads copied has arrived too
    const Stage& stage = stages[step % 2];
    for (int k = 0; k < kDepth; k += 16) {
      uint32_t from_a[2][4], from_b[2][4];
      for (int i = 0; i < 2; ++i) {
        // Matrices of A: (rows 0-7, k 0-7), (8-15, 0-7), (0-7, 8-15), (8-15, 8-15).
        LoadMatrices(from_a[i], &stage.a[warp_row + i * 16 + lane % 16][k + lane / 16 * 8]);
        // Matrices of B: (columns 0-7, k 0-7), (0-7, 8-15), (8-15, 0-7), (8-15, 8-15).
        LoadMatrices(from_b[i], &stage.b[warp_column + i * 16 + lane / 16 * 8 + lane % 8][k + lane / 8 % 2 * 8]);
      }
      for (int i = 0; i < 2; ++i) {
        for (int j = 0; j < 4; ++j) {
          Multiply(sums[i][j], from_a[i], from_b[j / 2][j % 2 * 2], from_b[j / 2][j % 2 * 2 + 1]);
        }
      }
    }
    __syncthreads();  // nobody still reads the stage that the next round fetches into
  }

  // Registers 0 and 1 of a result hold row lane / 4, 2 and 3 hold the row eight below; columns are lane % 4 * 2 and the
  // next.
  for (int i = 0; i < 2; ++i) {
    for (int j = 0; j < 4; ++j) {
      const int row = first_row + warp_row + i * 16 + lane / 4;
      const int column = first_column + warp_column + j * 8 + lane % 4 * 2;
      const auto upper = __floats2bfloat162_rn(sums[i][j][0], sums[i][j][1]);
      const auto lower = __floats2bfloat162_rn(sums[i][j][2], sums[i][j][3]);
      if (row < m) *reinterpret_cast<__nv_bfloat162*>(c + row * kN + column) = upper;
      if (row + 8 < m) *reinterpret_cast<__nv_bfloat162*>(c + (row + 8) * kN + column) = lower;
    }
  }
}

extern "C" void run(const __nv_bfloat16* A, const __nv_bfloat16* B, __nv_bfloat16* C, int64_t M, cudaStream_t stream) {
  const dim3 grid(kN / kTile, (static_cast<unsigned>(M) + kTile - 1) / kTile);
  GemmMmaSync<<<grid, kThreads, 0, stream>>>(A, B, C, static_cast<int>(M));
}
