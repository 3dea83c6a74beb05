#include "agent/submit/submission.h"

#include <thread>

#include "absl/synchronization/notification.h"
#include "agent/submit/calls.h"
#include "agent/submit/fake_profiler.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sassay::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class SubmissionTest : public ::testing::Test {
 protected:
  SubmissionTest() : connection_(*Connection::Open(profiler_.Options())) {
    request_.set_request_id(NewRequestId());
    request_.set_workload("gemm/M=1");
    listener_.on_event = [this](const v1::Event& event) { sequences_.push_back(event.sequence()); };
    listener_.on_note = [this](absl::string_view note) { notes_.emplace_back(note); };
  }
  std::unique_ptr<Submission> Make() {
    return std::make_unique<Submission>(*connection_, policy_, stopper_, listener_);
  }

  FakeProfiler profiler_;
  std::unique_ptr<Connection> connection_;
  RetryPolicy policy_ = {absl::Milliseconds(1), absl::Milliseconds(5), absl::Seconds(30)};
  Stopper stopper_;
  SubmissionListener listener_;
  v1::ProfileRequest request_;
  std::vector<uint64_t> sequences_;
  std::vector<std::string> notes_;
};

TEST_F(SubmissionTest, DeliversEveryEventAndTheVerdict) {
  const auto submission = Make();
  EXPECT_EQ(submission->Profile(request_)->status(), v1::VERDICT_STATUS_CORRECT);
  EXPECT_THAT(sequences_, ElementsAre(1, 2, 3, 4));
  EXPECT_EQ(submission->id(), "sub-1");
}

TEST_F(SubmissionTest, AttachesAfterTheLastEventSeenWhenTheStreamBreaks) {
  profiler_.break_before_event = {2, 3};
  EXPECT_EQ(Make()->Profile(request_)->status(), v1::VERDICT_STATUS_CORRECT);
  EXPECT_THAT(sequences_, ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(profiler_.attach_after, ElementsAre(2, 3));
  EXPECT_THAT(notes_, ElementsAre(HasSubstr("broken on purpose"), HasSubstr("attaching again")));
}

TEST_F(SubmissionTest, UnreachableServiceFailsAtOnce) {
  profiler_.break_before_event = {0};
  const absl::Status status = Make()->Profile(request_).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(notes_, IsEmpty());
  EXPECT_EQ(profiler_.profile_request_ids.size(), 1u);
}

TEST_F(SubmissionTest, ServiceThatAnsweredIsAskedAgainByTheSameRequestId) {
  profiler_.break_before_event = {0};
  const auto submission = Make();
  submission->ServiceAnswered();
  EXPECT_EQ(submission->Profile(request_)->status(), v1::VERDICT_STATUS_CORRECT);
  EXPECT_THAT(profiler_.profile_request_ids, ElementsAre(request_.request_id(), request_.request_id()));
  EXPECT_EQ(profiler_.submissions, 1);
  EXPECT_THAT(sequences_, ElementsAre(1, 2, 3, 4));
}

TEST_F(SubmissionTest, GapInTheEventsIsTheEndWhateverFollows) {
  profiler_.sequences = {1, 3, 1, 2};
  const absl::Status status = Make()->Profile(request_).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(sequences_, ElementsAre(1));
}

TEST_F(SubmissionTest, SameRequestIdNeverSubmitsTwice) {
  ASSERT_TRUE(Make()->Profile(request_).ok());
  ASSERT_TRUE(Make()->Profile(request_).ok());
  EXPECT_EQ(profiler_.submissions, 1);
}

TEST_F(SubmissionTest, StreamThatEndsWithoutVerdictIsTakenUpAgain) {
  const v1::Event verdict = profiler_.script.back();
  profiler_.script.pop_back();
  listener_.on_note = [&](absl::string_view) { profiler_.script.push_back(verdict); };
  EXPECT_EQ(Make()->Profile(request_)->status(), v1::VERDICT_STATUS_CORRECT);
}

v1::Event VerdictOfAttempt(uint32_t attempt, v1::Timing::Status timing) {
  v1::Event event;
  event.mutable_verdict()->set_status(v1::VERDICT_STATUS_CORRECT);
  event.mutable_verdict()->set_attempt(attempt);
  event.mutable_verdict()->set_scorable(true);
  event.mutable_verdict()->mutable_timing()->set_status(timing);
  return event;
}

v1::Event ExclusionOf(uint32_t attempt, bool rerun) {
  v1::Event event;
  event.mutable_excluded()->set_attempt(attempt);
  event.mutable_excluded()->set_rerun(rerun);
  event.mutable_excluded()->mutable_exclusion()->set_incident_id("i-1");
  event.mutable_excluded()->mutable_exclusion()->set_reason("hot");
  return event;
}

v1::Event Settlement(uint32_t attempt, const std::string& warning) {
  v1::Event event;
  event.mutable_timing_settled()->set_attempt(attempt);
  event.mutable_timing_settled()->set_warning(warning);
  return event;
}

TEST_F(SubmissionTest, AProvisionalTimingIsFollowedUntilItIsSettled) {
  profiler_.script = {profiler_.script[0], VerdictOfAttempt(1, v1::Timing::PROVISIONAL), Settlement(1, "silent")};
  profiler_.break_before_event = {2};
  const auto verdict = Make()->Profile(request_);
  ASSERT_TRUE(verdict.ok()) << verdict.status();
  EXPECT_EQ(verdict->timing().status(), v1::Timing::MEASURED);
  EXPECT_THAT(verdict->timing().warnings(), ElementsAre("silent"));
  EXPECT_TRUE(verdict->scorable());
  EXPECT_THAT(sequences_, ElementsAre(1, 2, 3));
}

TEST_F(SubmissionTest, TheVerdictOfAnExcludedAttemptGivesWayToTheRerun) {
  profiler_.script = {profiler_.script[0], VerdictOfAttempt(1, v1::Timing::PROVISIONAL), Settlement(1, "of attempt 1"),
                      ExclusionOf(1, true), VerdictOfAttempt(2, v1::Timing::MEASURED)};
  const auto verdict = Make()->Attach("sub-1");
  ASSERT_TRUE(verdict.ok()) << verdict.status();
  EXPECT_EQ(verdict->attempt(), 2u);
  EXPECT_FALSE(verdict->has_excluded());
  EXPECT_THAT(verdict->timing().warnings(), IsEmpty());
  EXPECT_EQ(sequences_.size(), 5u);
}

TEST_F(SubmissionTest, AnExclusionThatIsTheLastWordIsInTheVerdict) {
  profiler_.script = {profiler_.script[0], ExclusionOf(1, true), VerdictOfAttempt(2, v1::Timing::MEASURED),
                      ExclusionOf(2, false)};
  const auto verdict = Make()->Profile(request_);
  ASSERT_TRUE(verdict.ok()) << verdict.status();
  EXPECT_EQ(verdict->excluded().incident_id(), "i-1");
  EXPECT_EQ(verdict->excluded().reason(), "hot");
  EXPECT_FALSE(verdict->scorable());
}

TEST_F(SubmissionTest, AnExclusionWithoutAVerdictIsNoEnd) {
  profiler_.script = {profiler_.script[0], ExclusionOf(1, false)};
  EXPECT_EQ(Make()->Profile(request_).status().code(), absl::StatusCode::kDataLoss);
}

TEST_F(SubmissionTest, GivesUpWhenPatienceEnds) {
  policy_.give_up_after = absl::ZeroDuration();
  profiler_.break_before_event = {2};
  EXPECT_EQ(Make()->Profile(request_).status().code(), absl::StatusCode::kUnavailable);
}

TEST_F(SubmissionTest, RefusalIsNotRetried) {
  request_.set_workload("unknown");
  const absl::Status status = Make()->Profile(request_).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), AllOf(HasSubstr("submit unknown"), HasSubstr("no workload")));
  EXPECT_EQ(profiler_.profile_request_ids.size(), 1u);
}

