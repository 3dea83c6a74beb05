#include "monitor/rules/watch/condition_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "google/protobuf/text_format.h"

namespace sassay::monitor {
namespace {

absl::Time At(double seconds) { return absl::FromUnixSeconds(1000) + absl::Seconds(seconds); }

class ConditionWatchTest : public ::testing::Test {
 protected:
  void Make(const std::string& text) {
    ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &condition_));
    watch_ = std::make_unique<ConditionWatch>(condition_);
  }
  void Take(double seconds, double value, const std::string& text = "") {
    const Sample sample = {At(seconds), "GPU-1", condition_.signal(), value, text};
    watch_->Advance(At(seconds));
    if (watch_->Wants(sample)) watch_->Take(sample);
  }
  v1::Condition condition_;
  std::unique_ptr<ConditionWatch> watch_;
};

TEST_F(ConditionWatchTest, AnyIsBadWithTheFirstSampleBeyondTheLimit) {
  Make("signal: 'gpu.temperature_celsius' above: 90");
  Take(1, 90);
  EXPECT_FALSE(watch_->bad());
  Take(2, 90.5);
  EXPECT_TRUE(watch_->bad());
  EXPECT_EQ(watch_->first_bad(), At(2));
  EXPECT_EQ(watch_->good_before(), At(1));
}

TEST_F(ConditionWatchTest, ItIsGoodOnlyBeyondClear) {
  Make("signal: 'gpu.temperature_celsius' above: 90 clear: 80");
  Take(1, 95);
  Take(2, 85);
  EXPECT_TRUE(watch_->bad());
  EXPECT_EQ(watch_->last_bad(), At(2));
  Take(3, 80);
  EXPECT_FALSE(watch_->bad());
  EXPECT_EQ(watch_->good_since(), At(3));
  Take(4, 89);
  EXPECT_FALSE(watch_->bad());
  EXPECT_FALSE(watch_->Held(absl::Seconds(2), At(100)));  // nothing was heard since
  Take(5, 70);
  EXPECT_TRUE(watch_->Held(absl::Seconds(2), At(5)));
}

TEST_F(ConditionWatchTest, ALevelThatIsNotHeardOfStaysWhatItIs) {
  Make("signal: 'gpu.temperature_celsius' above: 90");
  Take(1, 95);
  watch_->Advance(At(100000));
  EXPECT_TRUE(watch_->bad());
}

TEST_F(ConditionWatchTest, AllNeedsTheWholeWindowAndBeginsWithItsFirstBadSample) {
  Make("signal: 'gpu.thermal_margin_celsius' aggregate: ALL window_s: 10 below: 3");
  for (int i = 0; i <= 9; ++i) Take(i, i < 3 ? 20 : 1);
  EXPECT_FALSE(watch_->bad());
  EXPECT_EQ(watch_->DoubtSince(), At(3));
  for (int i = 10; i <= 13; ++i) Take(i, 1);
  EXPECT_TRUE(watch_->bad());
  EXPECT_EQ(watch_->first_bad(), At(3));
  EXPECT_EQ(watch_->good_before(), At(2));
  Take(14, 20);
  EXPECT_FALSE(watch_->bad());
}

TEST_F(ConditionWatchTest, MeanAndMedianLookAtTheWindow) {
  Make("signal: 'gpu.utilization_ratio' aggregate: MEAN window_s: 10 min_samples: 4 above: 0.5");
  Take(1, 1);
  Take(2, 1);
  Take(3, 1);
  EXPECT_FALSE(watch_->bad());
  Take(4, 0);
  EXPECT_TRUE(watch_->bad());
  Make("signal: 'gpu.utilization_ratio' aggregate: MEDIAN window_s: 10 min_samples: 3 above: 0.5");
}

TEST_F(ConditionWatchTest, AMedianIsNotMovedByOneSample) {
  Make("signal: 'timing.baseline_ratio' aggregate: MEDIAN window_s: 100 min_samples: 3 above: 1.1");
  Take(1, 1);
  Take(2, 5);
  Take(3, 1);
  EXPECT_FALSE(watch_->bad());
  Take(4, 1.2);
  Take(5, 1.2);
  EXPECT_TRUE(watch_->bad());
  EXPECT_EQ(watch_->first_bad(), At(2));
}

