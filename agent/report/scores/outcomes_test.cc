#include "agent/report/scores/outcomes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "agent/report/scores/costs.h"
#include "agent/report/scores/statistics.h"
#include "agent/report/testing/rows.h"

namespace sassay::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr TurnOutcome kTarget = TurnOutcome::kCorrectWithTarget;
constexpr TurnOutcome kCompile = TurnOutcome::kCompileError;
constexpr TurnOutcome kInfra = TurnOutcome::kInfrastructure;

std::vector<std::string> Words(const std::vector<v1::OutcomeTransition>& transitions) {
  std::vector<std::string> words;
  for (const auto& t : transitions)
    words.push_back(absl::StrCat(t.from(), ">", t.to(), " ", t.count(), " ", t.share()));
  return words;
}

TEST(Transitions, CountWhatFollowsOnWhat) {
  const TrajectoryRows a = MakeTrajectory("a", std::vector{kCompile, kCompile, kTarget, kTarget});
  const TrajectoryRows b = MakeTrajectory("b", std::vector{kCompile, kTarget});
  EXPECT_THAT(Words(Transitions({&a, &b})),
              ElementsAre("CORRECT_WITH_TARGET>CORRECT_WITH_TARGET 1 1", "COMPILE_ERROR>CORRECT_WITH_TARGET 2 0.666667",
                          "COMPILE_ERROR>COMPILE_ERROR 1 0.333333"));
}

TEST(Transitions, DoNotReachAcrossATurnThatDoesNotCount) {
  const TrajectoryRows a = MakeTrajectory("a", std::vector{kCompile, kInfra, kTarget});
  EXPECT_THAT(Transitions({&a}), IsEmpty());
}

TEST(Outcomes, AreSharesOfTheTurnsOfTheirNumber) {
  const TrajectoryRows a = MakeTrajectory("a", std::vector{kCompile, kTarget});
  const TrajectoryRows b = MakeTrajectory("b", std::vector{kTarget, kInfra});
  const std::vector<v1::OutcomeCount> outcomes = OutcomesByTurn({&a, &b});
  ASSERT_THAT(outcomes, SizeIs(3));
  EXPECT_EQ(outcomes[0].outcome(), "CORRECT_WITH_TARGET");
  EXPECT_DOUBLE_EQ(outcomes[0].share(), 0.5);
  EXPECT_EQ(outcomes[2].turn(), 1u);
  EXPECT_EQ(outcomes[2].count(), 1u);
  EXPECT_DOUBLE_EQ(outcomes[2].share(), 1);
}

TEST(Costs, IncludeWhatDoesNotCountAndSaySo) {
  TrajectoryRows a = MakeTrajectory("a", std::vector{kTarget, kInfra});
  a.turns[0].device_s = 2;
  a.turns[1].device_s = 1;
  a.turns[0].stage_s[static_cast<size_t>(TurnStage::kTiming)] = 3;
  a.turns[1].stage_s[static_cast<size_t>(TurnStage::kTiming)] = 5;
  const v1::ReportCost cost = CostOf({&a});
  EXPECT_DOUBLE_EQ(cost.device_s(), 3);
  EXPECT_DOUBLE_EQ(cost.excluded_device_s(), 1);
  EXPECT_DOUBLE_EQ(cost.device_s_per_correct_with_target(), 3);
  EXPECT_FALSE(cost.has_usd());
  const std::vector<v1::StageTime> stages = StageTimes({&a});
  ASSERT_THAT(stages, SizeIs(1));
  EXPECT_EQ(stages[0].stage(), "timing");
  EXPECT_DOUBLE_EQ(stages[0].wall_total_s(), 8);
  EXPECT_EQ(stages[0].wall_s().count(), 1u);
  EXPECT_DOUBLE_EQ(stages[0].wall_s().median(), 3);
}

TEST(Reasoning, OfAnswersThatSayNothingIsNotZero) {
  TrajectoryRows a = MakeTrajectory("a", std::vector{kTarget, kTarget, kTarget});
  a.turns[0].reasoning_tokens = 100;
  a.turns[2].reasoning_bytes = 7;
  const std::vector<v1::ReasoningByTurn> turns = ReasoningByTurn({&a});
  ASSERT_THAT(turns, SizeIs(2));
  EXPECT_DOUBLE_EQ(turns[0].tokens().median(), 100);
  EXPECT_FALSE(turns[0].has_text_bytes());
  EXPECT_EQ(turns[1].turn(), 2u);
  EXPECT_FALSE(turns[1].has_tokens());
}

TEST(Statistics, WilsonIntervalKnowsSmallSamples) {
  // The roots of (11/12 - x)^2 = z^2 x (1 - x) / 12, solved to forty digits elsewhere.
  const Interval interval = WilsonInterval(11, 12);
  EXPECT_NEAR(interval.low, 0.64612008885888, 1e-12);
  EXPECT_NEAR(interval.high, 0.98513490559509, 1e-12);
  EXPECT_EQ(WilsonInterval(0, 12).low, 0);
  EXPECT_EQ(WilsonInterval(12, 12).high, 1);
  EXPECT_EQ(WilsonInterval(0, 0).high, 1);
}

TEST(Statistics, QuantilesLieBetweenOrderStatistics) {
  EXPECT_DOUBLE_EQ(Quantile({1, 2, 4, 8}, 0.5), 3);
  EXPECT_DOUBLE_EQ(Quantile({5}, 0.25), 5);
  EXPECT_DOUBLE_EQ(Quantile({}, 0.5), 0);
  EXPECT_DOUBLE_EQ(SpreadOf({4, 1, 2}).maximum(), 4);
}

}  // namespace
}  // namespace sassay::agent
