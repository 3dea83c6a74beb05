// Inputs, poison, guards and byte comparison.
#ifndef SASSAY_PROFILER_SERVICE_JUDGE_GPU_KERNELS_MEMORY_CUH_
#define SASSAY_PROFILER_SERVICE_JUDGE_GPU_KERNELS_MEMORY_CUH_

#include "profiler_service/judge/gpu/kernels/elements.cuh"

namespace sassay::judge::gpu {

struct Random {
  uint32_t words[4];
};

// Philox4x32-10, as inputs/philox.h.
__device__ inline Random Philox(uint64_t key, uint64_t index, uint32_t stream, uint32_t purpose) {
  uint32_t k0 = static_cast<uint32_t>(key), k1 = static_cast<uint32_t>(key >> 32);
  uint32_t c0 = static_cast<uint32_t>(index), c1 = static_cast<uint32_t>(index >> 32), c2 = stream, c3 = purpose;
#pragma unroll
  for (int round = 0; round < 10; ++round) {
    const uint64_t p0 = uint64_t{0xD2511F53} * c0, p1 = uint64_t{0xCD9E8D57} * c2;
    c0 = static_cast<uint32_t>(p1 >> 32) ^ c1 ^ k0;
    c1 = static_cast<uint32_t>(p1);
    c2 = static_cast<uint32_t>(p0 >> 32) ^ c3 ^ k1;
    c3 = static_cast<uint32_t>(p0);
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
  return {{c0, c1, c2, c3}};
}

// The order of inputs.h's enum.
enum DistributionCode : uint32_t { kNormal, kUniform, kOutliers, kIntegers, kSmall, kStructured, kDecoy };

__device__ inline double FloatValue(const GenerateArguments& a, int64_t i, uint32_t bits, uint32_t more) {
  const double normal = At<const float>(a.normal_table, bits);
  switch (a.distribution) {
    case kNormal:
      return normal;
    case kOutliers:
      return normal * (more % 1024 == 0 ? 16 : 1);
    case kIntegers:
      return static_cast<int>(bits % 9) - 4;
    case kSmall:
      return normal * (1.0 / 64);
    case kStructured:
      return Philox(a.seed, static_cast<uint64_t>(i / a.columns), a.stream, 2).words[0] / 2147483648.0 - 1 +
             0.5 * normal;
    default:
      return bits / 32768.0 - 1;
  }
}

__device__ inline double IntegerValue(const GenerateArguments& a, uint32_t bits, uint32_t more) {
  if (a.element == Element::kBool) return bits & 1;
  const int64_t number = static_cast<int64_t>(more) << 16 | bits;
  return static_cast<double>(a.minimum + number % a.extent);
}

extern "C" __global__ void __launch_bounds__(kThreads) sassay_generate(GenerateArguments a) {
  const int64_t count = static_cast<int64_t>(a.count);
  for (int64_t block = First(); block * 8 < count; block += Stride()) {
    const Random random = Philox(a.seed, block, a.stream, 0), extra = Philox(a.seed, block, a.stream, 1);
#pragma unroll
    for (int lane = 0; lane < 8; ++lane) {
      const int64_t i = block * 8 + lane;
      if (i >= count) break;
      const uint32_t bits = random.words[lane / 2] >> (lane % 2 * 16) & 0xFFFF;
      const uint32_t more = extra.words[lane / 2] >> (lane % 2 * 16) & 0xFFFF;
      Store(a.element, a.destination, i, a.floating ? FloatValue(a, i, bits, more) : IntegerValue(a, bits, more));
    }
  }
}

// As device/poison.h.
__device__ inline uint64_t PoisonWord(uint64_t seed, uint64_t word_index) {
  uint64_t z = seed + (word_index + 1) * 0x9E3779B97F4A7C15;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  z ^= z >> 31;
  return (z & 0x81FF81FF81FF81FF) | 0x3E003E003E003E00;
}

__device__ inline uint8_t PoisonByte(uint64_t seed, uint64_t position) {
  return static_cast<uint8_t>(PoisonWord(seed, position / 8) >> (position % 8 * 8));
}

// A thread's word covers up to eight bytes of the memory, wherever that starts in the pattern.
template <typename Body>
__device__ inline void ForWords(const PatternArguments& a, Body body) {
  const uint64_t first_word = a.offset / 8, words = a.bytes == 0 ? 0 : (a.offset + a.bytes - 1) / 8 - first_word + 1;
  for (uint64_t i = First(); i < words; i += Stride()) {
    const uint64_t word = PoisonWord(a.seed, first_word + i), start = (first_word + i) * 8;
    body(word, static_cast<int64_t>(start) - static_cast<int64_t>(a.offset));
  }
}

extern "C" __global__ void __launch_bounds__(kThreads) sassay_pattern_fill(PatternArguments a) {
  ForWords(a, [&](uint64_t word, int64_t at) {
    if (at >= 0 && at + 8 <= static_cast<int64_t>(a.bytes) && (a.memory + at) % 8 == 0) {
      At<uint64_t>(a.memory + at, 0) = word;
      return;
    }
    for (int byte = 0; byte < 8; ++byte) {
      if (at + byte < 0 || at + byte >= static_cast<int64_t>(a.bytes)) continue;
      At<uint8_t>(a.memory, at + byte) = static_cast<uint8_t>(word >> (byte * 8));
    }
  });
}

__device__ inline void Combine(ByteDifference& a, const ByteDifference& b) {
  a.count += b.count;
  a.first = min(a.first, b.first);
  a.last = max(a.last, b.last);
}

__device__ inline void Note(ByteDifference& found, uint64_t position) { Combine(found, {1, position, position}); }

__device__ inline void Publish(ByteDifference found, uint64_t result) {
  ReduceBlock(found, [](ByteDifference& a, const ByteDifference& b) { Combine(a, b); });
  if (threadIdx.x != 0 || found.count == 0) return;
  unsigned long long* to = reinterpret_cast<unsigned long long*>(result);
  atomicAdd(to, static_cast<unsigned long long>(found.count));
  atomicMin(to + 1, static_cast<unsigned long long>(found.first));
  atomicMax(to + 2, static_cast<unsigned long long>(found.last));
}

extern "C" __global__ void __launch_bounds__(kThreads) sassay_pattern_check(PatternArguments a) {
  ByteDifference found{0, UINT64_MAX, 0};
  ForWords(a, [&](uint64_t word, int64_t at) {
    const bool whole = at >= 0 && at + 8 <= static_cast<int64_t>(a.bytes) && (a.memory + at) % 8 == 0;
    if (whole && At<const uint64_t>(a.memory + at, 0) == word) return;
    for (int byte = 0; byte < 8; ++byte) {
      if (at + byte < 0 || at + byte >= static_cast<int64_t>(a.bytes)) continue;
      if (At<const uint8_t>(a.memory, at + byte) != static_cast<uint8_t>(word >> (byte * 8))) Note(found, at + byte);
    }
  });
  Publish(found, a.result);
}

extern "C" __global__ void __launch_bounds__(kThreads) sassay_difference(DifferenceArguments a) {
  ByteDifference found{0, UINT64_MAX, 0};
  const bool aligned = a.expected % 8 == 0 && a.actual % 8 == 0;
  const int64_t words = static_cast<int64_t>((a.bytes + 7) / 8);
  for (int64_t i = First(); i < words; i += Stride()) {
    const int64_t at = i * 8, size = min(int64_t{8}, static_cast<int64_t>(a.bytes) - at);
    if (aligned && size == 8 && At<const uint64_t>(a.expected, i) == At<const uint64_t>(a.actual, i)) continue;
    for (int64_t byte = at; byte < at + size; ++byte) {
      if (At<const uint8_t>(a.expected, byte) != At<const uint8_t>(a.actual, byte)) Note(found, byte);
    }
  }
  Publish(found, a.result);
}

}  // namespace sassay::judge::gpu

#endif  // SASSAY_PROFILER_SERVICE_JUDGE_GPU_KERNELS_MEMORY_CUH_
