// expect: CORRECT OK workload=gemm_n7168_k5120/M=8
// at least 0.85 of the library's speed: gemm_n7168_k5120/M=8192
//
// C = A * B^T at the speed of the library: TMA brings tiles, wgmma multiplies them, warps specialise.
// Workload: gemm_n7168_k5120/M=8192 (any M; kN and kK may be any multiples of 128 and 64).
//
//   mini-ptx-agent submit agent/examples/hopper/gemm_warp_specialized.cu --workload gemm_n7168_k5120/M=8192
//
// A block stays on its SM and works on one tile of C (128 x 256) after another. Its producer, one thread, keeps a ring
// of stages filled, across the borders of tiles; two consumers, a warpgroup each, multiply the upper and the lower
// half. While they write a tile to memory, the ring fills for the next.
#include "hopper.cuh"

constexpr int kN = 7168, kK = 5120;
constexpr int kTileM = 128, kTileN = 256;  // of C; each consumer has 64 rows, which is 128 registers of sums a thread
constexpr int kDepth = kSlab;              // K per stage
constexpr int kStages = 4;
constexpr int kConsumers = 2, kThreads = (1 + kConsumers) * kWarpgroup;
constexpr int kColumns = 128;     // of C that a consumer stores at once: what shared memory has room for
constexpr int kGroupedRows = 16;  // see Tile
static_assert(kK % kDepth == 0 && kN % kColumns == 0);

struct Shared {
  Bf16 a[kStages][kConsumers][64 * kDepth];
  Bf16 b[kStages][kTileN * kDepth];
  Bf16 c[kConsumers][64 * kColumns];
  Barrier full[kStages], empty[kStages];
};

// Tiles are taken in groups of kGroupedRows rows of tiles, column by column, so that the blocks at work at one time
// need few rows of A and few of B, and find most in L2.
struct Tile {
  int row, column;
  __device__ Tile(int index, int rows) {
    constexpr int kTileColumns = (kN + kTileN - 1) / kTileN;
    const int first = index / (kGroupedRows * kTileColumns) * kGroupedRows;
    const int height = min(kGroupedRows, rows - first);
    index -= first * kTileColumns;
    row = (first + index % height) * kTileM;
    column = index / height * kTileN;
  }
};

__device__ void Produce(Shared& shared, const CUtensorMap& map_a, const CUtensorMap& map_b, int rows, int tiles) {
  Place<kStages> place;
  for (int index = blockIdx.x; index < tiles; index += gridDim.x) {
    const Tile tile(index, rows);
    for (int step = 0; step < kK / kDepth; ++step, place.Advance()) {
      Wait(shared.empty[place.stage], place.parity ^ 1);  // the first round finds it empty
      Barrier& full = shared.full[place.stage];
      ArriveExpecting(full, (kTileM + kTileN) * kDepth * sizeof(Bf16));
      Fetch(shared.a[place.stage][0], map_a, tile.row, step, 0, full);
      Fetch(shared.b[place.stage], map_b, tile.column, step, 0, full);
    }
  }
}

__device__ void Sum(Shared& shared, int consumer, Place<kStages>& place, float (&sums)[128]) {
  for (int step = 0; step < kK / kDepth; ++step, place.Advance()) {
    Wait(shared.full[place.stage], place.parity);
    const uint64_t a = AlongK(shared.a[place.stage][consumer]), b = AlongK(shared.b[place.stage]);
    BeginProducts();
#pragma unroll
    for (int k = 0; k < kDepth / 16; ++k) Multiply(sums, a + k * kStepK, b + k * kStepK, step + k);
    CommitProducts();
    WaitForProducts<1>();  // so the stage before has been used
    if (step > 0) ArriveWarp(shared.empty[(place.stage + kStages - 1) % kStages]);
  }
  WaitForProducts<0>();
  Pin(sums);
  ArriveWarp(shared.empty[(place.stage + kStages - 1) % kStages]);
}

__device__ void Write(Shared& shared, int consumer, const CUtensorMap& map_c, Tile tile, const float (&sums)[128]) {
  const bool leads = threadIdx.x % kWarpgroup == 0;
  Bf16* staged = shared.c[consumer];
#pragma unroll
  for (int column = 0; column < kTileN; column += kColumns) {
    if (leads) WaitForStores();  // of the columns before
    SyncNamed(1 + consumer, kWarpgroup);
    WriteSlab(staged, sums + column / 2, 1.f);
    WriteSlab(staged + 64 * kSlab, sums + column / 2 + 32, 1.f);
    FenceBeforeStore();
    SyncNamed(1 + consumer, kWarpgroup);
    if (leads) Store(staged, map_c, tile.row + consumer * 64, (tile.column + column) / kSlab, 0);
  }
}

__device__ void Consume(Shared& shared, int consumer, const CUtensorMap& map_c, int rows, int tiles) {
  Place<kStages> place;
  for (int index = blockIdx.x; index < tiles; index += gridDim.x) {
    float sums[128];
    Sum(shared, consumer, place, sums);
    Write(shared, consumer, map_c, Tile(index, rows), sums);
  }
  if (threadIdx.x % kWarpgroup == 0) WaitForStores();
}

__global__ void __launch_bounds__(kThreads, 1)
    Gemm(const __grid_constant__ CUtensorMap map_a, const __grid_constant__ CUtensorMap map_b,
         const __grid_constant__ CUtensorMap map_c, int rows, int tiles) {
  Shared& shared = DynamicShared<Shared>();
  if (threadIdx.x == 0) {
    for (int stage = 0; stage < kStages; ++stage) {
      Init(shared.full[stage], 1);  // the producer arrives, then the bytes
      Init(shared.empty[stage], kConsumers * kWarpgroup / kWarp);
    }
    FenceInit();
  }
  __syncthreads();
  const int role = Warpgroup();
  if (role == kConsumers) {
    GiveRegisters<40>();
    if (threadIdx.x % kWarpgroup == 0) Produce(shared, map_a, map_b, rows, tiles);
  } else {
    TakeRegisters<232>();
    Consume(shared, role, map_c, rows, tiles);
  }
}

extern "C" void run(const Bf16* A, const Bf16* B, Bf16* C, int64_t M, cudaStream_t stream) {
  CUtensorMap map_a, map_b, map_c;  // made anew in each call, since the pointers differ
  if (!Encode(map_a, A, M, kK, 1, kTileM, 1) || !Encode(map_b, B, kN, kK, 1, kTileN, 1) ||
      !Encode(map_c, C, M, kN, 1, 64, kColumns / kSlab)) {
    return;
  }
  int device = 0, processors = 0;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
  cudaFuncSetAttribute(Gemm, cudaFuncAttributeMaxDynamicSharedMemorySize, sizeof(Shared));
  const int rows = static_cast<int>((M + kTileM - 1) / kTileM), tiles = rows * ((kN + kTileN - 1) / kTileN);
  Gemm<<<processors, kThreads, sizeof(Shared), stream>>>(map_a, map_b, map_c, rows, tiles);
}
