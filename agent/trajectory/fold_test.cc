#include "agent/trajectory/fold.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"

namespace sassay::agent {
namespace {

using Record = v1::TrajectoryRecord;

class FoldTest : public ::testing::Test {
 protected:
  absl::Status Add(Record record) {
    record.set_sequence(trajectory_.last_sequence + 1);
    return Fold(record, trajectory_);
  }
  static Record Began() {
    Record record;
    record.mutable_began()->set_trajectory_id("exp_000");
    return record;
  }
  static Record Asked(uint32_t turn) {
    Record record;
    record.mutable_asked()->set_turn(turn);
    return record;
  }
  static Record Answered(uint32_t turn, const std::string& text = "answer") {
    Record record;
    record.mutable_answered()->set_turn(turn);
    record.mutable_answered()->set_text(text);
    return record;
  }
  static Record Extracted(uint32_t turn, v1::Extraction extraction = v1::EXTRACTION_CODE) {
    Record record;
    record.mutable_extracted()->set_turn(turn);
    record.mutable_extracted()->set_extraction(extraction);
    return record;
  }
  static Record Submitted(uint32_t turn, const std::string& request_id) {
    Record record;
    record.mutable_submitted()->set_turn(turn);
    record.mutable_submitted()->set_request_id(request_id);
    return record;
  }
  static Record Judged(uint32_t turn, v1::VerdictStatus status, uint32_t attempt = 1) {
    Record record;
    record.mutable_judged()->set_turn(turn);
    record.mutable_judged()->mutable_verdict()->set_status(status);
    record.mutable_judged()->mutable_verdict()->set_attempt(attempt);
    return record;
  }
  static Record Feedback(uint32_t turn) {
    Record record;
    record.mutable_feedback()->set_turn(turn);
    record.mutable_feedback()->set_text("feedback");
    return record;
  }
  static Record Rewound(uint32_t turn) {
    Record record;
    record.mutable_rewound()->set_turn(turn);
    record.mutable_rewound()->mutable_exclusion()->set_incident_id("i-1");
    return record;
  }
  static Record Ended() {
    Record record;
    record.mutable_ended()->set_end(v1::TRAJECTORY_END_TURN_LIMIT);
    return record;
  }
  void AddTurn(uint32_t turn) {
    for (const Record& record : {Asked(turn), Answered(turn), Extracted(turn), Submitted(turn, "r"),
                                 Judged(turn, v1::VERDICT_STATUS_CORRECT), Feedback(turn)}) {
      ASSERT_TRUE(Add(record).ok());
    }
  }

