#include "agent/rollout/exclusions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace sassay::agent {
namespace {

using ::testing::ElementsAre;

v1::Verdict VerdictOf(const std::string& submission, uint32_t attempt) {
  v1::Verdict verdict;
  verdict.set_submission_id(submission);
  verdict.set_attempt(attempt);
  return verdict;
}

v1::Event Excluded(const std::string& submission, uint32_t attempt) {
  v1::Event event;
  event.set_submission_id(submission);
  event.mutable_excluded()->set_attempt(attempt);
  event.mutable_excluded()->mutable_exclusion()->set_incident_id("i-1");
  return event;
}

class ExclusionsTest : public ::testing::Test {
 protected:
  std::vector<size_t> told_;
  Exclusions exclusions_{[this](size_t trajectory) { told_.push_back(trajectory); }};
};

TEST_F(ExclusionsTest, TheEarliestExcludedTurnIsWhereATrajectoryGoesBackTo) {
  for (uint32_t turn = 0; turn < 3; ++turn) exclusions_.Counts(7, turn, VerdictOf(std::string(1, 'a' + turn), 1));
  exclusions_.Take(Excluded("c", 1));
  exclusions_.Take(Excluded("b", 1));
  EXPECT_EQ(exclusions_.Earliest(7)->turn, 1u);
  EXPECT_EQ(exclusions_.Earliest(7)->exclusion.incident_id(), "i-1");
  EXPECT_FALSE(exclusions_.Earliest(6).has_value());
  EXPECT_FALSE(exclusions_.Earliest(8).has_value());
  EXPECT_THAT(told_, ElementsAre(7, 7));
  exclusions_.Rewound(7, 1);
  EXPECT_FALSE(exclusions_.Earliest(7).has_value());
}

TEST_F(ExclusionsTest, AnExclusionThatComesBeforeItsVerdictIsKept) {
  exclusions_.Take(Excluded("a", 1));
  EXPECT_TRUE(told_.empty());
  exclusions_.Counts(0, 0, VerdictOf("a", 1));
  EXPECT_EQ(exclusions_.Earliest(0)->turn, 0u);
}

TEST_F(ExclusionsTest, OnlyTheAttemptThatCountsMatters) {
  exclusions_.Take(Excluded("a", 1));
  exclusions_.Counts(0, 0, VerdictOf("a", 2));
  EXPECT_FALSE(exclusions_.Earliest(0).has_value()) << "the re-run's verdict counts";
  exclusions_.Take(Excluded("a", 1));
  EXPECT_FALSE(exclusions_.Earliest(0).has_value()) << "and the old event may come again";
  exclusions_.Take(Excluded("a", 2));
  EXPECT_TRUE(exclusions_.Earliest(0).has_value());
}

// A run that was killed before it heard of the first one, and goes on after the second.
TEST_F(ExclusionsTest, OfSeveralExclusionsOfASubmissionTheOneOfTheVerdictsAttemptIsFound) {
  exclusions_.Take(Excluded("a", 1));
  exclusions_.Take(Excluded("a", 2));
  exclusions_.Take(Excluded("b", 2));
  exclusions_.Counts(0, 0, VerdictOf("a", 1));
  EXPECT_TRUE(exclusions_.Earliest(0).has_value());
  exclusions_.Rewound(0, 0);
  exclusions_.Counts(0, 0, VerdictOf("a", 2));
  EXPECT_TRUE(exclusions_.Earliest(0).has_value());
  exclusions_.Counts(1, 0, VerdictOf("b", 1));
  EXPECT_FALSE(exclusions_.Earliest(1).has_value()) << "that attempt is still to come";
}

TEST_F(ExclusionsTest, TurnsThatWereTakenBackAreNobodysBusinessAnyMore) {
  exclusions_.Counts(0, 0, VerdictOf("a", 1));
  exclusions_.Counts(0, 1, VerdictOf("b", 1));
  exclusions_.Counts(1, 1, VerdictOf("c", 1));
  exclusions_.Rewound(0, 0);
  exclusions_.Take(Excluded("b", 1));
  EXPECT_FALSE(exclusions_.Earliest(0).has_value());
  exclusions_.Take(Excluded("c", 1));
  EXPECT_TRUE(exclusions_.Earliest(1).has_value()) << "another trajectory's stays";
}

TEST_F(ExclusionsTest, VerdictsOfTheAgentItselfAreNotExcluded) {
  exclusions_.Counts(0, 0, VerdictOf("", 1));
  exclusions_.Take(Excluded("", 1));
  EXPECT_FALSE(exclusions_.Earliest(0).has_value());
}

}  // namespace
}  // namespace sassay::agent
