// Paged grouped-query decode, bound by memory: each key and value is read once for all query heads that share it, 16
// bytes a lane, four keys in flight; long sequences are split among blocks, whose partial results a second kernel puts
// together.
#pragma once

#include <cuda_bf16.h>

#include <cstdint>

namespace gqa {

constexpr int kHeads = 32, kKvHeads = 8, kGroup = kHeads / kKvHeads, kD = 128;
constexpr int kLanes = 16;             // that work on one key
constexpr int kColumns = kD / kLanes;  // of each lane
constexpr int kThreads = 128;
constexpr int kTeams = kThreads / kLanes;
constexpr int kInFlight = 4;    // keys of a team
constexpr int kSplits = 16;     // blocks of one sequence and key head, at most
constexpr int kLeastKeys = 64;  // of a block, unless it is the last
constexpr float kLog2E = 1.4426950408889634f;

struct Decode {
  const __nv_bfloat16 *q, *k, *v;
  const int *indptr, *indices, *last_page_len;  // the last is null where last pages are full
  float scale;
  // [tokens, kHeads, kSplits] and the same times kD: what each block found.
  float *largest, *total, *sums;
};

struct Share {
  int first_page, begin, end;  // keys of this block
};

__host__ __device__ constexpr int CeilDiv(int a, int b) { return (a + b - 1) / b; }

template <int kPageSize>
__device__ int KeysOf(const Decode& a, int sequence) {
  const int pages = a.indptr[sequence + 1] - a.indptr[sequence];
  if (pages == 0) return 0;
  return pages * kPageSize - (a.last_page_len == nullptr ? 0 : kPageSize - a.last_page_len[sequence]);
}

__device__ inline int KeysOfABlock(int keys) { return max(kLeastKeys, CeilDiv(keys, kSplits)); }

struct Columns {
  float x[kColumns];
};

__device__ inline Columns Load(const __nv_bfloat16* from) {
  const uint4 bytes = *reinterpret_cast<const uint4*>(from);
  const uint32_t words[4] = {bytes.x, bytes.y, bytes.z, bytes.w};
  Columns columns;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    columns.x[2 * i] = __uint_as_float(words[i] << 16);
    columns.x[2 * i + 1] = __uint_as_float(words[i] & 0xffff0000u);
  }
  return columns;
}

// One team's running softmax for the query heads of one key head.
struct Running {
  float largest[kGroup], total[kGroup];
  Columns sums[kGroup];
};

template <int kPageSize>
__device__ void AddKeys(const Decode& a, const Share& share, int key, int column, const Columns (&query)[kGroup],
                        Running& running) {
  Columns keys[kInFlight], values[kInFlight];
#pragma unroll
  for (int i = 0; i < kInFlight; ++i) {
    const int at = min(key + i, share.end - 1);
    const int64_t page = a.indices[share.first_page + at / kPageSize];
    const int64_t row = ((page * kPageSize + at % kPageSize) * kKvHeads + blockIdx.y) * kD + column;
    keys[i] = Load(a.k + row);
    values[i] = Load(a.v + row);
  }
#pragma unroll
  for (int head = 0; head < kGroup; ++head) {
    float scores[kInFlight], largest = running.largest[head];
#pragma unroll
    for (int i = 0; i < kInFlight; ++i) {
      scores[i] = 0.f;
#pragma unroll
      for (int c = 0; c < kColumns; ++c) scores[i] += query[head].x[c] * keys[i].x[c];
#pragma unroll
      for (int distance = kLanes / 2; distance > 0; distance /= 2) {
        scores[i] += __shfl_xor_sync(0xffffffffu, scores[i], distance);
      }
      if (key + i >= share.end) scores[i] = -INFINITY;
      largest = fmaxf(largest, scores[i]);
    }
    if (largest == -INFINITY) continue;  // this team has no key yet
    const float shrink = exp2f(running.largest[head] - largest);
    running.largest[head] = largest;
    running.total[head] *= shrink;
#pragma unroll
    for (int c = 0; c < kColumns; ++c) running.sums[head].x[c] *= shrink;
#pragma unroll
    for (int i = 0; i < kInFlight; ++i) {
      const float weight = exp2f(scores[i] - largest);
      running.total[head] += weight;
#pragma unroll
      for (int c = 0; c < kColumns; ++c) running.sums[head].x[c] += weight * values[i].x[c];
    }
  }
}

