#include "agent/bench/comparison.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace sassay::agent {
namespace {

TEST(ComparisonTest, StudentsQuantilesAreThoseOfTheTables) {
  EXPECT_NEAR(StudentT975(1), 12.7062, 1e-3);
  EXPECT_NEAR(StudentT975(4), 2.7764, 1e-4);
  EXPECT_NEAR(StudentT975(6), 2.4469, 1e-4);
  EXPECT_NEAR(StudentT975(30), 2.0423, 1e-4);
  EXPECT_NEAR(StudentT975(1e6), 1.95997, 1e-3);
  EXPECT_NEAR(StudentT975(0.2), StudentT975(1), 1e-9);
}

TEST(ComparisonTest, AnIntervalIsTheOneOfLogarithms) {
  const std::vector<double> ratios = {1.0, 1.1, 1.0 / 1.1};
  const Interval interval = IntervalOf(Summarise(ratios));
  EXPECT_NEAR(interval.ratio, 1.0, 1e-12);
  const double half = 4.30265 * std::log(1.1) / std::sqrt(3);
  EXPECT_NEAR(interval.high, std::exp(half), 1e-4);
  EXPECT_NEAR(interval.low, std::exp(-half), 1e-4);
}

TEST(ComparisonTest, EqualRoundsGiveAPoint) {
  const Interval interval = IntervalOf(Summarise({0.97, 0.97, 0.97}));
  EXPECT_NEAR(interval.low, 0.97, 1e-9);
  EXPECT_NEAR(interval.high, 0.97, 1e-9);
}

TEST(ComparisonTest, OutcomesFollowTheWholeInterval) {
  EXPECT_EQ(OutcomeOf({1.0, 0.995, 1.005}, 0.01), v1::BENCH_OUTCOME_EQUAL);
  EXPECT_EQ(OutcomeOf({0.97, 0.96, 0.98}, 0.01), v1::BENCH_OUTCOME_SLOWER);
  EXPECT_EQ(OutcomeOf({1.05, 1.02, 1.08}, 0.01), v1::BENCH_OUTCOME_FASTER);
  EXPECT_EQ(OutcomeOf({0.97, 0.93, 0.995}, 0.01), v1::BENCH_OUTCOME_INCONCLUSIVE);
  EXPECT_EQ(OutcomeOf({1.02, 1.0, 1.05}, 0.01), v1::BENCH_OUTCOME_INCONCLUSIVE);
  EXPECT_TRUE(IsNotSlower(0.991, 0.01));
  EXPECT_FALSE(IsNotSlower(0.98, 0.01));
}

// 1,000 comparisons of a kernel with itself, and with one that is 3 % slower, at the spread that pairs of processes
// have.
TEST(ComparisonTest, ThePlantedSlowdownIsFoundAndNothingElse) {
  std::mt19937 random(7);
  std::normal_distribution<double> noise(0, 0.004);
  int wrong = 0, found = 0, covered = 0;
  for (int trial = 0; trial < 1000; ++trial) {
    std::vector<double> same, slower;
    for (int round = 0; round < 7; ++round) {
      same.push_back(std::exp(noise(random) - noise(random)));
      slower.push_back(std::exp(noise(random) - noise(random)) / 1.03);
    }
    const Interval of_same = IntervalOf(Summarise(same));
    const v1::BenchOutcome outcome = OutcomeOf(of_same, 0.01);
    wrong += outcome == v1::BENCH_OUTCOME_SLOWER || outcome == v1::BENCH_OUTCOME_FASTER;
    found += OutcomeOf(IntervalOf(Summarise(slower)), 0.01) == v1::BENCH_OUTCOME_SLOWER;
    covered += of_same.low <= 1 && of_same.high >= 1;
  }
  EXPECT_EQ(wrong, 0);
  EXPECT_GE(found, 990);
  EXPECT_GE(covered, 930);
  EXPECT_LE(covered, 970);
}

TEST(ComparisonTest, ShapesCountTheSame) {
  const LogRatio fast = Summarise({1.10, 1.10, 1.1001}), slow = Summarise({0.99, 1.0, 1.01, 1.0, 1.0});
  const LogRatio both = Combine({fast, slow});
  EXPECT_NEAR(both.mean, (fast.mean + slow.mean) / 2, 1e-12);
  EXPECT_NEAR(both.standard_error, std::hypot(fast.standard_error, slow.standard_error) / 2, 1e-12);
  EXPECT_NEAR(both.degrees_of_freedom, 4, 0.1) << "the slow one has all the variance";
}

}  // namespace
}  // namespace sassay::agent
