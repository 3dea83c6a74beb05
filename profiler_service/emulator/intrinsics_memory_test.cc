// Warp-wide intrinsics, cache hints and atomics of CUDA C++, compiled by nvcc, against what they must give.
#include <algorithm>
#include <set>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "profiler_service/emulator/ops/arithmetic/numeric.h"
#include "profiler_service/emulator/testing/emulator_fixture.h"

namespace sassay::emulator {
namespace {

class MemoryIntrinsicsTest : public testing::TestWithParam<sassay::worker::RunMode> {
 protected:
  MemoryIntrinsicsTest() : emulated_(CompiledBundle("intrinsics"), GetParam()) {}
  void Run(const std::string& kernel, uint32_t threads, const std::vector<std::string>& arguments) {
    const auto execution = emulated_.Run(kernel, {1, 1, 1}, {threads, 1, 1}, arguments);
    ASSERT_EQ(execution.outcome, sassay::worker::RUN_OUTCOME_OK) << kernel << ": " << execution.message;
  }
  Emulated emulated_;
};

TEST_P(MemoryIntrinsicsTest, WarpsReduceMatchVoteAndShuffle) {
  constexpr uint32_t kThreads = 64;
  std::vector<uint32_t> a(kThreads);
  for (uint32_t i = 0; i < kThreads; ++i) a[i] = i * 2654435761u >> 7;
  a[5] = 7;
  const uint64_t out = emulated_.Allocate(16 * kThreads * 4);
  ASSERT_NO_FATAL_FAILURE(Run("warps", kThreads, {Bytes(emulated_.Upload(a)), Bytes(out)}));
  const auto results = emulated_.Download<uint32_t>(out, 16 * kThreads);
  for (uint32_t t = 0; t < kThreads; ++t) {
    const uint32_t lane = t % 32, first = t - lane, tile = t / 8 * 8;
    uint32_t most = 0, bits = 0, sum = 0, match = 0, tile_bits = 0, tile_sum = 0;
    int32_t least = INT32_MAX;
    bool any = false;
    for (uint32_t i = first; i < first + 32; ++i) {
      most = std::max(most, a[i]);
      least = std::min(least, static_cast<int32_t>(a[i]));
      bits ^= a[i];
      sum += a[i];
      any |= a[i] == 7;
      if ((a[i] & 3) == (a[t] & 3)) match |= 1u << (i - first);
    }
    for (uint32_t i = tile; i < tile + 8; ++i) tile_bits ^= a[i], tile_sum += a[i] & 255;
    const uint32_t expected[] = {
        most,
        static_cast<uint32_t>(least),
        bits,
        match,
        0xffffffffu + 1,
        (any ? 1u : 0u) + 2 + 4,
        sum,
        tile_bits,
        std::bit_cast<uint32_t>(static_cast<float>(tile_sum)),
        t % 8 < 5 ? a[t + 3] : a[t],
        t % 8 * 100 + t / 8,
        lane == 0 ? 1u : 0u,
        lane < 12 ? 1200 + lane : 0u,
        a[first + (lane ^ 5)],
        31 - lane,
        0,
    };
    for (int row = 0; row < 16; ++row) {
      ASSERT_EQ(results[row * kThreads + t], expected[row]) << "row " << row << " of thread " << t;
    }
  }
}

TEST_P(MemoryIntrinsicsTest, CacheHintsChangeNothing) {
  constexpr uint32_t kThreads = 64;
  std::vector<uint32_t> in(kThreads * 4);
  for (uint32_t i = 0; i < in.size(); ++i) in[i] = i * 40503u + 11;
  const uint64_t copy = emulated_.Allocate(kThreads * 16), out = emulated_.Allocate(9 * kThreads * 4);
  ASSERT_NO_FATAL_FAILURE(Run("memory", kThreads, {Bytes(emulated_.Upload(in)), Bytes(copy), Bytes(out)}));
  EXPECT_EQ(emulated_.Download<uint32_t>(copy, in.size()), in);
  const auto results = emulated_.Download<uint32_t>(out, 9 * kThreads);
  std::vector<uint32_t> box(12);
  for (uint32_t i = 0; i < 12; ++i) box[i] = i;
  for (uint32_t t = 0; t < kThreads; ++t) {
    box[t & 7] += t;
    box[8] = std::max(box[8], t * 3);
    box[9] = box[9] >= 5 ? 0 : box[9] + 1;
    box[10] = box[10] == 0 || box[10] > 7 ? 7 : box[10] - 1;
    box[11] ^= 1u << (t & 31);
  }
  for (uint32_t t = 0; t < kThreads; ++t) {
    const uint32_t* v = &in[t * 4];
    const uint32_t expected[] = {
        4 * in[t],      v[0] ^ v[1] ^ v[2] ^ v[3], v[0], 1 + 2 + 8, t < 12 ? box[t] : 0, in[t], in[t] + 1, in[t],
        t * (t * 5 & 7)};
    for (int row = 0; row < 9; ++row) {
      ASSERT_EQ(results[row * kThreads + t], expected[row]) << "row " << row << " of thread " << t;
    }
  }
}

TEST_P(MemoryIntrinsicsTest, AtomicsOfEveryWidthAndVector) {
  constexpr uint32_t kThreads = 32;
  auto zeros = [&](size_t bytes) { return emulated_.Upload(std::vector<uint64_t>(bytes / 8, 0)); };
  const uint64_t f = zeros(64), d = zeros(8), h2 = zeros(64), b2 = zeros(64), w = zeros(16), f4 = zeros(16),
                 wide = zeros(32), s = zeros(8), out = zeros(66 * 4 + 8);
  ASSERT_NO_FATAL_FAILURE(
      Run("atomics", kThreads,
          {Bytes(f), Bytes(d), Bytes(h2), Bytes(b2), Bytes(w), Bytes(f4), Bytes(wide), Bytes(s), Bytes(out)}));
  EXPECT_THAT(emulated_.Download<float>(f, 6), testing::ElementsAre(32, 0, 32, 96, 32, 32));
  EXPECT_EQ(emulated_.Download<double>(d, 1)[0], 16);
  auto half = [](uint16_t v) { return HalfToFloat(v); };
  const auto halves = emulated_.Download<uint16_t>(h2, 16);
  EXPECT_EQ(half(halves[0]), 32);
  EXPECT_EQ(half(halves[1]), 64);
  EXPECT_EQ(half(halves[2]), 32);
  EXPECT_EQ(half(halves[3]), 32);
  for (int i = 8; i < 16; ++i) EXPECT_EQ(half(halves[i]), 32) << i;
  const auto brains = emulated_.Download<uint16_t>(b2, 12);
  EXPECT_EQ(Bf16ToFloat(brains[0]), 32);
  EXPECT_EQ(Bf16ToFloat(brains[1]), 16);
  for (int i = 8; i < 12; ++i) EXPECT_EQ(Bf16ToFloat(brains[i]), 32) << i;
  EXPECT_THAT(emulated_.Download<int64_t>(w, 2), testing::ElementsAre(int64_t{496} << 33, -31));
  EXPECT_THAT(emulated_.Download<float>(f4, 4), testing::ElementsAre(32, 64, 96, 128));
  EXPECT_NE(emulated_.Download<uint16_t>(s, 1)[0], 0);
  // Every pair is swapped out once, but for the one that stays; the first who looks finds zeros.
  const auto words = emulated_.Download<uint64_t>(wide, 4);
  EXPECT_EQ(words[1], words[0] * 10);
  std::multiset<uint32_t> seen, expected = {0};
  const auto results = emulated_.Download<uint32_t>(out, 66);
  for (uint32_t t = 0; t < kThreads; ++t) {
    seen.insert(results[2 + t]);
    if (t + 1 != words[0]) expected.insert((t + 1) * 1000 + (t + 1) * 10);
  }
  EXPECT_EQ(seen, expected);
  // One compare-and-swap finds zeros; the others find what it left.
  EXPECT_EQ(words[3], 7u);
  EXPECT_EQ(std::count(results.begin() + 34, results.end(), 0u), 1);
  EXPECT_EQ(std::count(results.begin() + 34, results.end(), static_cast<uint32_t>(words[2])), 31);
}

INSTANTIATE_TEST_SUITE_P(Modes, MemoryIntrinsicsTest,
                         testing::Values(sassay::worker::RUN_MODE_PLAIN, sassay::worker::RUN_MODE_CHECKED),
                         [](const auto& info) { return sassay::worker::RunMode_Name(info.param); });

}  // namespace
}  // namespace sassay::emulator
