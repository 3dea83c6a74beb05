// Grouped-query attention over sequences of different lengths, plainly: one block for each query token of each head,
// 128 keys at a time, one thread a key for the scores and one thread a column for the output.
#pragma once

#include <cuda_bf16.h>

#include <cstdint>

namespace gqa {

constexpr int kHeads = 32, kKvHeads = 8, kD = 128;
constexpr int kThreads = kD;
constexpr float kLog2E = 1.4426950408889634f;

// Where a sequence's keys and values lie.
struct Cache {
  const __nv_bfloat16 *k, *v;  // [pages, page_size, kKvHeads, kD]
  const int* indptr;           // [sequences + 1]
  const int* indices;          // null: keys lie one after the other
  const int* last_page_len;    // null: last pages are full
};

// The row of the sequence's key number `key`; its pages begin at `first`.
template <int kPageSize>
__device__ int64_t RowOf(const Cache& cache, int first, int key, int kv_head) {
  const int page = cache.indices == nullptr ? first + key / kPageSize : cache.indices[first + key / kPageSize];
  return ((static_cast<int64_t>(page) * kPageSize + key % kPageSize) * kKvHeads + kv_head) * kD;
}

// How many keys a sequence has.
template <int kPageSize>
__device__ int KeysOf(const Cache& cache, int sequence) {
  const int pages = cache.indptr[sequence + 1] - cache.indptr[sequence];
  if (pages == 0) return 0;
  return pages * kPageSize - (cache.last_page_len == nullptr ? 0 : kPageSize - cache.last_page_len[sequence]);
}

template <bool kMaximum>
__device__ float Reduce(float value, float* scratch) {
  scratch[threadIdx.x] = value;
  __syncthreads();
  for (int half = kThreads / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) {
      const float other = scratch[threadIdx.x + half];
      scratch[threadIdx.x] = kMaximum ? fmaxf(scratch[threadIdx.x], other) : scratch[threadIdx.x] + other;
    }
    __syncthreads();
  }
  const float result = scratch[0];
  __syncthreads();  // before anybody uses scratch again
  return result;
}

// qo_indptr null: token b is sequence b's and sees all of its keys. Otherwise a sequence's tokens are its last ones.
template <int kPageSize>
__global__ void __launch_bounds__(kThreads) Attention(const __nv_bfloat16* q, Cache cache, const int* qo_indptr,
                                                      float scale, __nv_bfloat16* output, float* lse) {
  __shared__ float query[kD], scratch[kThreads], weights[kThreads];
  const int token = blockIdx.x, head = blockIdx.y, kv_head = head / (kHeads / kKvHeads), column = threadIdx.x;
  int sequence = token, later = 0;
  if (qo_indptr != nullptr) {
    for (sequence = 0; token >= qo_indptr[sequence + 1];) ++sequence;
    later = qo_indptr[sequence + 1] - 1 - token;
  }
  const int keys = KeysOf<kPageSize>(cache, sequence) - later, first = cache.indptr[sequence];
  const int64_t row = (static_cast<int64_t>(token) * kHeads + head) * kD;
  query[column] = __bfloat162float(q[row + column]) * scale * kLog2E;
  __syncthreads();

  float largest = -INFINITY, total = 0.f, result = 0.f;
  for (int begin = 0; begin < keys; begin += kThreads) {
    float score = -INFINITY;
    if (begin + column < keys) {
      const __nv_bfloat16* key = cache.k + RowOf<kPageSize>(cache, first, begin + column, kv_head);
      score = 0.f;
      for (int d = 0; d < kD; ++d) score += query[d] * __bfloat162float(key[d]);
    }
    const float before = largest;
    largest = fmaxf(largest, Reduce<true>(score, scratch));
    const float shrink = exp2f(before - largest);
    weights[column] = exp2f(score - largest);
    total = total * shrink + Reduce<false>(weights[column], scratch);
    result *= shrink;
    for (int i = 0; i < min(kThreads, keys - begin); ++i) {
      result += weights[i] * __bfloat162float(cache.v[RowOf<kPageSize>(cache, first, begin + i, kv_head) + column]);
    }
    __syncthreads();  // before the next keys' weights
  }
  output[row + column] = __float2bfloat16(total > 0.f ? result / total : 0.f);
  if (column == 0)
    lse[static_cast<int64_t>(token) * kHeads + head] = largest + log2f(total);  // -inf where nothing is seen
}

}  // namespace gqa
