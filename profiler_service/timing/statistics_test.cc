#include "profiler_service/timing/statistics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace sassay::timing {
namespace {

TEST(Statistics, MedianOfOddEvenAndNothing) {
  EXPECT_EQ(Median({3.0, 1.0, 2.0}), 2.0);
  EXPECT_EQ(Median({4.0, 1.0, 2.0, 3.0}), 2.5);
  EXPECT_TRUE(std::isnan(Median({})));
}

TEST(Statistics, OneSlowSampleDoesNotMoveTheMedian) {
  std::vector<double> samples(51, 100.0);
  samples[7] = 1e9;
  EXPECT_EQ(Median(samples), 100.0);
  EXPECT_EQ(BootstrapMedian(samples).high, 100.0);
}

TEST(Statistics, IntervalHoldsTheTrueMedianInAboutNineteenOfTwentyCases) {
  std::mt19937_64 generator(5);
  std::normal_distribution<double> normal(1000.0, 20.0);
  int held = 0;
  for (int repeat = 0; repeat < 200; ++repeat) {
    std::vector<double> samples(50);
    for (double& sample : samples) sample = normal(generator);
    const Interval interval = BootstrapMedian(samples, 1, 400);
    held += interval.low <= 1000.0 && 1000.0 <= interval.high;
  }
  EXPECT_GE(held, 176);
  EXPECT_LT(held, 200) << "an interval that always holds is too wide";
}

TEST(Statistics, SameSamplesGiveTheSameInterval) {
  const std::vector<double> samples = {5, 3, 8, 1, 9, 2, 7};
  EXPECT_EQ(BootstrapMedian(samples).low, BootstrapMedian(samples).low);
  EXPECT_LE(BootstrapMedian(samples).low, Median(samples));
  EXPECT_GE(BootstrapMedian(samples).high, Median(samples));
}

}  // namespace
}  // namespace sassay::timing
