// O = softmax(Q K^T / sqrt(D)) V and the natural log-sum-exp of each row of scores, with wgmma and TMA; with kCausal
// (which the including file sets) under a lower-triangular mask.
//
// A block has 128 rows of Q and goes through K and V in steps of 128 keys, keeping the softmax online: with a new
// maximum, sums so far are scaled. Two consumers (warpgroups) of 64 rows each overlap tensor cores and exponentials in
// two ways: each starts the next scores before it needs them, while its last weights are multiplied by V; and they take
// turns at starting, so that one exponentiates while the other multiplies.
#pragma once

#include "hopper.cuh"

constexpr int kD = 128;
constexpr int kRows = 64;   // of Q, per consumer
constexpr int kKeys = 128;  // per step
constexpr int kStages = 2;
constexpr int kConsumers = 2, kThreads = (1 + kConsumers) * kWarpgroup;
constexpr int kBlockRows = kConsumers * kRows;
static_assert(kBlockRows == kKeys, "so the diagonal meets a block's last step only");

struct Shared {
  Bf16 q[kConsumers][kRows * kD];  // in the end, O
  Bf16 k[kStages][kKeys * kD], v[kStages][kKeys * kD];
  Barrier q_full, k_full[kStages], k_empty[kStages], v_full[kStages], v_empty[kStages];
};

__device__ void Produce(Shared& shared, const CUtensorMap& map_q, const CUtensorMap& map_k, const CUtensorMap& map_v,
                        int first_row, int steps) {
  const int head = blockIdx.y;
  ArriveExpecting(shared.q_full, sizeof(shared.q));
  for (int i = 0; i < kConsumers; ++i) Fetch(shared.q[i], map_q, first_row + i * kRows, 0, head, shared.q_full);
  Place<kStages> place;
  for (int step = steps - 1; step >= 0; --step, place.Advance()) {
    const int stage = place.stage;
    Wait(shared.k_empty[stage], place.parity ^ 1);  // the first round finds it empty
    ArriveExpecting(shared.k_full[stage], sizeof(shared.k[stage]));
    Fetch(shared.k[stage], map_k, step * kKeys, 0, head, shared.k_full[stage]);
    Wait(shared.v_empty[stage], place.parity ^ 1);
    ArriveExpecting(shared.v_full[stage], sizeof(shared.v[stage]));
    Fetch(shared.v[stage], map_v, step * kKeys, 0, head, shared.v_full[stage]);
  }
}

// scores = q k^T. Starts only.
__device__ void StartScores(float (&scores)[64], const Bf16* q, const Bf16* k) {
  BeginProducts();
#pragma unroll
  for (int i = 0; i < kD / 16; ++i) {
    const int slab = i * 16 / kSlab, column = i % (kSlab / 16);
    Multiply(scores, AlongK(q + slab * kRows * kSlab) + column * kStepK,
             AlongK(k + slab * kKeys * kSlab) + column * kStepK, i);
  }
  CommitProducts();
}

// output += weights v. Starts only.
__device__ void StartOutput(float (&output)[64], const uint32_t (&weights)[32], const Bf16* v) {
  const uint64_t descriptor = AcrossK(v, kKeys);
  BeginProducts();
#pragma unroll
  for (int i = 0; i < kKeys / 16; ++i) MultiplyAcross(output, weights + 4 * i, descriptor + i * kStepRows);
  CommitProducts();
}

// What a row does not see gets no weight: keys beyond the sequence, and with kCausal those after the row's own.
__device__ void Mask(float (&scores)[64], int first_row, int first_key, int keys) {
#pragma unroll
  for (int i = 0; i < 64; ++i) {
    const int row = first_row + RowOf(i), key = first_key + ColumnOf(i);
    if (key >= keys || (kCausal && key > row)) scores[i] = -INFINITY;
  }
}

template <typename Operation>
__device__ float AcrossRow(float x, Operation operation) {  // of which four threads have part
  x = operation(x, __shfl_xor_sync(~0u, x, 1));
  return operation(x, __shfl_xor_sync(~0u, x, 2));
}

