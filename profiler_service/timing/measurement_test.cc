#include "profiler_service/timing/measurement.h"

#include <gtest/gtest.h>

namespace sassay::timing {
namespace {

Block BlockOf(Side side, double ns, int samples = 8, const std::string& why_void = "") {
  return Block{side, std::vector<double>(static_cast<size_t>(samples), ns), ns, 1900, why_void};
}

TEST(Measurement, BlocksFollowOneAnotherAsABBA) {
  Measurement measurement(Rules(), true);
  std::vector<Side> order;
  for (int round = 0; round < 4; ++round) {
    std::vector<Block> blocks;
    for (const Side side : measurement.NextRound()) {
      order.push_back(side);
      blocks.push_back(BlockOf(side, 100));
    }
    measurement.Add(std::move(blocks));
  }
  constexpr Side A = Side::kCandidate, B = Side::kBaseline;
  EXPECT_EQ(order, (std::vector<Side>{A, B, B, A, A, B, B, A}));
}

TEST(Measurement, VoidRoundIsRepeatedInTheSameOrderAndGivesNoSamples) {
  Measurement measurement(Rules(), true);
  measurement.Add({BlockOf(Side::kCandidate, 100), BlockOf(Side::kBaseline, 100)});
  const std::vector<Side> second = measurement.NextRound();
  measurement.Add({BlockOf(second[0], 100), BlockOf(second[1], 100, 8, "clock slowdown")});
  EXPECT_EQ(measurement.NextRound(), second);
  EXPECT_EQ(measurement.samples(Side::kCandidate).size(), 8u);
  EXPECT_EQ(measurement.samples(Side::kBaseline).size(), 8u);
  EXPECT_EQ(measurement.voided_samples().at("clock slowdown"), 8);
}

TEST(Measurement, StopsOnlyAfterWholeQuadruplesAndFiftySamples) {
  Measurement measurement(Rules(), true);
  int rounds = 0;
  while (measurement.Decide(absl::ZeroDuration()) == Stop::kGoOn) {
    ++rounds;
    measurement.Add({BlockOf(Side::kCandidate, 100), BlockOf(Side::kBaseline, 80)});
  }
  EXPECT_EQ(measurement.Decide(absl::ZeroDuration()), Stop::kPrecise);
  EXPECT_EQ(rounds, 8);
  EXPECT_NEAR(measurement.estimate().ratio, 0.8, 1e-9);
}

TEST(Measurement, OneVoidBlockOfManyIsAllowedMoreThanATenthIsNot) {
  Measurement measurement(Rules(), true);
  measurement.Add({BlockOf(Side::kCandidate, 100), BlockOf(Side::kBaseline, 80, 8, "clock slowdown")});
  EXPECT_EQ(measurement.Decide(absl::ZeroDuration()), Stop::kGoOn);
  for (int round = 0; round < 5; ++round) {
    measurement.Add({BlockOf(Side::kCandidate, 100), BlockOf(Side::kBaseline, 80)});
  }
  EXPECT_FALSE(measurement.is_void()) << "1 of 12";
  measurement.Add({BlockOf(Side::kCandidate, 100, 8, "x"), BlockOf(Side::kBaseline, 80)});
  EXPECT_TRUE(measurement.is_void()) << "2 of 14";
  EXPECT_EQ(measurement.Decide(absl::ZeroDuration()), Stop::kVoid);
}

TEST(Measurement, TimeCapEndsWhatIsNotPreciseYet) {
  Measurement measurement(Rules(), true);
  measurement.Add({BlockOf(Side::kCandidate, 100), BlockOf(Side::kBaseline, 80)});
  EXPECT_EQ(measurement.Decide(absl::Seconds(14)), Stop::kGoOn);
  EXPECT_EQ(measurement.Decide(absl::Seconds(15)), Stop::kTimeCap);
}

TEST(Measurement, BudgetEndsWhatHasItsSamplesAndIsNotPreciseYet) {
  Measurement measurement(Rules(), true);
  const absl::Duration budget = Rules().budget;
  for (int round = 0; round < 4; ++round) {
    if (round < 2) {
      EXPECT_EQ(measurement.Decide(budget), Stop::kGoOn) << "after " << round << " rounds";
    }
    measurement.Add({BlockOf(Side::kCandidate, 100 + 10 * (round / 2)), BlockOf(Side::kBaseline, 80)});
  }
  EXPECT_EQ(measurement.Decide(budget - absl::Milliseconds(1)), Stop::kGoOn);
  EXPECT_EQ(measurement.Decide(budget), Stop::kTimeCap);
  EXPECT_GT(measurement.estimate().half_width(), Rules().half_width);
}

TEST(SizeFor, ShortCallsGetWholeBlocksAndSlowOnesShortBlocks) {
  const auto size = [](absl::Duration call, int sets = 16) {
    const BlockSize size = SizeFor(Rules(), call, sets);
    return std::pair(size.dropped, size.kept);
  };
  EXPECT_EQ(size(absl::Microseconds(5)), std::pair(2, 8));
  EXPECT_EQ(size(absl::Milliseconds(5)), std::pair(2, 8));
  EXPECT_EQ(size(absl::Milliseconds(20)), std::pair(1, 2));
  EXPECT_EQ(size(absl::Seconds(2)), std::pair(0, 1));
  EXPECT_EQ(size(absl::Microseconds(5), 10), std::pair(2, 8));
  EXPECT_EQ(size(absl::Microseconds(5), 4), std::pair(1, 3)) << "each call has a set of its own, dropped or not";
  EXPECT_EQ(size(absl::Microseconds(5), 2), std::pair(1, 1));
  EXPECT_EQ(size(absl::Microseconds(5), 1), std::pair(0, 1));
}

}  // namespace
}  // namespace sassay::timing
