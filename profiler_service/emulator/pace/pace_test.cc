// Lower bounds are lower bounds, and sizes that are said to fit do.
#include <algorithm>
#include <cmath>
#include <random>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "profiler_service/emulator/pace/estimate.h"
#include "profiler_service/emulator/pace/ledger.h"

namespace sassay::emulator {
namespace {

using ::testing::HasSubstr;

std::vector<BlockSample> Samples(const std::vector<double>& costs, double seen = 1e9) {
  std::vector<BlockSample> samples;
  for (const uint64_t index : SpreadIndices(0, costs.size(), kSampledBlocks)) {
    samples.push_back({std::min(costs[index], seen), costs[index] <= seen});
  }
  return samples;
}

double Mean(const std::vector<double>& costs) {
  double sum = 0;
  for (const double cost : costs) sum += cost;
  return sum / static_cast<double>(costs.size());
}

TEST(EstimateTest, SamplesComeFromAllOverTheGridOnce) {
  for (const uint64_t first : {uint64_t{0}, uint64_t{7}, uint64_t{1} << 40}) {
    const auto indices = SpreadIndices(first, first + 3200, 16);
    ASSERT_EQ(indices.size(), 16u);
    for (size_t i = 0; i < indices.size(); ++i) EXPECT_EQ((indices[i] - first) / 200, i);
  }
}

// Grids whose blocks differ: rising, falling, in waves, mostly idle, one busy, random.
TEST(EstimateTest, TheBoundStaysUnderTheTruthHoweverBlocksDiffer) {
  std::mt19937 random(7);
  std::exponential_distribution<double> exponential(1);
  for (const size_t size : {32, 100, 1000, 4096}) {
    std::vector<std::vector<double>> grids(7, std::vector<double>(size));
    for (size_t i = 0; i < size; ++i) {
      const double x = static_cast<double>(i) / static_cast<double>(size);
      grids[0][i] = 1;
      grids[1][i] = x;
      grids[2][i] = 1 - x * x;
      grids[3][i] = i % 16 == 3 ? 5 : 0.001;
      grids[4][i] = i % 10 == 0 ? 0.001 : 2;
      grids[5][i] = i == 0 ? 1000 : 0.001;
      grids[6][i] = exponential(random);
    }
    for (size_t g = 0; g < grids.size(); ++g) {
      for (const double seen : {0.1, 0.5, 1e9}) {
        const auto samples = Samples(grids[g], seen);
        EXPECT_LE(LeastMeanSeconds(samples), Mean(grids[g])) << "grid " << g << " of " << size;
        if (g == 3 || g == 5) continue;  // perhaps no sample meets a busy block
        EXPECT_GE(MostSeconds(samples), Mean(grids[g])) << "grid " << g << " of " << size;
      }
    }
    EXPECT_GT(LeastMeanSeconds(Samples(grids[0])), 0.7);
    EXPECT_GT(LeastMeanSeconds(Samples(grids[1])), 0.2);
  }
}

TEST(EstimateTest, RestCountsBlocksToStartAndLaunchesToCome) {
  LaunchPace pace;
  pace.blocks = 1000;
  pace.blocks_started = 400;
  pace.parallel = 2;
  pace.samples.assign(kSampledBlocks, {1.0, true});
  EXPECT_NEAR(absl::ToDoubleSeconds(LeastRest(pace)), 0.8 * 600 / 2, 1);
  pace.repeats = 3;
  pace.later = absl::Seconds(5);
  EXPECT_NEAR(absl::ToDoubleSeconds(LeastRest(pace)), 0.8 * 3600 / 2 + 5, 1);
  pace.samples.resize(3);
  EXPECT_EQ(LeastRest(pace), absl::Seconds(5));
}

TEST(EstimateTest, TheSizeThatFitsDoesFit) {
  LaunchPace pace;
  pace.blocks = pace.blocks_started = 100000;
  pace.blocks_started = 20;
  pace.parallel = 2;
  pace.elapsed = absl::Seconds(1);
  pace.left = absl::Seconds(19);
  pace.samples.assign(kSampledBlocks, {0.1, true});
  // 2 workers, 20 s, 0.1 s a block: 400 would just fit; a fifth is kept back.
  EXPECT_THAT(DescribeTooLarge(pace), HasSubstr("; 320 blocks of this size would fit"));
  pace.samples[3].ended = false;
  EXPECT_THAT(DescribeTooLarge(pace), HasSubstr("fewer than 500 blocks"));
}

TEST(LedgerTest, LaunchesToComeCostHalfOfTheLeastMeasured) {
  LaunchLedger ledger;
  for (int i = 0; i < 5; ++i) ledger.Expect("a");
  ledger.Expect("b");
  ledger.Begin("a");
  EXPECT_EQ(ledger.Repeats("a"), 2);
  EXPECT_EQ(ledger.LeastLater(), absl::ZeroDuration());
  ledger.End("a", absl::Seconds(4));
  EXPECT_EQ(ledger.LeastLater(), absl::Seconds(8));
  EXPECT_EQ(ledger.Repeats("a"), 0);
  ledger.Begin("a");
  EXPECT_EQ(ledger.LeastLater(), absl::Seconds(6));
  ledger.End("a", absl::Seconds(1));
  EXPECT_EQ(ledger.LeastLater(), absl::Seconds(1.5));
  EXPECT_TRUE(ledger.IsUsual("a", absl::Seconds(8)));
  EXPECT_FALSE(ledger.IsUsual("a", absl::Seconds(20)));
  EXPECT_FALSE(ledger.IsUsual("b", absl::Seconds(1)));
  EXPECT_EQ(ledger.ended(), 2u);
  ledger.Clear();
  EXPECT_EQ(ledger.LeastLater(), absl::ZeroDuration());
  ledger.Expect("a");
  EXPECT_EQ(ledger.LeastLater(), absl::Seconds(0.5));
}

}  // namespace
}  // namespace sassay::emulator
