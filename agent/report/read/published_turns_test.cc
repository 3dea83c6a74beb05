#include "agent/report/read/published_turns.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"

namespace sassay::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Optional;
using ::testing::SizeIs;

constexpr char kHeader[] =
    "model,arch,required_arch_tag,definition,workload,trajectory_id,turn,correctness,speedup,arch_tag,correct_with_"
    "arch\n";

std::string Line(absl::string_view trajectory, absl::string_view turn, absl::string_view correctness,
                 absl::string_view speedup, absl::string_view with_arch) {
  return absl::StrCat("M,hopper,H,gemm,uuid,", trajectory, ",", turn, ",", correctness, ",", speedup, ",\"A, H\",",
                      with_arch, "\n");
}

std::string Error(absl::string_view text) {
  TurnTable table;
  return std::string(ReadPublishedTurns(text, "t.csv", 8, table).message());
}

TEST(PublishedTurns, BecomeTrajectoriesWithTheirTurnsInOrder) {
  TurnTable table;
  ASSERT_TRUE(ReadPublishedTurns(absl::StrCat(kHeader, Line("exp_000", "1", "Correct", "0.5", "1"),
                                              Line("exp_001", "0", "Runtime error", "0.0", "0"),
                                              Line("exp_000", "0", "Correct", "0.25", "0")),
                                 "t.csv", 8, table)
                  .ok());
  ASSERT_THAT(table.trajectories, SizeIs(2));
  const TrajectoryRows& first = table.trajectories[0];
  EXPECT_EQ(first.trajectory, "exp_000");
  EXPECT_EQ(first.turn_limit, 8u);
  EXPECT_TRUE(first.ended);
  ASSERT_THAT(first.turns, SizeIs(2));
  EXPECT_EQ(first.turns[0].outcome, TurnOutcome::kCorrectWithoutTarget);
  EXPECT_EQ(first.turns[1].outcome, TurnOutcome::kCorrectWithTarget);
  EXPECT_THAT(first.turns[1].speedup, Optional(0.5));
  EXPECT_EQ(first.turns[1].rules, kPublishedRules);
  EXPECT_EQ(table.trajectories[1].turns[0].outcome, TurnOutcome::kRuntimeError);
  EXPECT_EQ(table.trajectories[1].turns[0].speedup, std::nullopt);
}

TEST(PublishedTurns, TheSameTrajectoryIdOfAnotherDefinitionIsAnotherTrajectory) {
  TurnTable table;
  ASSERT_TRUE(ReadPublishedTurns(absl::StrCat("model,arch,definition,workload,trajectory_id,turn,correctness,speedup,"
                                              "correct_with_arch,label\n",
                                              "M,a,d1,w,exp_000,0,Correct,1,1,x\nM,a,d2,w,exp_000,0,Correct,1,1,x\n",
                                              "M,a,d1,w,exp_000,0,Correct,1,1,y\n"),
                                 "t.csv", 8, table)
                  .ok());
  ASSERT_THAT(table.trajectories, SizeIs(3));
  EXPECT_EQ(table.trajectories[2].label, "y");
}

TEST(PublishedTurns, ALongerTableThanTheBenchmarksKeepsItsTurns) {
  TurnTable table;
  ASSERT_TRUE(
      ReadPublishedTurns(absl::StrCat(kHeader, Line("exp_000", "11", "Correct", "0.5", "1")), "t.csv", 8, table).ok());
  EXPECT_EQ(table.trajectories[0].turn_limit, 12u);
}

TEST(PublishedTurns, UnknownClassIsNotCorrectAndIsToldOf) {
  TurnTable table;
  ASSERT_TRUE(
      ReadPublishedTurns(absl::StrCat(kHeader, Line("exp_000", "0", "Melted", "0", "0")), "t.csv", 8, table).ok());
  EXPECT_EQ(table.trajectories[0].turns[0].outcome, TurnOutcome::kOther);
  EXPECT_THAT(table.notes, ElementsAre(HasSubstr("t.csv: turns of a class that is not known, \"Melted\": 1;")));
}

TEST(PublishedTurns, ErrorsNameSourceLineAndColumn) {
  EXPECT_EQ(Error(absl::StrCat(kHeader, Line("exp_000", "-1", "Correct", "0.5", "1"))),
            "t.csv: line 2, column 30: turn: expected a whole number from 0 to 9999, not \"-1\"");
  EXPECT_THAT(Error(absl::StrCat(kHeader, Line("exp_000", "0", "Correct", "fast", "1"))),
              HasSubstr("line 2, column 40: speedup: expected a ratio of at least 0, not \"fast\""));
  EXPECT_THAT(Error(absl::StrCat(kHeader, Line("exp_000", "0", "Correct", "nan", "1"))), HasSubstr("speedup"));
  EXPECT_THAT(Error(absl::StrCat(kHeader, Line("exp_000", "0", "Correct", "1", "yes"))),
              HasSubstr("correct_with_arch: expected 0 or 1, not \"yes\""));
  EXPECT_THAT(Error(absl::StrCat(kHeader, Line("exp_000", "0", "Runtime error", "1", "1"))),
              HasSubstr("correct_with_arch is 1, but correctness is \"Runtime error\""));
  const std::string line = Line("exp_000", "0", "Correct", "1", "1");
  EXPECT_THAT(Error(absl::StrCat(kHeader, line, line)),
              HasSubstr("line 3, column 30: turn 0 of exp_000 (M, gemm) is "));
}

TEST(PublishedTurns, HeaderMustHoldTheColumnsOnce) {
  EXPECT_THAT(Error("model,arch\nM,a\n"), HasSubstr("t.csv: line 1, column 1: column \"definition\" is missing"));
  EXPECT_THAT(Error("model,model\n"), HasSubstr("line 1, column 7: column \"model\" is there twice"));
  EXPECT_THAT(Error(""), HasSubstr("the table is empty"));
}

TEST(PublishedTurns, ATableThatIsRefusedAddsNothing) {
  TurnTable table;
  EXPECT_FALSE(
      ReadPublishedTurns(absl::StrCat(kHeader, Line("a", "0", "Correct", "1", "1"), "x\n"), "t.csv", 8, table).ok());
  EXPECT_THAT(table.trajectories, IsEmpty());
  EXPECT_THAT(table.sources, IsEmpty());
}

}  // namespace
}  // namespace sassay::agent
