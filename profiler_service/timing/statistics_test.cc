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

TEST(PairedRatio, LinearDriftCancelsInEachQuadruple) {
  // Every block 1 % slower than the one before; the true ratio is 1.25.
  std::vector<double> log_ratios;
  for (int pair = 0; pair < 8; ++pair) {
    const double drift = 0.01 * (pair % 2 == 0 ? 1 : -1);  // B after A, then A after B
    log_ratios.push_back(std::log(1.25) + drift);
  }
  const RatioEstimate estimate = PairedRatio(log_ratios);
  EXPECT_NEAR(estimate.ratio, 1.25, 1e-12);
  EXPECT_NEAR(estimate.standard_error, 0, 1e-12);
  EXPECT_EQ(estimate.units, 4);
}

TEST(PairedRatio, IntervalIsStudentsForFewUnits) {
  // Units 0.01, 0.02, 0.03: mean 0.02, standard error 0.01 / sqrt(3), t(0.975, 2) = 4.3027.
  const RatioEstimate estimate = PairedRatio({0.01, 0.01, 0.02, 0.02, 0.03, 0.03});
  EXPECT_NEAR(std::log(estimate.ratio), 0.02, 1e-12);
  EXPECT_NEAR(estimate.standard_error, 0.01 / std::sqrt(3.0), 1e-12);
  EXPECT_NEAR(std::log(estimate.high), 0.02 + 4.3027 * 0.01 / std::sqrt(3.0), 1e-9);
  EXPECT_NEAR(std::log(estimate.low), 0.02 - 4.3027 * 0.01 / std::sqrt(3.0), 1e-9);
}

TEST(PairedRatio, OneWildPairAmongTwentyDoesNotMoveIt) {
  std::vector<double> log_ratios(40, 0.0);
  for (size_t i = 0; i < log_ratios.size(); ++i) log_ratios[i] = (i / 2) % 2 == 0 ? 0.001 : -0.001;
  log_ratios[7] = 3.0;
  const RatioEstimate estimate = PairedRatio(log_ratios);
  EXPECT_NEAR(estimate.ratio, 1.0, 0.001);
  EXPECT_LT(estimate.standard_error, 0.001);
}

TEST(PairedRatio, IntervalHoldsTheTrueRatioInAboutNineteenOfTwentyCases) {
  std::mt19937_64 generator(7);
  std::normal_distribution<double> noise(0, 0.01);
  int held = 0;
  constexpr int kRepeats = 2000;
  for (int repeat = 0; repeat < kRepeats; ++repeat) {
    std::vector<double> log_ratios(24);
    for (double& value : log_ratios) value = std::log(0.9) + noise(generator);
    const RatioEstimate estimate = PairedRatio(log_ratios);
    held += estimate.low <= 0.9 && 0.9 <= estimate.high;
  }
  EXPECT_NEAR(static_cast<double>(held) / kRepeats, 0.95, 0.02);
}

TEST(PairedRatio, WithoutTwoUnitsNothingIsCertain) {
  EXPECT_TRUE(std::isnan(PairedRatio({}).ratio));
  EXPECT_TRUE(std::isinf(PairedRatio({0.1}).high));
  EXPECT_EQ(PairedRatio({0.1, 0.2, 0.3}).units, 3) << "one quadruple is no spread: the pairs are the units";
}

TEST(StudentQuantile, TableAndExpansionMeet) {
  EXPECT_NEAR(StudentQuantile(31), 2.0395, 1e-3);
  EXPECT_NEAR(StudentQuantile(120), 1.9799, 1e-3);
  EXPECT_TRUE(std::isinf(StudentQuantile(0)));
}

}  // namespace
}  // namespace sassay::timing