TEST_F(ConditionWatchTest, AnIncreaseIsSeenOverARestartOfTheCounter) {
  Make("signal: 'gpu.ecc_uncorrected_total' aggregate: INCREASE window_s: 60 above: 0");
  Take(1, 7);
  Take(2, 7);
  Take(3, 0);
  EXPECT_FALSE(watch_->bad());
  Take(4, 1);
  EXPECT_TRUE(watch_->bad());
  EXPECT_EQ(watch_->good_before(), At(2));
  for (int i = 5; i <= 64; ++i) Take(i, 1);
  EXPECT_FALSE(watch_->bad());
}

TEST_F(ConditionWatchTest, ARateIsThatOfTheWindowHoweverLongTheCounterStoodStill) {
  Make("signal: 'gpu.pcie_replay_total' aggregate: RATE window_s: 60 min_samples: 3 above: 5 clear: 1");
  for (int i = 0; i < 3600; ++i) Take(i, 4);
  for (int i = 0; i <= 31; ++i) Take(3600 + i, 4 + 10 * i);
  EXPECT_TRUE(watch_->bad());
  for (int i = 32; i <= 120; ++i) Take(3600 + i, 314);
  EXPECT_FALSE(watch_->bad());
}

TEST_F(ConditionWatchTest, CodesAreEventsOfTheirOwn) {
  Make("signal: 'gpu.xid' codes: [79, 48] text: 'bus'");
  Take(1, 79, "something else");
  Take(2, 31, "bus");
  EXPECT_FALSE(watch_->bad());
  Take(3, 79, "off the bus");
  EXPECT_TRUE(watch_->bad());
  watch_->Advance(At(4));
  EXPECT_FALSE(watch_->bad());
  EXPECT_FALSE(watch_->Held(absl::Seconds(10), At(12)));
  EXPECT_TRUE(watch_->Held(absl::Seconds(10), At(13)));
}

TEST_F(ConditionWatchTest, ACountIsBadWhileEnoughLieInTheWindow) {
  Make("signal: 'judge.died' aggregate: COUNT window_s: 60 above: 2");
  Take(0, 1);
  Take(30, 1);
  EXPECT_FALSE(watch_->bad());
  Take(50, 1);
  EXPECT_TRUE(watch_->bad());
  EXPECT_EQ(watch_->first_bad(), At(0));
  watch_->Advance(At(59));
  EXPECT_TRUE(watch_->bad());
  watch_->Advance(At(61));
  EXPECT_FALSE(watch_->bad());
}

TEST_F(ConditionWatchTest, AnOccasionalLevelIsForgottenAfterAWhile) {
  Make("signal: 'timing.void_ratio' aggregate: MEAN window_s: 300 above: 0.3");
  Take(1, 1);
  EXPECT_TRUE(watch_->bad());
  watch_->Advance(At(590));
  EXPECT_TRUE(watch_->bad());
  watch_->Advance(At(602));
  EXPECT_FALSE(watch_->bad());
  EXPECT_TRUE(watch_->Held(absl::Seconds(30), At(602)));
}

TEST_F(ConditionWatchTest, ASourceIsMeantByItsWholeName) {
  Make("signal: 'source.silent_seconds' text: 'nvml' above: 5");
  Take(1, 10, "nvml_state");
  EXPECT_FALSE(watch_->bad());
  Take(2, 10, "nvml");
  EXPECT_TRUE(watch_->bad());
}

TEST_F(ConditionWatchTest, BitsAreThoseOfTheMask) {
  Make("signal: 'gpu.clock_reasons' any_bit: 0x60");
  Take(1, 0x4 | 0x8);
  EXPECT_FALSE(watch_->bad());
  Take(2, 0x20 | 0x4);
  EXPECT_TRUE(watch_->bad());
}

TEST_F(ConditionWatchTest, WhatIsNoNumberIsNotTaken) {
  Make("signal: 'gpu.temperature_celsius' above: 90");
  Take(1, std::numeric_limits<double>::quiet_NaN());
  Take(2, std::numeric_limits<double>::infinity());
  EXPECT_FALSE(watch_->bad());
  EXPECT_EQ(watch_->newest(), absl::InfinitePast());
}

TEST_F(ConditionWatchTest, KeepsABoundedNumberOfSamples) {
  Make("signal: 'gpu.utilization_ratio' aggregate: MEAN window_s: 1000000 above: 0.5");
  for (int i = 0; i < 5000; ++i) Take(i, i % 2);
  EXPECT_THAT(watch_->Evidence("GPU-1"), ::testing::SizeIs(::testing::Le(8u)));
}

}  // namespace
}  // namespace sassay::monitor
