#include "agent/cli/follow/follower.h"

#include <signal.h>

#include <sstream>

#include "agent/cli/follow/follow.h"
#include "agent/cli/follow/replay_journal.h"
#include "agent/submit/fake_profiler.h"
#include "common/base/files.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sassay::agent {
namespace {

using ::testing::HasSubstr;

// Passes everything on and calls `on_text` when a text has come by.
class WatchingBuffer : public std::stringbuf {
 public:
  WatchingBuffer(std::string text, std::function<void()> on_text)
      : text_(std::move(text)), on_text_(std::move(on_text)) {}
  int sync() override {
    if (!seen_ && str().find(text_) != std::string::npos) {
      seen_ = true;
      on_text_();
    }
    return std::stringbuf::sync();
  }

 private:
  const std::string text_;
  const std::function<void()> on_text_;
  bool seen_ = false;
};

class FollowerTest : public ::testing::Test {
 protected:
  FollowerTest() : home_(*TemporaryDirectory::Create("follower")) { profiler_.hold_until_cancelled = true; }

  // Submits (or attaches) and sends an interrupt as soon as a stage has finished.
  int RunInterrupted(bool attach, const std::string& text = "evaluate   passed") {
    WatchingBuffer buffer(text, [] { raise(SIGINT); });
    std::ostream err(&buffer);
    Terminal terminal = {
        &out_, &err, false, false, {{"HOME", home_.path()}, {"SASSAY_SERVICE", profiler_.address()}}, home_.path()};
    const Settings settings = *Settings::Resolve(
        {{{"reconnect_deadline", reconnect_deadline_}}, terminal.environment, terminal.working_directory});
    Session session(terminal, settings, false);
    const int status = attach ? FollowExisting(session, "sub-1")
                              : SubmitBundle(session, "bytes", *MakeRequest(settings, "gemm/M=1"), false);
    err_ = buffer.str();
    return status;
  }

  FakeProfiler profiler_;
  TemporaryDirectory home_;
  std::ostringstream out_;
  std::string err_;
  std::string reconnect_deadline_ = "5m";
};

TEST_F(FollowerTest, FirstInterruptOfSubmitCancelsAndShowsTheCancelledVerdict) {
  EXPECT_EQ(RunInterrupted(/*attach=*/false), 3);
  EXPECT_THAT(err_, HasSubstr("cancelling sub-1; Ctrl-C again leaves at once"));
  EXPECT_THAT(out_.str(), HasSubstr("CANCELLED"));
}

TEST_F(FollowerTest, InterruptBeforeAcceptedWaitsForItAndCancels) {
  profiler_.before_first_event = [] { raise(SIGINT); };
  EXPECT_EQ(RunInterrupted(/*attach=*/false, "never printed"), 3);
  // The signal is raised while the first event is on its way, and seen before or after it.
  EXPECT_THAT(err_, testing::AnyOf(HasSubstr("cancelling the submission"), HasSubstr("cancelling sub-1")));
  EXPECT_THAT(out_.str(), HasSubstr("CANCELLED"));
}

TEST_F(FollowerTest, FailureBeforeAcceptedNamesTheRequestId) {
  profiler_.break_before_event = {0, 0, 0};
  reconnect_deadline_ = "1ns";
  EXPECT_EQ(RunInterrupted(/*attach=*/false, "never printed"), 3);
  EXPECT_THAT(err_, HasSubstr("--request-id " + profiler_.profile_request_ids[0]));
}

TEST_F(FollowerTest, InterruptOfAttachLeavesAndSaysHowToComeBack) {
  EXPECT_EQ(RunInterrupted(/*attach=*/true), 3);
  EXPECT_THAT(err_, HasSubstr("`mini-ptx-agent attach sub-1` finds the submission again"));
  EXPECT_EQ(out_.str(), "");
}

TEST(ReplayJournalTest, RemembersAcrossRunsAndRefusesForeignPaths) {
  const TemporaryDirectory home = *TemporaryDirectory::Create("journal");
  const std::map<std::string, std::string> environment = {{"XDG_STATE_HOME", home.path()}};
  v1::Verdict verdict;
  verdict.set_replay_id("r-1");
  verdict.set_workload("gemm/M=1");
  verdict.set_bundle_sha256("ab");
  RememberReplay(environment, verdict);
  EXPECT_EQ(FindReplay(environment, "r-1")->workload, "gemm/M=1");
  EXPECT_EQ(FindReplay(environment, "r-1")->bundle_sha256, "ab");
  EXPECT_FALSE(FindReplay(environment, "r-2").ok());
  EXPECT_FALSE(IsJournalName("../x"));
  EXPECT_FALSE(IsJournalName(".x"));
  EXPECT_FALSE(IsJournalName("a/b"));
  EXPECT_TRUE(IsJournalName("r_1.a-b"));
}

}  // namespace
}  // namespace sassay::agent
