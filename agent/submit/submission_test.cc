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