  Trajectory trajectory_;
};

TEST_F(FoldTest, ATurnGrowsRecordByRecord) {
  ASSERT_TRUE(Add(Began()).ok());
  AddTurn(0);
  AddTurn(1);
  ASSERT_TRUE(Add(Ended()).ok());
  ASSERT_EQ(trajectory_.turns.size(), 2u);
  EXPECT_EQ(trajectory_.turns[1].number, 1u);
  EXPECT_EQ(trajectory_.turns[1].feedback->text(), "feedback");
  EXPECT_TRUE(IsCorrect(trajectory_.turns[1]));
  EXPECT_TRUE(trajectory_.ended.has_value());
  EXPECT_EQ(trajectory_.last_sequence, 14u);
}

TEST_F(FoldTest, AGapInTheNumbersIsAnError) {
  Record record = Began();
  record.set_sequence(2);
  EXPECT_FALSE(Fold(record, trajectory_).ok());
}

TEST_F(FoldTest, NothingPrecedesTheBeginning) { EXPECT_FALSE(Add(Asked(0)).ok()); }

TEST_F(FoldTest, AnAnswersCostIsANumber) {
  ASSERT_TRUE(Add(Began()).ok());
  ASSERT_TRUE(Add(Asked(0)).ok());
  Record record = Answered(0);
  for (const double bad : {-0.5, std::nan(""), std::numeric_limits<double>::infinity(), 1e300}) {
    record.mutable_answered()->mutable_usage()->set_cost_usd(bad);
    EXPECT_THAT(std::string(Add(record).message()), ::testing::HasSubstr("cannot have cost")) << bad;
  }
  record.mutable_answered()->mutable_usage()->set_cost_usd(0.5);
  EXPECT_TRUE(Add(record).ok());
}

TEST_F(FoldTest, AskingAgainIsAllowedUntilThereIsAnAnswer) {
  ASSERT_TRUE(Add(Began()).ok());
  ASSERT_TRUE(Add(Asked(0)).ok());
  EXPECT_TRUE(Add(Asked(0)).ok());
  ASSERT_TRUE(Add(Answered(0)).ok());
  EXPECT_FALSE(Add(Asked(0)).ok());
  EXPECT_FALSE(Add(Answered(0)).ok()) << "a turn is paid for once";
  EXPECT_EQ(trajectory_.turns.size(), 1u);
}

TEST_F(FoldTest, WhatFollowsFromNothingIsRefused) {
  ASSERT_TRUE(Add(Began()).ok());
  for (const Record& record : {Answered(0), Extracted(0), Submitted(0, "r"), Judged(0, v1::VERDICT_STATUS_CORRECT),
                               Feedback(0), Rewound(0), Asked(1)}) {
    EXPECT_FALSE(Add(record).ok()) << record.ShortDebugString();
  }
  ASSERT_TRUE(Add(Asked(0)).ok());
  EXPECT_FALSE(Add(Extracted(0)).ok());
  EXPECT_FALSE(Add(Feedback(0)).ok());
}

TEST_F(FoldTest, AnAnswerWithoutCodeNeedsNoVerdict) {
  ASSERT_TRUE(Add(Began()).ok());
  ASSERT_TRUE(Add(Asked(0)).ok());
  ASSERT_TRUE(Add(Answered(0)).ok());
  ASSERT_TRUE(Add(Extracted(0, v1::EXTRACTION_NO_CODE)).ok());
  EXPECT_TRUE(Add(Feedback(0)).ok());
  EXPECT_FALSE(IsCorrect(trajectory_.turns[0]));
}

TEST_F(FoldTest, RewindingTakesLaterTurnsBackAndKeepsTheAnswer) {
  ASSERT_TRUE(Add(Began()).ok());
  for (uint32_t turn = 0; turn < 3; ++turn) AddTurn(turn);
  ASSERT_TRUE(Add(Ended()).ok());
  ASSERT_TRUE(Add(Rewound(0)).ok());
  ASSERT_EQ(trajectory_.turns.size(), 1u);
  ASSERT_EQ(trajectory_.taken_back.size(), 2u);
  EXPECT_EQ(trajectory_.taken_back[0].number, 1u);
  EXPECT_TRUE(trajectory_.taken_back[1].judged.has_value());
  const Turn& turn = trajectory_.turns[0];
  EXPECT_EQ(turn.answered->text(), "answer");
  EXPECT_FALSE(turn.judged.has_value());
  EXPECT_FALSE(turn.feedback.has_value());
  ASSERT_EQ(turn.excluded.size(), 1u);
  EXPECT_EQ(turn.excluded[0].excluded().exclusion().incident_id(), "i-1");
  EXPECT_EQ(turn.excluded[0].verdict().status(), v1::VERDICT_STATUS_CORRECT);
  EXPECT_FALSE(trajectory_.ended.has_value());
  EXPECT_TRUE(Add(Judged(0, v1::VERDICT_STATUS_CORRECT, 2)).ok());
  EXPECT_TRUE(Add(Feedback(0)).ok());
  EXPECT_TRUE(Add(Asked(1)).ok()) << "and on it goes";
}

TEST_F(FoldTest, NothingButARewindFollowsTheEnd) {
  ASSERT_TRUE(Add(Began()).ok());
  AddTurn(0);
  ASSERT_TRUE(Add(Ended()).ok());
  EXPECT_FALSE(Add(Asked(1)).ok());
  EXPECT_FALSE(Add(Ended()).ok());
  EXPECT_TRUE(Add(Rewound(0)).ok());
}

TEST_F(FoldTest, ASpeedupIsKnownOnlyWhereItWasMeasuredOnACorrectTurn) {
  Turn turn;
  EXPECT_FALSE(SpeedupOf(turn).has_value());
  v1::Verdict& verdict = *turn.judged.emplace().mutable_verdict();
  verdict.set_status(v1::VERDICT_STATUS_CORRECT);
  verdict.mutable_timing()->set_speedup(1.5);
  verdict.mutable_timing()->set_status(v1::Timing::UNAVAILABLE);
  EXPECT_FALSE(SpeedupOf(turn).has_value());
  verdict.mutable_timing()->set_status(v1::Timing::MEASURED);
  EXPECT_EQ(SpeedupOf(turn), 1.5);
  EXPECT_FALSE(IsScorable(turn));
  verdict.set_scorable(true);
  EXPECT_TRUE(IsScorable(turn));
  verdict.mutable_excluded()->set_incident_id("i-1");
  EXPECT_FALSE(SpeedupOf(turn).has_value());
  EXPECT_FALSE(IsCorrect(turn));
}

}  // namespace
}  // namespace sassay::agent
