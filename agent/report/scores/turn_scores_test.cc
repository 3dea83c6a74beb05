#include "agent/report/scores/turn_scores.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/report/testing/rows.h"

namespace sassay::agent {
namespace {

using ::testing::SizeIs;

constexpr TurnOutcome kTarget = TurnOutcome::kCorrectWithTarget;
constexpr TurnOutcome kPlain = TurnOutcome::kCorrectWithoutTarget;
constexpr TurnOutcome kWrong = TurnOutcome::kIncorrectNumerical;
constexpr TurnOutcome kInfra = TurnOutcome::kInfrastructure;

std::vector<const TrajectoryRows*> PointersTo(const std::vector<TrajectoryRows>& rows) {
  std::vector<const TrajectoryRows*> pointers;
  for (const TrajectoryRows& row : rows) pointers.push_back(&row);
  return pointers;
}

v1::TurnLimitScore Score(const std::vector<TrajectoryRows>& rows, uint32_t limit) {
  return ScoreAt(PointersTo(rows), limit);
}

TEST(TurnScores, CountCorrectTurnsOverAllTurns) {
  const std::vector<TrajectoryRows> rows = {MakeTrajectory("a", std::vector{kTarget, kPlain, kWrong, kTarget}),
                                            MakeTrajectory("b", std::vector{kWrong, kPlain, kWrong, kWrong})};
  const v1::TurnLimitScore score = Score(rows, 4);
  EXPECT_EQ(score.trajectories(), 2u);
  EXPECT_EQ(score.turns(), 8u);
  EXPECT_DOUBLE_EQ(score.turn_correct_with_target(), 2.0 / 8);
  EXPECT_DOUBLE_EQ(score.turn_correct(), 4.0 / 8);
  EXPECT_DOUBLE_EQ(score.trajectory_rate_with_target(), 0.5);
  EXPECT_DOUBLE_EQ(score.trajectory_rate(), 1);
}

TEST(TurnScores, LookNoFurtherThanTheLimit) {
  const std::vector<TrajectoryRows> rows = {
      MakeTrajectory("a", std::vector{MakeFastTurn(0, 0.5), MakeFastTurn(3, 0.9), MakeFastTurn(4, 2)})};
  EXPECT_DOUBLE_EQ(Score(rows, 1).best_speedup_with_target(), 0.5);
  EXPECT_DOUBLE_EQ(Score(rows, 4).best_speedup_with_target(), 0.9);
  EXPECT_DOUBLE_EQ(Score(rows, 8).best_speedup_with_target(), 2);
}

TEST(TurnScores, BestSpeedupIsZeroWithoutSuchATurnAndAbsentWithoutATime) {
  std::vector<TrajectoryRows> rows = {MakeTrajectory("a", std::vector{kPlain})};
  EXPECT_TRUE(Score(rows, 1).has_best_speedup_with_target());
  EXPECT_DOUBLE_EQ(Score(rows, 1).best_speedup_with_target(), 0);
  rows[0].turns[0].speedup.reset();
  EXPECT_FALSE(Score(rows, 1).has_best_speedup());
}

TEST(TurnScores, TurnsNotMadeByAnEndedTrajectoryStayInTheDenominator) {
  const v1::TurnLimitScore score = Score({MakeTrajectory("a", std::vector{kWrong, kTarget})}, 8);
  EXPECT_EQ(score.turns(), 8u);
  EXPECT_EQ(score.turns_not_made(), 6u);
  EXPECT_DOUBLE_EQ(score.turn_correct(), 1.0 / 8);
}

TEST(TurnScores, AnUnfinishedTrajectoryCountsAtTheLimitsItHasReached) {
  TrajectoryRows unfinished = MakeTrajectory("a", std::vector{kTarget, kWrong});
  unfinished.ended = false;
  EXPECT_EQ(Score({unfinished}, 1).trajectories(), 1u);
  EXPECT_EQ(Score({unfinished}, 2).trajectories(), 1u);
  const v1::TurnLimitScore at_four = Score({unfinished, MakeTrajectory("b", std::vector{kWrong})}, 4);
  EXPECT_EQ(at_four.trajectories(), 1u);
  EXPECT_DOUBLE_EQ(at_four.turn_correct(), 0);
}

TEST(TurnScores, ATrajectoryCountsAtNoLimitBeyondItsOwn) {
  TrajectoryRows four = MakeTrajectory("a", std::vector{kTarget, kTarget, kTarget, kTarget});
  four.turn_limit = 4;
  EXPECT_EQ(Score({four}, 4).trajectories(), 1u);
  const v1::TurnLimitScore at_eight = Score({four}, 8);
  EXPECT_EQ(at_eight.trajectories(), 0u);
  EXPECT_FALSE(at_eight.has_turn_correct());
  EXPECT_FALSE(at_eight.has_best_speedup());
}

TEST(TurnScores, InfrastructureTroubleIsInNoDenominator) {
  const v1::TurnLimitScore score = Score({MakeTrajectory("a", std::vector{kTarget, kInfra, kWrong, kTarget})}, 4);
  EXPECT_EQ(score.turns(), 3u);
  EXPECT_DOUBLE_EQ(score.turn_correct(), 2.0 / 3);
}

TEST(TurnScores, AnExcludedAttemptThatWasRunAgainChangesNothing) {
  TrajectoryRows rows = MakeTrajectory("a", std::vector{kTarget, kWrong});
  TurnRow attempt = MakeFastTurn(1, 9);
  attempt.excluded = Excluded::kSuperseded;
  rows.turns.insert(rows.turns.begin() + 1, attempt);
  const v1::TurnLimitScore score = Score({rows}, 2);
  EXPECT_EQ(score.turns(), 2u);
  EXPECT_EQ(score.correct(), 1u);
  EXPECT_DOUBLE_EQ(score.best_speedup(), 1);
}

TEST(TurnScores, ATurnTakenBackAndNeverMadeAgainCountsAsNotMade) {
  TrajectoryRows rows = MakeTrajectory("a", std::vector{kTarget});
  TurnRow taken_back = MakeFastTurn(1, 9);
  taken_back.excluded = Excluded::kSuperseded;
  rows.turns.push_back(taken_back);
  EXPECT_EQ(Score({rows}, 4).turns(), 4u);
  EXPECT_EQ(Score({rows}, 4).turns_not_made(), 3u);
}

TEST(TurnScores, ATrajectoryOfWhichNothingCountsIsNone) {
  EXPECT_EQ(Score({MakeTrajectory("a", std::vector{kInfra})}, 1).trajectories(), 0u);
}

TEST(FastP, IsTheShareOfTrajectoriesStrictlyFaster) {
  const std::vector<TrajectoryRows> rows = {
      MakeTrajectory("a", std::vector{MakeFastTurn(0, 0.5), MakeFastTurn(1, 0.8)}),
      MakeTrajectory("b", std::vector{MakeFastTurn(0, 0.5)}), MakeTrajectory("c", std::vector{kPlain}),
      MakeTrajectory("d", std::vector{kWrong})};
  const v1::FastP fast_p = FastPOfTrajectories(PointersTo(rows), 8);
  EXPECT_EQ(fast_p.units(), 4u);
  ASSERT_THAT(fast_p.steps(), SizeIs(4));
  const std::vector<std::array<double, 3>> expected = {{0, 0.5, 0.75}, {0.5, 0.25, 0.5}, {0.8, 0, 0.25}, {1, 0, 0}};
  for (int i = 0; i < 4; ++i) {
    EXPECT_DOUBLE_EQ(fast_p.steps(i).p(), expected[i][0]);
    EXPECT_DOUBLE_EQ(fast_p.steps(i).with_target(), expected[i][1]);
    EXPECT_DOUBLE_EQ(fast_p.steps(i).unrestricted(), expected[i][2]);
  }
}

TEST(FastP, OfTasksCountsATaskOnce) {
  std::vector<TrajectoryRows> rows = {MakeTrajectory("a", std::vector{MakeFastTurn(0, 0.5)}),
                                      MakeTrajectory("b", std::vector{MakeFastTurn(0, 1.5)}),
                                      MakeTrajectory("c", std::vector{kWrong})};
  rows[2].definition = "attention";
  const v1::FastP fast_p = FastPOfTasks(PointersTo(rows), 1);
  EXPECT_EQ(fast_p.units(), 2u);
  EXPECT_DOUBLE_EQ(fast_p.steps(0).with_target(), 0.5);
  EXPECT_DOUBLE_EQ(fast_p.steps(1).p(), 1.5);
}

TEST(SpeedupsByTurn, KeepsTheFastestAndTheMedianSoFar) {
  const std::vector<TrajectoryRows> rows = {
      MakeTrajectory("a", std::vector{MakeFastTurn(0, 0.6), MakeFastTurn(1, 0.4)}),
      MakeTrajectory("b", std::vector{MakeTurn(0, kWrong), MakeFastTurn(1, 0.2)}),
      MakeTrajectory("c", std::vector{MakeTurn(0, kPlain), MakeTurn(1, kWrong)})};
  const std::vector<v1::SpeedupByTurn> turns = SpeedupsByTurn(PointersTo(rows));
  ASSERT_THAT(turns, SizeIs(2));
  EXPECT_EQ(turns[0].measured(), 1u);
  EXPECT_DOUBLE_EQ(turns[0].best(), 0.6);
  EXPECT_DOUBLE_EQ(turns[0].median_best_so_far(), 0);
  EXPECT_EQ(turns[1].measured(), 2u);
  EXPECT_DOUBLE_EQ(turns[1].best(), 0.4);
  EXPECT_DOUBLE_EQ(turns[1].best_so_far(), 0.6);
  EXPECT_DOUBLE_EQ(turns[1].median_best_so_far(), 0.2);
}

}  // namespace
}  // namespace sassay::agent
