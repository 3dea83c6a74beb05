// dQ, dK and dV of softmax attention from Q, K, V, O, dO and the forward pass's log-sum-exp L, with wgmma and TMA; with
// kCausal (which the including file sets) under a lower-triangular mask.
//
// With scores S = Q K^T / sqrt(D), the weights are P = exp(S - L): no second softmax is needed. Then
//   dV = P^T dO,    dS = P o (dO V^T - delta) / sqrt(D),    delta = rowsum(dO o O),    dQ = dS K,    dK = dS^T Q.
// Two passes, so that no sum crosses blocks: seven products instead of five, but nothing is atomic, and the same inputs
// give the same bits. They are one kernel, for they are alike. A block keeps 128 rows of a pair of matrices and streams
// the other pair by:
//   pass over keys:     keeps K and V,  streams Q and dO:  S^T = K Q^T, dP^T = V dO^T;  dV += P^T dO, dK += dS^T Q
//   pass over queries:  keeps Q and dO, streams K and V:   S = Q K^T,   dP = dO V^T;    dQ += dS K
// Both products of a step come out of the tensor cores as the next ones take their first factor: in registers.
#pragma once

#include "hopper.cuh"

constexpr int kD = 128;
constexpr int kRows = 64;  // of every tile: what a consumer keeps, and what a step streams
constexpr int kStages = 4;
constexpr int kConsumers = 2, kThreads = (1 + kConsumers) * kWarpgroup;
constexpr int kBlockRows = kConsumers * kRows;
constexpr float kLog2E = 1.44269504f, kScale = 0.0883883476f;  // 1 / sqrt(128)

using Tile = Bf16[kRows * kD];

// Of a tile of queries: what to subtract from scores (times log2 e, for Exp2), and from gradients of weights.
struct Queries {
  float l[kRows], delta[kRows];
};

struct Shared {
  Tile kept[2][kConsumers];   // K and V, or Q and dO; in the end, the gradients
  Tile streamed[2][kStages];  // Q and dO, or K and V
  Queries queries[kStages];   // streamed too
  Barrier kept_full, full[kStages], empty[kStages];
};

// What a kernel works on: [0] meets [0] for scores, [1] meets [1] for gradients of weights.
struct Maps {
  CUtensorMap kept[2], streamed[2], gradients[2];
};

// One warp per query, in whole tiles: beyond the sequence l is infinite, so that weights become zero.
__global__ void __launch_bounds__(256)
    Delta(const Bf16* o, const Bf16* d_o, const float* l, Queries* queries, int count, int tiles) {
  const int query = blockIdx.x * (256 / kWarp) + threadIdx.x / kWarp, head = blockIdx.y, lane = threadIdx.x % kWarp;
  float sum = 0.f, scaled_l = INFINITY;
  if (query < count) {
    const int64_t index = static_cast<int64_t>(head) * count + query;
    for (int i = lane; i < kD / 2; i += kWarp) {
      const float2 x = __bfloat1622float2(reinterpret_cast<const __nv_bfloat162*>(o + index * kD)[i]);
      const float2 y = __bfloat1622float2(reinterpret_cast<const __nv_bfloat162*>(d_o + index * kD)[i]);
      sum += x.x * y.x + x.y * y.y;
    }
    for (int offset = kWarp / 2; offset > 0; offset /= 2) sum += __shfl_xor_sync(~0u, sum, offset);
    scaled_l = l[index] * kLog2E;
  }
  if (lane != 0) return;
  Queries& tile = queries[head * tiles + query / kRows];
  tile.l[query % kRows] = scaled_l;
  tile.delta[query % kRows] = sum;
}

__device__ void Produce(Shared& shared, const Maps& maps, const Queries* queries, int first_row, int begin, int end) {
  const int head = blockIdx.y;
  ArriveExpecting(shared.kept_full, sizeof(shared.kept));
  for (int which = 0; which < 2; ++which) {
    for (int i = 0; i < kConsumers; ++i) {
      Fetch(shared.kept[which][i], maps.kept[which], first_row + i * kRows, 0, head, shared.kept_full);
    }
  }
  Place<kStages> place;
  for (int step = begin; step < end; ++step, place.Advance()) {
    const int stage = place.stage;
    Barrier& full = shared.full[stage];
    Wait(shared.empty[stage], place.parity ^ 1);  // the first round finds it empty
    ArriveExpecting(full, 2 * sizeof(Tile) + (queries == nullptr ? 0 : sizeof(Queries)));
    for (int which = 0; which < 2; ++which) {
      Fetch(shared.streamed[which][stage], maps.streamed[which], step * kRows, 0, head, full);
    }
    if (queries != nullptr) FetchBytes(&shared.queries[stage], queries + step, sizeof(Queries), full);
  }
}

