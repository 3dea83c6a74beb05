// Attention forward by Blackwell's own means, for head size 128; who includes this says whether it is causal.
//
// One block takes 128 rows of queries of one head and goes over the keys, 128 at a time. Six warps: four of softmax,
// one thread a row; one whose first lane asks TMA for tiles; one that owns tensor memory and whose first lane asks for
// products. Tensor memory holds the scores S = Q K^T, the weights P as they go into the second product, and the sum
// O += P V. While the softmax of one tile is made, the tensor core is asked for the scores of the next.
#pragma once

#include <cuda_bf16.h>

#include <cstdint>
#include <sassay/ptx/mbarrier.cuh>
#include <sassay/ptx/tcgen05.cuh>
#include <sassay/ptx/tma.cuh>

using namespace sassay::ptx;
using Bf16 = __nv_bfloat16;

constexpr int kD = 128;
constexpr int kRows = 128, kKeys = 128;  // of one tile; the scores are one product's M and N
constexpr int kSlab = 64;                // elements of D per TMA box: 128 bytes, one row of the 128-byte swizzle
constexpr int kSlabBytes = kRows * kSlab * sizeof(Bf16);
constexpr int kStages = 2;
constexpr int kSoftmaxWarps = 4, kThreads = (kSoftmaxWarps + 2) * 32;
constexpr uint32_t kTile = kRows * kD * sizeof(Bf16);

// Columns of tensor memory: P takes half a column for each key.
constexpr uint32_t kScores = 0, kOutput = kKeys, kWeights = kOutput + kD, kColumns = 512;

struct Shared {
  Bf16 q[kD / kSlab][kRows * kSlab];
  Bf16 k[kStages][kD / kSlab][kKeys * kSlab];
  Bf16 v[kStages][kD / kSlab][kKeys * kSlab];
  uint64_t q_full, k_full[kStages], v_full[kStages], empty[kStages];
  uint64_t scores;   // S is there
  uint64_t weights;  // P is there, S has been read, and O scaled
  uint64_t output;   // P has been used, and O holds this tile too
  uint32_t tensor_memory;
};

__device__ void Load(Bf16 (*tile)[kRows * kSlab], const CUtensorMap& map, uint64_t* full, int row, int head) {
  mbarrier_arrive_expect_tx(full, kTile);
  for (int slab = 0; slab < kD / kSlab; ++slab) tma_load(tile[slab], &map, full, slab * kSlab, row, head);
}

__device__ void Produce(Shared& shared, const CUtensorMap& map_q, const CUtensorMap& map_k, const CUtensorMap& map_v,
                        int first_row, int steps) {
  Load(shared.q, map_q, &shared.q_full, first_row, blockIdx.y);
  Ring<kStages> ring;
  for (int step = 0; step < steps; ++step, ring.advance()) {
    mbarrier_wait(&shared.empty[ring.stage], ring.parity ^ 1);
    Load(shared.k[ring.stage], map_k, &shared.k_full[ring.stage], step * kKeys, blockIdx.y);
    Load(shared.v[ring.stage], map_v, &shared.v_full[ring.stage], step * kKeys, blockIdx.y);
  }
}

// S = Q K^T, both along D.
__device__ void AskScores(Shared& shared, const Ring<kStages>& ring, uint32_t base) {
  constexpr uint32_t kInstruction = tcgen05_idesc<In::bf16>(kRows, kKeys);
  mbarrier_wait(&shared.k_full[ring.stage], ring.parity);
  tcgen05_fence_after_thread_sync();
  for (int d = 0; d < kD; d += 16) {
    const int slab = d / kSlab, units = d % kSlab / 8;  // 16 bytes each
    tcgen05_mma<In::bf16>(base + kScores, tcgen05_desc_k(shared.q[slab]) + units,
                          tcgen05_desc_k(shared.k[ring.stage][slab]) + units, kInstruction, d > 0);
  }
  tcgen05_commit(&shared.scores);
}