// Of the two rows that a thread has part of.
struct Softmax {
  static constexpr float kLog2E = 1.44269504f, kScale = 0.0883883476f * kLog2E;  // 1 / sqrt(128), for Exp2
  float maximum[2] = {-INFINITY, -INFINITY}, sum[2] = {0.f, 0.f};                // of scores; of this thread's weights

  // Makes weights of scores. Sums and outputs so far are to be scaled by `factor`.
  __device__ void Step(float (&scores)[64], float (&factor)[2]) {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      float largest = maximum[r];
#pragma unroll
      for (int i = 2 * r; i < 64; i += 4) largest = fmaxf(largest, fmaxf(scores[i], scores[i + 1]));
      largest = AcrossRow(largest, [](float x, float y) { return fmaxf(x, y); });
      factor[r] = Exp2((maximum[r] - largest) * kScale);
      maximum[r] = largest;
      sum[r] *= factor[r];
    }
#pragma unroll
    for (int i = 0; i < 64; ++i) {
      scores[i] = Exp2(scores[i] * kScale - maximum[i % 4 / 2] * kScale);
      sum[i % 4 / 2] += scores[i];
    }
  }

  __device__ void Finish() {
#pragma unroll
    for (int r = 0; r < 2; ++r) sum[r] = AcrossRow(sum[r], [](float x, float y) { return x + y; });
  }

  __device__ float LogSumExp(int r) const { return (maximum[r] * kScale + log2f(sum[r])) / kLog2E; }
};

__device__ void Scale(float (&output)[64], const float (&factor)[2]) {
#pragma unroll
  for (int i = 0; i < 64; ++i) output[i] *= factor[i % 4 / 2];
}

// Consumers take turns: a named barrier for each, where the other one arrives when it has started its products.
__device__ void AwaitTurn(int consumer) { SyncNamed(1 + consumer, 2 * kWarpgroup); }
__device__ void GiveTurn(int consumer) { ArriveNamed(1 + (consumer ^ 1), 2 * kWarpgroup); }

__device__ void Attend(Shared& shared, int consumer, int first_row, int steps, int keys, Softmax& softmax,
                       float (&output)[64]) {
  const Bf16* q = shared.q[consumer];
  float scores[64], factor[2];
  uint32_t weights[32];
  Place<kStages> place;
  if (consumer == 1) GiveTurn(consumer);  // the other begins
  Wait(shared.q_full, 0);
  Wait(shared.k_full[0], 0);
  AwaitTurn(consumer);
  StartScores(scores, q, shared.k[0]);
  GiveTurn(consumer);
  WaitForProducts<0>();
  Pin(scores);
  ArriveWarp(shared.k_empty[0]);
  if (kCausal || keys % kKeys != 0) Mask(scores, first_row, (steps - 1) * kKeys, keys);
  softmax.Step(scores, factor);
  Pack(weights, scores);
  for (int step = steps - 2; step >= 0; --step) {
    const Place<kStages> last = place;  // whose weights are made, and still to be multiplied
    place.Advance();
    Wait(shared.k_full[place.stage], place.parity);
    AwaitTurn(consumer);
    StartScores(scores, q, shared.k[place.stage]);
    Wait(shared.v_full[last.stage], last.parity);
    StartOutput(output, weights, shared.v[last.stage]);
    GiveTurn(consumer);
    WaitForProducts<1>();
    Pin(scores);
    ArriveWarp(shared.k_empty[place.stage]);
    softmax.Step(scores, factor);
    WaitForProducts<0>();
    Pin(output);
    ArriveWarp(shared.v_empty[last.stage]);
    Scale(output, factor);
    Pack(weights, scores);
  }
  if (consumer == 0) AwaitTurn(consumer);  // takes the turn that the other gave last
  Wait(shared.v_full[place.stage], place.parity);
  StartOutput(output, weights, shared.v[place.stage]);
  WaitForProducts<0>();
  Pin(output);
}