TEST_F(SubmissionTest, AttachReplaysAFinishedSubmission) {
  EXPECT_EQ(Make()->Attach("sub-9")->status(), v1::VERDICT_STATUS_CORRECT);
  EXPECT_THAT(sequences_, ElementsAre(1, 2, 3, 4));
  EXPECT_EQ(Make()->Attach("nobody").status().code(), absl::StatusCode::kNotFound);
}

TEST_F(SubmissionTest, DetachReturnsAfterAccepted) {
  profiler_.hold_until_cancelled = true;
  EXPECT_EQ(Make()->Detach(request_)->submission_id(), "sub-1");
}

TEST_F(SubmissionTest, CancelEndsWithItsVerdict) {
  profiler_.hold_until_cancelled = true;
  absl::Notification running;
  listener_.on_event = [&](const v1::Event& event) {
    if (event.sequence() == 3) running.Notify();
  };
  const auto submission = Make();
  std::thread canceller([&] {
    running.WaitForNotification();
    EXPECT_TRUE(*CancelSubmission(*connection_, submission->id(), stopper_));
  });
  EXPECT_EQ(submission->Profile(request_)->status(), v1::VERDICT_STATUS_CANCELLED);
  canceller.join();
}

TEST_F(SubmissionTest, StopperLeavesASilentStream) {
  profiler_.hold_until_cancelled = true;
  listener_.on_event = [&](const v1::Event& event) {
    if (event.sequence() == 3) stopper_.Stop();
  };
  EXPECT_EQ(Make()->Profile(request_).status().code(), absl::StatusCode::kCancelled);
}

TEST_F(SubmissionTest, RequestIdsDiffer) { EXPECT_NE(NewRequestId(), NewRequestId()); }

}  // namespace
}  // namespace sassay::agent