// O += P V: P in tensor memory, V along D, which is N here.
__device__ void AskOutput(Shared& shared, const Ring<kStages>& ring, uint32_t base, bool first) {
  constexpr uint32_t kInstruction = tcgen05_idesc<In::bf16, Major::k, Major::mn>(kRows, kD);
  mbarrier_wait(&shared.v_full[ring.stage], ring.parity);
  tcgen05_fence_after_thread_sync();
  const uint64_t v = tcgen05_desc_mn(shared.v[ring.stage], kSlabBytes);
  for (int key = 0; key < kKeys; key += 16) {
    tcgen05_mma_ts<In::bf16>(base + kOutput, base + kWeights + key / 2, v + key / 16 * 128, kInstruction,
                             !first || key > 0);
  }
  tcgen05_commit(&shared.empty[ring.stage]);
  tcgen05_commit(&shared.output);
}

__device__ void Multiply(Shared& shared, uint32_t base, int steps) {
  Ring<kStages> ring;
  mbarrier_wait(&shared.q_full, 0);
  AskScores(shared, ring, base);
  for (int step = 0; step < steps; ++step) {
    const Ring<kStages> now = ring;
    ring.advance();
    mbarrier_wait(&shared.weights, step % 2);
    tcgen05_fence_after_thread_sync();
    if (step + 1 < steps) AskScores(shared, ring, base);
    AskOutput(shared, now, base, step == 0);
  }
}

// One row: the largest score so far, and the sum of weights relative to it. Scores are scaled for powers of two.
struct Softmax {
  float largest = -INFINITY, sum = 0;
};

constexpr float kScale = 1.4426950408889634f * 0.08838834764831845f;  // log2(e) / sqrt(128)

// This thread's row of S, 32 keys from `first` on. Keys from `end` on count nothing.
__device__ void TakeScores(uint32_t mine, int first, int end, float (&scores)[32]) {
  tcgen05_ld(scores, mine + kScores + first);
  tcgen05_wait_ld(scores);
  for (int i = 0; i < 32; ++i) scores[i] = first + i < end ? scores[i] * kScale : -INFINITY;
}

// O times `factor`. Nobody else touches this row meanwhile.
__device__ void Rescale(uint32_t mine, float factor) {
  for (int column = 0; column < kD; column += 32) {
    float values[32];
    uint32_t bits[32];
    tcgen05_ld(values, mine + kOutput + column);
    tcgen05_wait_ld(values);
    for (int i = 0; i < 32; ++i) bits[i] = __float_as_uint(values[i] * factor);
    tcgen05_st(mine + kOutput + column, bits);
  }
}

// `end`: this row's keys within the tile.
__device__ void Weigh(Shared& shared, uint32_t mine, int step, int end, Softmax& row) {
  float scores[32];
  mbarrier_wait(&shared.scores, step % 2);
  tcgen05_fence_after_thread_sync();
  float largest = row.largest;
  for (int key = 0; key < kKeys; key += 32) {
    TakeScores(mine, key, end, scores);
    for (int i = 0; i < 32; ++i) largest = fmaxf(largest, scores[i]);
  }
  const float offset = largest == -INFINITY ? 0 : largest;  // a row without keys has no weights
  const float factor = ex2(row.largest - offset);
  row.sum *= factor;
  uint32_t weights[kKeys / 2];
  for (int key = 0; key < kKeys; key += 32) {
    TakeScores(mine, key, end, scores);
    for (int i = 0; i < 32; i += 2) {
      const float low = ex2(scores[i] - offset), high = ex2(scores[i + 1] - offset);
      row.sum += low + high;
      weights[(key + i) / 2] = pack_bf16(low, high);
    }
  }
  if (step > 0) {
    mbarrier_wait(&shared.output, (step - 1) % 2);
    tcgen05_fence_after_thread_sync();
    // All lanes of a warp transfer together.
    if (__any_sync(~0u, largest > row.largest)) Rescale(mine, factor);
  }
  row.largest = largest;
  tcgen05_st(mine + kWeights, weights);
  tcgen05_wait_st();
  tcgen05_fence_before_thread_sync();
  mbarrier_arrive(&shared.weights);
}

