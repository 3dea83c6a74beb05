// Grouped-query attention over sequences of different lengths, paged or not: what the shipped gqa_* definitions are
// judged by. One warp for each (query token, head), one key after the other, softmax and sums in double precision;
// nothing clever.
#include <cuda_bf16.h>

#include "profiler_service/reference_kernels/kernels/arguments.h"

namespace sassay::reference_kernels {
namespace {

constexpr int kLanes = 32;
constexpr int kMost = kMaxHeadDim / kLanes;  // elements of a head that one lane holds

template <typename T>
__device__ T* At(uint64_t address) {
  return reinterpret_cast<T*>(address);
}

__device__ double SumOfWarp(double value) {
  for (int distance = kLanes / 2; distance > 0; distance /= 2) value += __shfl_xor_sync(0xffffffffu, value, distance);
  return value;
}

// One query token's place among its sequence's keys.
struct Place {
  int64_t first_page;  // in kv_indices
  int64_t keys;        // those that the token sees
};

__device__ Place PlaceOf(const GqaArguments& a, int64_t token) {
  const int* kv_indptr = At<const int>(a.kv_indptr);
  const int* qo_indptr = At<const int>(a.qo_indptr);
  int64_t sequence = token, later = 0;
  if (qo_indptr != nullptr) {
    for (sequence = 0; token >= qo_indptr[sequence + 1]; ++sequence) {
    }
    later = qo_indptr[sequence + 1] - 1 - token;
  }
  const int64_t first = kv_indptr[sequence], pages = kv_indptr[sequence + 1] - first;
  int64_t keys = pages * a.page_size;
  if (pages > 0 && a.kv_last_page_len != 0) {
    keys -= a.page_size - At<const int>(a.kv_last_page_len)[sequence];
  }
  return {first, keys - later};
}

// Where a key or value of the sequence lies, in elements.
__device__ int64_t RowOf(const GqaArguments& a, const Place& place, int64_t key, int64_t head) {
  int64_t page = place.first_page + key / a.page_size;
  if (a.kv_indices != 0) page = At<const int>(a.kv_indices)[page];
  return ((page * a.page_size + key % a.page_size) * a.kv_heads + head / (a.heads / a.kv_heads)) * a.head_dim;
}

__device__ void Attend(const GqaArguments& a, int64_t token, int64_t head, int lane) {
  const Place place = PlaceOf(a, token);
  const int64_t row = (token * a.heads + head) * a.head_dim;
  const int held = static_cast<int>(a.head_dim / kLanes);
  double sums[kMost], q[kMost];
#pragma unroll
  for (int i = 0; i < kMost; ++i) {
    sums[i] = 0;
    q[i] = i < held ? __bfloat162float(At<const __nv_bfloat16>(a.q)[row + lane + i * kLanes]) : 0;
  }
  double top = -INFINITY, total = 0;
  for (int64_t key = 0; key < place.keys; ++key) {
    const int64_t at = RowOf(a, place, key, head) + lane;
    double product = 0;
#pragma unroll
    for (int i = 0; i < kMost; ++i) {
      if (i < held) product += q[i] * __bfloat162float(At<const __nv_bfloat16>(a.k)[at + i * kLanes]);
    }
    const double score = SumOfWarp(product) * a.scale;
    if (score > top) {
      const double shrink = exp(top - score);
      total *= shrink;
#pragma unroll
      for (int i = 0; i < kMost; ++i) sums[i] *= shrink;
      top = score;
    }
    const double weight = exp(score - top);
    total += weight;
#pragma unroll
    for (int i = 0; i < kMost; ++i) {
      if (i < held) sums[i] += weight * __bfloat162float(At<const __nv_bfloat16>(a.v)[at + i * kLanes]);
    }
  }
#pragma unroll
  for (int i = 0; i < kMost; ++i) {
    if (i < held) {
      At<__nv_bfloat16>(a.output)[row + lane + i * kLanes] = __double2bfloat16(total > 0 ? sums[i] / total : 0);
    }
  }
  const double lse = total > 0 ? (top + log(total)) / log(2.0) : -INFINITY;
  if (lane == 0) At<float>(a.lse)[token * a.heads + head] = static_cast<float>(lse);
}

}  // namespace

extern "C" __global__ void __launch_bounds__(kWarpsPerBlock * kLanes) sassay_gqa(GqaArguments a) {
  const int64_t warps = int64_t{gridDim.x} * kWarpsPerBlock;
  for (int64_t i = int64_t{blockIdx.x} * kWarpsPerBlock + threadIdx.x / kLanes; i < a.tokens * a.heads; i += warps) {
    Attend(a, i / a.heads, i % a.heads, static_cast<int>(threadIdx.x % kLanes));
  }
}

}  // namespace sassay::reference_kernels