// product = x y^T, of two tiles. Starts only.
__device__ void StartProduct(float (&product)[32], const Tile& x, const Tile& y) {
  const uint64_t a = AlongK(x), b = AlongK(y);
#pragma unroll
  for (int i = 0; i < kD / 16; ++i) {
    const int step = i * 16 / kSlab * (kRows * kSlab * sizeof(Bf16) >> 4) + i % (kSlab / 16) * kStepK;
    Multiply(product, a + step, b + step, i);
  }
  CommitProducts();
}

// sums += factors y. Starts only.
__device__ void StartSum(float (&sums)[64], const uint32_t (&factors)[16], const Tile& y) {
  const uint64_t descriptor = AcrossK(y, kRows);
#pragma unroll
  for (int i = 0; i < kRows / 16; ++i) MultiplyAcross(sums, factors + 4 * i, descriptor + i * kStepRows);
}

// What a query does not see gets no weight: keys beyond the sequence, and with kCausal those after its own.
template <bool kOverKeys>
__device__ void Mask(float (&scores)[32], int first_row, int first_column, int keys) {
#pragma unroll
  for (int i = 0; i < 32; ++i) {
    const int row = first_row + RowOf(i), column = first_column + ColumnOf(i);
    const int query = kOverKeys ? column : row, key = kOverKeys ? row : column;
    if (key >= keys || (kCausal && key > query)) scores[i] = -INFINITY;
  }
}

// What a consumer keeps while it goes through the steps of a pass.
template <bool kOverKeys>
struct Consumer {
  static constexpr int kGradients = kOverKeys ? 2 : 1;
  Shared& shared;
  const int index, first_row, keys;
  float kept_l[2] = {}, kept_delta[2] = {};  // of a thread's two rows, if those are queries
  float sums[kGradients][64] = {};
  Place<kStages> place = {};

  // Of the queries of registers i and i + 1 (even i) of a product.
  __device__ float2 OfQueries(const float (&streamed)[kRows], const float (&kept)[2], int i) const {
    if constexpr (kOverKeys) return reinterpret_cast<const float2&>(streamed[ColumnOf(i)]);
    return {kept[i % 4 / 2], kept[i % 4 / 2]};
  }

  template <bool kMasked>
  __device__ void Step(int step) {
    const int stage = place.stage;
    float scores[32], gradients[32];  // of weights
    uint32_t weights[16], factors[16];
    Wait(shared.full[stage], place.parity);
    BeginProducts();
    StartProduct(scores, shared.kept[0][index], shared.streamed[0][stage]);
    StartProduct(gradients, shared.kept[1][index], shared.streamed[1][stage]);
    WaitForProducts<1>();
    Pin(scores);
    if constexpr (kMasked) Mask<kOverKeys>(scores, first_row, step * kRows, keys);
#pragma unroll
    for (int i = 0; i < 32; i += 2) {
      const float2 l = OfQueries(shared.queries[stage].l, kept_l, i);
      scores[i] = Exp2(scores[i] * (kScale * kLog2E) - l.x);
      scores[i + 1] = Exp2(scores[i + 1] * (kScale * kLog2E) - l.y);
    }
    Pack(weights, scores);
    WaitForProducts<0>();
    Pin(gradients);
#pragma unroll
    for (int i = 0; i < 32; i += 2) {
      const float2 delta = OfQueries(shared.queries[stage].delta, kept_delta, i);
      gradients[i] = scores[i] * (gradients[i] - delta.x);
      gradients[i + 1] = scores[i + 1] * (gradients[i + 1] - delta.y);
    }
    Pack(factors, gradients);
    BeginProducts();
    if constexpr (kOverKeys) StartSum(sums[1], weights, shared.streamed[1][stage]);
    StartSum(sums[0], factors, shared.streamed[0][stage]);
    CommitProducts();
    WaitForProducts<0>();
    for (auto& sum : sums) Pin(sum);
    ArriveWarp(shared.empty[stage]);
    place.Advance();
  }
};

template <bool kOverKeys>
__device__ void Write(Shared& shared, const Maps& maps, int consumer, int first_row,
                      const float (&sums)[Consumer<kOverKeys>::kGradients][64]) {
  SyncNamed(1 + consumer, kWarpgroup);  // what was kept is no longer needed by anybody
#pragma unroll
  for (int which = 0; which < Consumer<kOverKeys>::kGradients; ++which) {
    Tile& tile = shared.kept[which][consumer];
    const float factor = which == 0 ? kScale : 1.f;
    WriteSlab(tile, sums[which], factor);
    WriteSlab(tile + kRows * kSlab, sums[which] + 32, factor);
  }
  FenceBeforeStore();
  SyncNamed(1 + consumer, kWarpgroup);
  if (threadIdx.x % kWarpgroup != 0) return;
  for (int which = 0; which < Consumer<kOverKeys>::kGradients; ++which) {
    Store(shared.kept[which][consumer], maps.gradients[which], first_row, 0, blockIdx.y);
  }
  WaitForStores();
}

