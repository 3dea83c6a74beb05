#include "agent/render/progress.h"

#include <sstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sassay::agent {
namespace {

using ::testing::HasSubstr;

class ProgressTest : public ::testing::Test {
 protected:
  v1::Event Finished(v1::Stage stage, v1::StageReport::Outcome outcome, const std::string& reason) {
    v1::Event event;
    v1::StageReport& report = *event.mutable_stage_finished()->mutable_report();
    report.set_stage(stage);
    report.set_outcome(outcome);
    report.set_reason(reason);
    report.set_wall_ns(1230000);
    return event;
  }
  void Feed(Progress& progress) {
    progress.Begin("compile", "kernel.cu");
    now_ += absl::Seconds(2);
    progress.Tick();
    progress.End("passed", "sm_90a");
    v1::Event accepted;
    accepted.set_submission_id("sub-1");
    accepted.mutable_accepted()->set_queue_position(2);
    progress.OnEvent(accepted);
    v1::Event started;
    started.mutable_stage_started()->set_stage(v1::STAGE_EVALUATE);
    started.mutable_stage_started()->set_device("emulated:sm_90a");
    progress.OnEvent(started);
    progress.OnEvent(Finished(v1::STAGE_EVALUATE, v1::StageReport::PASSED, ""));
    progress.OnEvent(Finished(v1::STAGE_TIMING, v1::StageReport::UNAVAILABLE, "emulated device"));
    v1::Event retrying;
    retrying.mutable_retrying()->set_attempt(2);
    retrying.mutable_retrying()->set_reason("GPU was paused");
    progress.OnEvent(retrying);
    progress.Finish();
  }

  absl::Time now_ = absl::UnixEpoch();
  std::ostringstream out_;
};

TEST_F(ProgressTest, AVerdictThatWasReachedBeforeSaysForWhom) {
  Progress progress(out_, Style(false), /*interactive=*/false, [this] { return now_; });
  v1::Event verdict;
  verdict.mutable_verdict()->set_reused_from("sub-1");
  verdict.set_last(true);
  progress.OnEvent(verdict);
  progress.Finish();
  EXPECT_EQ(out_.str(), "cached     from sub-1\n");
}

TEST_F(ProgressTest, PipedOutputIsOnePlainLinePerFact) {
  Progress progress(out_, Style(false), /*interactive=*/false, [this] { return now_; });
  Feed(progress);
  EXPECT_EQ(out_.str(),
            "compile    passed            2.00 s  sm_90a\n"
            "accepted   sub-1, 2 ahead\n"
            "evaluate   passed           1.23 ms\n"
            "timing     unavailable      1.23 ms  emulated device\n"
            "attempt 2: GPU was paused\n");
}

TEST_F(ProgressTest, TerminalShowsSpinnerAndElapsedTimeAndLeavesNoHalfLine) {
  Progress progress(out_, Style(false), /*interactive=*/true, [this] { return now_; });
  Feed(progress);
  EXPECT_THAT(out_.str(), HasSubstr("\r\033[K/ compile 2.00 s  kernel.cu"));
  EXPECT_THAT(out_.str(), HasSubstr("/ evaluate 0 ns  emulated:sm_90a"));
  EXPECT_THAT(out_.str(), ::testing::EndsWith("\r\033[K"));
}

TEST_F(ProgressTest, ExclusionsAreTold) {
  Progress progress(out_, Style(false), /*interactive=*/false, [this] { return now_; });
  v1::Event event;
  event.mutable_excluded()->set_attempt(1);
  event.mutable_excluded()->set_rerun(true);
  event.mutable_excluded()->mutable_exclusion()->set_incident_id("i-\0337");
  event.mutable_excluded()->mutable_exclusion()->set_reason("the GPU throttled");
  progress.OnEvent(event);
  event.mutable_excluded()->set_attempt(2);
  event.mutable_excluded()->set_rerun(false);
  progress.OnEvent(event);
  EXPECT_EQ(out_.str(),
            "attempt 1: excluded (incident i-\\x1b7: the GPU throttled), running again\n"
            "attempt 2: excluded (incident i-\\x1b7: the GPU throttled), too often to run again\n");
}

TEST_F(ProgressTest, ATimingThatIsNotFinalIsWaitedFor) {
  Progress progress(out_, Style(false), /*interactive=*/true, [this] { return now_; });
  v1::Event event;
  event.mutable_verdict()->mutable_timing()->set_status(v1::Timing::PROVISIONAL);
  progress.OnEvent(event);
  EXPECT_THAT(out_.str(), HasSubstr("settling"));
  out_.str("");
  event.mutable_timing_settled();
  progress.OnEvent(event);
  progress.Tick();
  EXPECT_THAT(out_.str(), ::testing::Not(HasSubstr("settling")));
}

TEST_F(ProgressTest, ForeignTextCannotRepaintTheTerminal) {
  Progress progress(out_, Style(false), /*interactive=*/false, [this] { return now_; });
  progress.OnEvent(Finished(v1::STAGE_EVALUATE, v1::StageReport::FAILED, "\033[2Jboo"));
  EXPECT_THAT(out_.str(), HasSubstr("\\x1b[2Jboo"));
}

TEST_F(ProgressTest, SpinnerTicksFromItsOwnThreadWithoutRace) {
  std::ostringstream out;
  Progress progress(out, Style(false), /*interactive=*/true, absl::Now);
  Spinner spinner(progress);
  for (int i = 0; i < 100; ++i) {
    progress.Begin("step");
    progress.End("passed");
  }
}

}  // namespace
}  // namespace sassay::agent