__device__ void Write(Shared& shared, int consumer, const CUtensorMap& map_o, float* lse, int first_row, int keys,
                      Softmax& softmax, float (&output)[64]) {
  softmax.Finish();
  const int head = blockIdx.y;
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const int row = first_row + RowOf(2 * r);
    if (threadIdx.x % 4 == 0 && row < keys) lse[static_cast<int64_t>(head) * keys + row] = softmax.LogSumExp(r);
  }
  const float factor[2] = {1.f / softmax.sum[0], 1.f / softmax.sum[1]};
  Scale(output, factor);
  Bf16* o = shared.q[consumer];
  SyncNamed(3 + consumer, kWarpgroup);  // Q is no longer needed by anybody
  WriteSlab(o, output, 1.f);
  WriteSlab(o + kRows * kSlab, output + 32, 1.f);
  FenceBeforeStore();
  SyncNamed(3 + consumer, kWarpgroup);
  if (threadIdx.x % kWarpgroup == 0) {
    Store(o, map_o, first_row, 0, head);
    WaitForStores();
  }
}

__global__ void __launch_bounds__(kThreads, 1)
    AttentionForward(const __grid_constant__ CUtensorMap map_q, const __grid_constant__ CUtensorMap map_k,
                     const __grid_constant__ CUtensorMap map_v, const __grid_constant__ CUtensorMap map_o, float* lse,
                     int keys) {
  Shared& shared = DynamicShared<Shared>();
  if (threadIdx.x == 0) {
    Init(shared.q_full, 1);
    for (int stage = 0; stage < kStages; ++stage) {
      Init(shared.k_full[stage], 1);
      Init(shared.v_full[stage], 1);
      Init(shared.k_empty[stage], kConsumers * kWarpgroup / kWarp);
      Init(shared.v_empty[stage], kConsumers * kWarpgroup / kWarp);
    }
    FenceInit();
  }
  __syncthreads();
  // With kCausal, later rows have more to do, so they come first.
  const int block = kCausal ? gridDim.x - 1 - blockIdx.x : blockIdx.x;
  const int first_row = block * kBlockRows;
  const int steps = kCausal ? block + 1 : (keys + kKeys - 1) / kKeys;
  const int role = Warpgroup();
  if (role == kConsumers) {
    GiveRegisters<24>();
    if (threadIdx.x % kWarpgroup == 0) Produce(shared, map_q, map_k, map_v, first_row, steps);
  } else {
    TakeRegisters<240>();
    Softmax softmax;
    float output[64] = {};
    Attend(shared, role, first_row + role * kRows, steps, keys, softmax, output);
    Write(shared, role, map_o, lse, first_row + role * kRows, keys, softmax, output);
  }
}

extern "C" void run(const Bf16* Q, const Bf16* K, const Bf16* V, Bf16* O, float* LSE, int64_t B, int64_t H, int64_t S,
                    cudaStream_t stream) {
  CUtensorMap map_q, map_k, map_v, map_o;  // made anew in each call, since the pointers differ
  if (!Encode(map_q, Q, S, kD, B * H, kRows, kD / kSlab) || !Encode(map_k, K, S, kD, B * H, kKeys, kD / kSlab) ||
      !Encode(map_v, V, S, kD, B * H, kKeys, kD / kSlab) || !Encode(map_o, O, S, kD, B * H, kRows, kD / kSlab)) {
    return;
  }
  cudaFuncSetAttribute(AttentionForward, cudaFuncAttributeMaxDynamicSharedMemorySize, sizeof(Shared));
  const dim3 grid(static_cast<unsigned>((S + kBlockRows - 1) / kBlockRows), static_cast<unsigned>(B * H));
  AttentionForward<<<grid, kThreads, sizeof(Shared), stream>>>(map_q, map_k, map_v, map_o, LSE, static_cast<int>(S));
}
