// Fixed work whose time tells how fast a GPU is now, and whose sums tell whether it still computes what it should.
#ifndef SASSAY_PROFILER_SERVICE_JUDGE_GPU_KERNELS_CANARY_CUH_
#define SASSAY_PROFILER_SERVICE_JUDGE_GPU_KERNELS_CANARY_CUH_

#include "profiler_service/judge/gpu/kernels/elements.cuh"

namespace sassay::judge::gpu {

__device__ inline uint64_t GlobalTime() {
  uint64_t time;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(time));
  return time;
}

// A block's share of the answer: sums of its threads' sums, and when it began and ended.
__device__ inline void LeavePartial(uint64_t partials, uint64_t begin_ns, uint64_t sum) {
  __shared__ unsigned long long total;
  if (threadIdx.x == 0) total = 0;
  __syncthreads();
  atomicAdd(&total, static_cast<unsigned long long>(sum));
  __syncthreads();
  if (threadIdx.x == 0) At<CanaryPartial>(partials, blockIdx.x) = {total, begin_ns, GlobalTime()};
}

// Two bf16 that are small whole numbers, the first in the lower half.
__device__ inline uint32_t PackBf16(int first, int second) {
  return __float_as_uint(static_cast<float>(first)) >> 16 |
         (__float_as_uint(static_cast<float>(second)) & 0xFFFF0000);
}

// c (+)= a b for one warp, in fragments as PTX defines them for mma.m16n8k16 with .bf16.
__device__ inline void MultiplyBf16(float (&c)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
#if defined(SASSAY_WITHOUT_TENSOR_CORES)
  const int lane = threadIdx.x % 32, row = lane / 4, column = lane % 4 * 2;
  const auto half = [](uint32_t pair, int which) { return __uint_as_float(which == 0 ? pair << 16 : pair & 0xFFFF0000); };
  for (int k = 0; k < 16; ++k) {
    const int from = k % 8 / 2;
    const uint32_t upper = __shfl_sync(~0u, a[k / 8 * 2], row * 4 + from);
    const uint32_t lower = __shfl_sync(~0u, a[k / 8 * 2 + 1], row * 4 + from);
    const uint32_t left = __shfl_sync(~0u, b[k / 8], column * 4 + from);
    const uint32_t right = __shfl_sync(~0u, b[k / 8], column * 4 + 4 + from);
    c[0] += half(upper, k % 2) * half(left, k % 2);
    c[1] += half(upper, k % 2) * half(right, k % 2);
    c[2] += half(lower, k % 2) * half(left, k % 2);
    c[3] += half(lower, k % 2) * half(right, k % 2);
  }
#else
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#endif
}

// Every warp adds A B_j and takes it away again, and adds it once more in the end: sums stay exact, and whatever was
// computed wrongly stays in them. No memory is touched meanwhile.
extern "C" __global__ void __launch_bounds__(kThreads) sassay_canary_tensor(CanaryTensorArguments p) {
  const uint64_t begin_ns = GlobalTime();
  const int lane = threadIdx.x % 32, group = lane / 4, member = lane % 4 * 2;
  uint32_t a[4], plus[kCanaryChains][2], minus[kCanaryChains][2];
  float c[kCanaryChains][4];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const int row = group + i % 2 * 8, k = member + i / 2 * 8;
    a[i] = PackBf16(CanaryA(row, k), CanaryA(row, k + 1));
  }
#pragma unroll
  for (int j = 0; j < kCanaryChains; ++j) {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const int k = member + i * 8;
      plus[j][i] = PackBf16(CanaryB(j, k, group), CanaryB(j, k + 1, group));
      minus[j][i] = PackBf16(-CanaryB(j, k, group), -CanaryB(j, k + 1, group));
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) c[j][i] = static_cast<float>(CanaryC(group + i / 2 * 8, member + i % 2));
  }
  for (uint32_t round = 0; round < p.rounds; ++round) {
#pragma unroll
    for (int j = 0; j < kCanaryChains; ++j) MultiplyBf16(c[j], a, plus[j]);
#pragma unroll
    for (int j = 0; j < kCanaryChains; ++j) MultiplyBf16(c[j], a, minus[j]);
  }
  uint64_t sum = 0;
#pragma unroll
  for (int j = 0; j < kCanaryChains; ++j) {
    MultiplyBf16(c[j], a, plus[j]);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      sum += CanaryWeighted(j, group + i / 2 * 8, member + i % 2, static_cast<int64_t>(rintf(c[j][i])));
    }
  }
  LeavePartial(p.partials, begin_ns, sum);
}

extern "C" __global__ void __launch_bounds__(kThreads) sassay_canary_fill(CanaryFillArguments p) {
  const int64_t words = static_cast<int64_t>(p.words);
  for (int64_t i = First(); i < words; i += Stride()) At<uint64_t>(p.memory, i) = CanaryWord(static_cast<uint64_t>(i));
}

// Copies, adding a constant to every word, and adds up all that was read.
extern "C" __global__ void __launch_bounds__(kThreads) sassay_canary_copy(CanaryCopyArguments p) {
  const uint64_t begin_ns = GlobalTime();
  const int64_t pairs = static_cast<int64_t>(p.words / 2);
  uint64_t sum = 0;
  for (uint32_t pass = 0; pass < p.passes; ++pass) {
#pragma unroll 4
    for (int64_t i = First(); i < pairs; i += Stride()) {
      ulonglong2 pair = At<const ulonglong2>(p.from, i);
      sum += pair.x + pair.y;
      pair.x += p.added;
      pair.y += p.added;
      At<ulonglong2>(p.to, i) = pair;
    }
  }
  LeavePartial(p.partials, begin_ns, sum);
}

}  // namespace sassay::judge::gpu

#endif  // SASSAY_PROFILER_SERVICE_JUDGE_GPU_KERNELS_CANARY_CUH_