__device__ void Write(Shared& shared, uint32_t mine, int steps, const Softmax& row, bool stores, Bf16* o, float* lse) {
  mbarrier_wait(&shared.output, (steps - 1) % 2);
  tcgen05_fence_after_thread_sync();
  const float factor = 1 / row.sum;
  for (int column = 0; column < kD; column += 32) {
    float values[32];
    tcgen05_ld(values, mine + kOutput + column);
    tcgen05_wait_ld(values);
    for (int i = 0; i < 32 && stores; i += 8) {
      *reinterpret_cast<uint4*>(o + column + i) = uint4{pack_bf16(values[i] * factor, values[i + 1] * factor),
                                                        pack_bf16(values[i + 2] * factor, values[i + 3] * factor),
                                                        pack_bf16(values[i + 4] * factor, values[i + 5] * factor),
                                                        pack_bf16(values[i + 6] * factor, values[i + 7] * factor)};
    }
  }
  if (stores) *lse = (row.largest + lg2(row.sum)) * 0.6931471805599453f;
  tcgen05_fence_before_thread_sync();
}

__global__ void __launch_bounds__(kThreads)
    AttentionTcgen05(const __grid_constant__ CUtensorMap map_q, const __grid_constant__ CUtensorMap map_k,
                     const __grid_constant__ CUtensorMap map_v, Bf16* o, float* lse, int s) {
  Shared& shared = dynamic_smem<Shared>();
  if (threadIdx.x == 0) {
    mbarrier_init(&shared.q_full, 1);
    for (int stage = 0; stage < kStages; ++stage) {
      mbarrier_init(&shared.k_full[stage], 1);
      mbarrier_init(&shared.v_full[stage], 1);
      mbarrier_init(&shared.empty[stage], 1);
    }
    mbarrier_init(&shared.scores, 1);
    mbarrier_init(&shared.weights, kSoftmaxWarps * 32);
    mbarrier_init(&shared.output, 1);
    fence_mbarrier_init();
  }
  if (warp_id() == kSoftmaxWarps + 1) {
    tcgen05_alloc(&shared.tensor_memory, kColumns);
    tcgen05_relinquish_alloc_permit();
  }
  tcgen05_fence_before_thread_sync();
  __syncthreads();
  tcgen05_fence_after_thread_sync();
  const uint32_t base = shared.tensor_memory;
  // With kCausal later rows have more to do, so they come first.
  const int first_row = (kCausal ? gridDim.x - 1 - blockIdx.x : blockIdx.x) * kRows;
  const int keys = kCausal ? min(s, first_row + kRows) : s, steps = (keys + kKeys - 1) / kKeys;
  if (warp_id() == kSoftmaxWarps) {
    if (lane_id() == 0) Produce(shared, map_q, map_k, map_v, first_row, steps);
    __syncwarp();
  } else if (warp_id() == kSoftmaxWarps + 1) {
    if (lane_id() == 0) Multiply(shared, base, steps);
    __syncwarp();
  } else {
    const uint32_t mine = base + (warp_id() * 32 << 16);
    const int row = first_row + threadIdx.x;
    const int64_t place = static_cast<int64_t>(blockIdx.y) * s + row;
    Softmax softmax;
    for (int step = 0; step < steps; ++step)
      Weigh(shared, mine, step, (kCausal ? min(s, row + 1) : s) - step * kKeys, softmax);
    Write(shared, mine, steps, softmax, row < s, o + place * kD, lse + place);
  }
  __syncthreads();
  if (warp_id() == kSoftmaxWarps + 1) tcgen05_dealloc(base, kColumns);
}

// Heads are a dimension of their own: rows past one's end are zeros, not the next one's.
inline CUtensorMap MapOf(const Bf16* tensor, int64_t heads, int64_t s) {
  return make_tensor_map(CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, tensor, {kD, s, heads}, {kD * 2, s * kD * 2},
                         {kSlab, kRows, 1});
}

extern "C" void run(const Bf16* Q, const Bf16* K, const Bf16* V, Bf16* O, float* LSE, int64_t B, int64_t H, int64_t S,
                    cudaStream_t stream) {
  cudaFuncSetAttribute(AttentionTcgen05, cudaFuncAttributeMaxDynamicSharedMemorySize, sizeof(Shared));
  const dim3 grid(static_cast<unsigned>((S + kRows - 1) / kRows), static_cast<unsigned>(B * H));
  AttentionTcgen05<<<grid, kThreads, sizeof(Shared), stream>>>(MapOf(Q, B * H, S), MapOf(K, B * H, S),
                                                               MapOf(V, B * H, S), O, LSE, static_cast<int>(S));
}