// The teams of a block put together, one query head after the other.
__device__ inline void WriteBlock(const Decode& a, const Running& running) {
  __shared__ float largest[kTeams], total[kTeams], sums[kTeams][kD];
  const int team = threadIdx.x / kLanes, lane = threadIdx.x % kLanes;
#pragma unroll
  for (int head = 0; head < kGroup; ++head) {
    if (lane == 0) {
      largest[team] = running.largest[head];
      total[team] = running.total[head];
    }
#pragma unroll
    for (int c = 0; c < kColumns; ++c) sums[team][lane * kColumns + c] = running.sums[head].x[c];
    __syncthreads();
    float top = -INFINITY, all = 0.f, sum = 0.f;
    for (int i = 0; i < kTeams; ++i) top = fmaxf(top, largest[i]);
    for (int i = 0; i < kTeams; ++i) {
      const float weight = exp2f(largest[i] - top);
      all += weight * total[i];
      sum += weight * sums[i][threadIdx.x];
    }
    const int64_t at = (static_cast<int64_t>(blockIdx.z) * kHeads + blockIdx.y * kGroup + head) * kSplits + blockIdx.x;
    a.sums[at * kD + threadIdx.x] = sum;
    if (threadIdx.x == 0) {
      a.largest[at] = top;
      a.total[at] = all;
    }
    __syncthreads();
  }
}

// Grid: (kSplits, kKvHeads, sequences).
template <int kPageSize>
__global__ void __launch_bounds__(kThreads) DecodeShares(Decode a) {
  const int sequence = blockIdx.z, keys = KeysOf<kPageSize>(a, sequence), of_a_block = KeysOfABlock(keys);
  const int begin = blockIdx.x * of_a_block;
  if (begin >= keys) return;
  const Share share = {a.indptr[sequence], begin, min(keys, begin + of_a_block)};
  const int team = threadIdx.x / kLanes, column = threadIdx.x % kLanes * kColumns;
  Columns query[kGroup];
  Running running;
#pragma unroll
  for (int head = 0; head < kGroup; ++head) {
    query[head] = Load(a.q + (static_cast<int64_t>(sequence) * kHeads + blockIdx.y * kGroup + head) * kD + column);
#pragma unroll
    for (int c = 0; c < kColumns; ++c) {
      query[head].x[c] *= a.scale * kLog2E;
      running.sums[head].x[c] = 0.f;
    }
    running.largest[head] = -INFINITY;
    running.total[head] = 0.f;
  }
  // Every team goes as often as the first: shuffles take the whole warp.
  for (int key = begin; key < share.end; key += kTeams * kInFlight) {
    AddKeys<kPageSize>(a, share, key + team * kInFlight, column, query, running);
  }
  WriteBlock(a, running);
}

// Grid: (sequences, kHeads).
template <int kPageSize>
__global__ void __launch_bounds__(kThreads) DecodeTogether(Decode a, __nv_bfloat16* output, float* lse) {
  const int64_t row = static_cast<int64_t>(blockIdx.x) * kHeads + blockIdx.y;
  const int keys = KeysOf<kPageSize>(a, blockIdx.x), shares = CeilDiv(keys, KeysOfABlock(keys));
  float top = -INFINITY, total = 0.f, sum = 0.f;
  for (int i = 0; i < shares; ++i) top = fmaxf(top, a.largest[row * kSplits + i]);
  for (int i = 0; i < shares; ++i) {
    const int64_t at = row * kSplits + i;
    const float weight = exp2f(a.largest[at] - top);
    total += weight * a.total[at];
    sum += weight * a.sums[at * kD + threadIdx.x];
  }
  output[row * kD + threadIdx.x] = __float2bfloat16(shares > 0 ? sum / total : 0.f);
  if (threadIdx.x == 0) lse[row] = shares > 0 ? top + log2f(total) : -INFINITY;
}

template <int kPageSize>
void Run(Decode a, int64_t sequences, __nv_bfloat16* output, float* lse, cudaStream_t stream) {
  const size_t shares = static_cast<size_t>(sequences) * kHeads * kSplits;
  void* workspace = nullptr;
  cudaMallocAsync(&workspace, shares * (kD + 2) * sizeof(float), stream);
  a.sums = static_cast<float*>(workspace);
  a.largest = a.sums + shares * kD;
  a.total = a.largest + shares;
  const auto tokens = static_cast<unsigned>(sequences);
  DecodeShares<kPageSize><<<dim3(kSplits, kKvHeads, tokens), kThreads, 0, stream>>>(a);
  DecodeTogether<kPageSize><<<dim3(tokens, kHeads), kThreads, 0, stream>>>(a, output, lse);
  cudaFreeAsync(workspace, stream);
}

}  // namespace gqa
