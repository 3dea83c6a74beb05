#include "monitor/rules/state/canary_book.h"

#include <gtest/gtest.h>

#include <random>

#include "monitor/rules/config.h"

namespace sassay::monitor {
namespace {

absl::Time At(double seconds) { return absl::FromUnixSeconds(1000) + absl::Seconds(seconds); }

class CanaryBookTest : public ::testing::Test {
 protected:
  absl::optional<CanaryVerdict> Take(double tensor, double memory = 1, CanaryTimes peers = {}) {
    seconds_ += 5;
    return book_.Took(At(seconds_), {tensor * 1e7, memory * 2e7}, peers, true);
  }
  void Learn(int canaries = 5) {
    for (int i = 0; i < canaries; ++i) EXPECT_TRUE(Take(1)->clean);
  }
  const v1::CanaryPolicy policy_ = DefaultConfig().canary();
  CanaryBook book_{policy_};
  double seconds_ = 0;
};

TEST_F(CanaryBookTest, WithoutAHistoryThereIsNothingToCompareWith) {
  const auto verdict = Take(1);
  ASSERT_TRUE(verdict);
  EXPECT_TRUE(verdict->clean);
  EXPECT_EQ(verdict->tensor_ratio, 0);
}

TEST_F(CanaryBookTest, WhileTheHistoryIsShortThePeersStandIn) {
  const auto verdict = Take(1.2, 1, {1e7, 2e7});
  ASSERT_TRUE(verdict);
  EXPECT_FALSE(verdict->clean);
  EXPECT_NEAR(verdict->tensor_ratio, 1.2, 1e-9);
  EXPECT_NEAR(verdict->tensor_peer_ratio, 1.2, 1e-9);
}

TEST_F(CanaryBookTest, FifteenPercentNeedNoRepetition) {
  Learn();
  const auto verdict = Take(1, 1.15);
  ASSERT_TRUE(verdict);
  EXPECT_FALSE(verdict->clean);
  EXPECT_NEAR(verdict->memory_ratio, 1.15, 1e-9);
}

TEST_F(CanaryBookTest, ThreePercentAreBelievedWhenTheMajorityIsKnown) {
  Learn();
  const absl::Time first = At(seconds_ + 5);
  for (int i = 0; i < 4; ++i) {
    EXPECT_FALSE(Take(1.03));
    EXPECT_EQ(book_.DoubtSince(), first);
    EXPECT_TRUE(book_.IsDue(At(seconds_ + 5), false));
    EXPECT_FALSE(book_.IsDue(At(seconds_ + 4), false));
  }
  const auto verdict = Take(1.03);
  ASSERT_TRUE(verdict);
  EXPECT_FALSE(verdict->clean);
  EXPECT_EQ(verdict->at, first);
  EXPECT_NEAR(verdict->tensor_ratio, 1.03, 1e-9);
  EXPECT_FALSE(book_.DoubtSince());
}

TEST_F(CanaryBookTest, ASingleSlowOneIsNoise) {
  Learn();
  EXPECT_FALSE(Take(1.04));
  for (int i = 0; i < 4; ++i) EXPECT_FALSE(Take(1));
  const auto verdict = Take(1);
  ASSERT_TRUE(verdict);
  EXPECT_TRUE(verdict->clean);
  EXPECT_NEAR(verdict->tensor_ratio, 1, 1e-9);
}

TEST_F(CanaryBookTest, SlowOnesDoNotJoinTheHistory) {
  Learn();
  const size_t before = book_.history().size();
  EXPECT_FALSE(Take(1.5)->clean);
  EXPECT_EQ(book_.history().size(), before);
}

TEST_F(CanaryBookTest, OfHundredThousandNoisyOnesNoneIsSlow) {
  std::mt19937_64 random(1);
  std::normal_distribution<double> noise(1, 0.01);
  Learn(20);
  int slow = 0, verdicts = 0;
  for (int i = 0; i < 100000; ++i) {
    const auto verdict = Take(noise(random), noise(random));
    verdicts += verdict.has_value();
    slow += verdict && !verdict->clean;
  }
  EXPECT_GT(verdicts, 50000);
  EXPECT_LE(slow, 2);
}

TEST_F(CanaryBookTest, OnlyOneIsUnderWayAndALostOneIsAskedAgain) {
  EXPECT_TRUE(book_.IsDue(At(0), true));
  book_.Asked(At(0));
  EXPECT_FALSE(book_.IsDue(At(59), true));
  EXPECT_TRUE(book_.IsDue(At(60), true));
  book_.Failed(At(70));
  EXPECT_FALSE(book_.IsDue(At(69), true));
  EXPECT_TRUE(book_.IsDue(At(70), true));
  book_.SetImpossible();
  EXPECT_FALSE(book_.IsDue(At(1000), true));
}

TEST_F(CanaryBookTest, ThePeriodCountsForHealthyGpusOnly) {
  book_.Asked(At(0));
  Take(1);
  EXPECT_FALSE(book_.IsDue(At(600), true));
  EXPECT_TRUE(book_.IsDue(At(605), true));
  EXPECT_FALSE(book_.IsDue(At(605), false));
}

}  // namespace
}  // namespace sassay::monitor
