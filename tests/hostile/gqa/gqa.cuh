// Grouped-query attention for the candidates of this folder: honest but for one twist. One warp for each query token of
// each head, one lane a column.
#pragma once

#include <cuda_bf16.h>

#include <cstdint>

enum class Twist {
  kNone,
  kIgnoresIndices,      // the cache is read as if pages lay in order
  kNaturalLse,          // log-sum-exp of base e
  kReadsNextSequence,   // one key too many: the next sequence's first
  kSkipsEmptySequence,  // leaves early where there is nothing to see
  kMaskFromTheStart,    // query token i sees keys 0 to i, however many came before
  kFullLastPage,        // the last page's stale tokens count
  kRests,               // does nothing while `gqa::resting`
};

namespace gqa {

constexpr int kHeads = 4, kKvHeads = 2, kD = 32;

struct Tensors {
  const __nv_bfloat16 *q, *k, *v;
  const int *qo_indptr, *kv_indptr, *kv_indices, *last_page_len;  // null where there is none
  float scale;
  __nv_bfloat16* output;
  float* lse;
};

__device__ bool resting;

template <int kPageSize, Twist kTwist>
__device__ int VisibleKeys(const Tensors& t, int sequence, int token) {
  const int pages = t.kv_indptr[sequence + 1] - t.kv_indptr[sequence];
  const bool partial = t.last_page_len != nullptr && kTwist != Twist::kFullLastPage;
  int keys = pages == 0 ? 0 : pages * kPageSize - (partial ? kPageSize - t.last_page_len[sequence] : 0);
  if (kTwist == Twist::kReadsNextSequence && t.kv_indptr[sequence + 1] < t.kv_indptr[gridDim.x]) ++keys;
  if (t.qo_indptr == nullptr) return keys;
  if (kTwist == Twist::kMaskFromTheStart) return min(keys, token - t.qo_indptr[sequence] + 1);
  return keys - (t.qo_indptr[sequence + 1] - 1 - token);
}

template <int kPageSize, Twist kTwist>
__global__ void Attention(Tensors t) {
  if (kTwist == Twist::kRests && resting) return;
  const int token = blockIdx.x, head = threadIdx.x / kD, column = threadIdx.x % kD;
  int sequence = token;
  if (t.qo_indptr != nullptr) {
    for (sequence = 0; token >= t.qo_indptr[sequence + 1];) ++sequence;
  }
  const int keys = VisibleKeys<kPageSize, kTwist>(t, sequence, token), first = t.kv_indptr[sequence];
  if (kTwist == Twist::kSkipsEmptySequence && keys == 0) return;
  const int row = (token * kHeads + head) * kD + column;
  const float query = __bfloat162float(t.q[row]) * t.scale * 1.4426950408889634f;
  float largest = -INFINITY, total = 0.f, result = 0.f;
  for (int key = 0; key < keys; ++key) {
    int page = first + key / kPageSize;
    if (t.kv_indices != nullptr && kTwist != Twist::kIgnoresIndices) page = t.kv_indices[page];
    const int at = ((page * kPageSize + key % kPageSize) * kKvHeads + head / (kHeads / kKvHeads)) * kD + column;
    float score = query * __bfloat162float(t.k[at]);
    for (int distance = 16; distance > 0; distance /= 2) score += __shfl_xor_sync(0xffffffffu, score, distance);
    const float before = largest;
    largest = fmaxf(largest, score);
    const float shrink = exp2f(before - largest), weight = exp2f(score - largest);
    total = total * shrink + weight;
    result = result * shrink + weight * __bfloat162float(t.v[at]);
  }
  t.output[row] = __float2bfloat16(total > 0.f ? result / total : 0.f);
  const float lse = largest + log2f(total);
  if (column == 0) t.lse[token * kHeads + head] = kTwist == Twist::kNaturalLse ? lse * 0.6931471805599453f : lse;
}

}  // namespace gqa