template <bool kOverKeys>
__global__ void __launch_bounds__(kThreads, 1)
    AttentionBackward(const __grid_constant__ Maps maps, const Queries* queries, int keys) {
  Shared& shared = DynamicShared<Shared>();
  if (threadIdx.x == 0) {
    Init(shared.kept_full, 1);
    for (int stage = 0; stage < kStages; ++stage) {
      Init(shared.full[stage], 1);
      Init(shared.empty[stage], kConsumers * kWarpgroup / kWarp);
    }
    FenceInit();
  }
  __syncthreads();
  // With kCausal, early keys and late queries have most to do, so they come first.
  const int block = kCausal && !kOverKeys ? gridDim.x - 1 - blockIdx.x : blockIdx.x;
  const int first_row = block * kBlockRows, tiles = (keys + kRows - 1) / kRows;
  const int begin = kCausal && kOverKeys ? first_row / kRows : 0;
  const int end = kCausal && !kOverKeys ? min(first_row / kRows + kConsumers, tiles) : tiles;
  queries += blockIdx.y * tiles;
  const int role = Warpgroup();
  if (role == kConsumers) {
    GiveRegisters<24>();
    if (threadIdx.x % kWarpgroup == 0) Produce(shared, maps, kOverKeys ? queries : nullptr, first_row, begin, end);
  } else {
    TakeRegisters<240>();
    const int row = first_row + role * kRows;
    Consumer<kOverKeys> consumer = {shared, role, row, keys};
    if (!kOverKeys && row < tiles * kRows) {
      for (int r = 0; r < 2; ++r) {
        consumer.kept_l[r] = queries[row / kRows].l[RowOf(2 * r)];
        consumer.kept_delta[r] = queries[row / kRows].delta[RowOf(2 * r)];
      }
    }
    Wait(shared.kept_full, 0);
    // Only the diagonal needs a mask, and the end of the keys.
    const int masked_until = kCausal && kOverKeys ? min(begin + kConsumers, end) : begin;
    const int masked_from = kOverKeys ? end : kCausal ? first_row / kRows : keys / kRows;
    int step = begin;
    for (; step < masked_until; ++step) consumer.template Step<true>(step);
    for (; step < masked_from; ++step) consumer.template Step<false>(step);
    for (; step < end; ++step) consumer.template Step<true>(step);
    Write<kOverKeys>(shared, maps, role, row, consumer.sums);
  }
}

template <bool kOverKeys>
static void Launch(const Maps& maps, const Queries* queries, int64_t heads, int64_t keys, cudaStream_t stream) {
  cudaFuncSetAttribute(AttentionBackward<kOverKeys>, cudaFuncAttributeMaxDynamicSharedMemorySize, sizeof(Shared));
  const dim3 grid(static_cast<unsigned>((keys + kBlockRows - 1) / kBlockRows), static_cast<unsigned>(heads));
  AttentionBackward<kOverKeys><<<grid, kThreads, sizeof(Shared), stream>>>(maps, queries, static_cast<int>(keys));
}

extern "C" void run(const Bf16* Q, const Bf16* K, const Bf16* V, const Bf16* O, const Bf16* dO, const float* L,
                    Bf16* dQ, Bf16* dK, Bf16* dV, int64_t B, int64_t H, int64_t S, cudaStream_t stream) {
  const int64_t heads = B * H, tiles = (S + kRows - 1) / kRows;
  const auto map = [&](const Bf16* tensor) {  // made anew in each call, since the pointers differ
    CUtensorMap map = {};
    Encode(map, tensor, S, kD, heads, kRows, kD / kSlab);
    return map;
  };
  const CUtensorMap q = map(Q), k = map(K), v = map(V), d_o = map(dO);
  // A workspace of one's own, made in the first call and kept.
  static Queries* queries = nullptr;
  static int64_t capacity = 0;
  if (capacity < heads * tiles) {
    cudaFree(queries);
    capacity = heads * tiles;
    if (cudaMalloc(reinterpret_cast<void**>(&queries), capacity * sizeof(Queries)) != cudaSuccess) return;
  }
  const dim3 grid(static_cast<unsigned>(tiles * kRows / (256 / kWarp)), static_cast<unsigned>(heads));
  Delta<<<grid, 256, 0, stream>>>(O, dO, L, queries, static_cast<int>(S), static_cast<int>(tiles));
  Launch<true>({{k, v}, {q, d_o}, {map(dK), map(dV)}}, queries, heads, S, stream);
  Launch<false>({{q, d_o}, {k, v}, {map(dQ)}}, queries, heads, S, stream);
}
