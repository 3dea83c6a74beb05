#include "profiler_service/pipeline/lanes/judge_supervisor.h"

#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/workload/catalog.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sassay::pipeline {
namespace {

using sassay::worker::JudgeReply;
using sassay::worker::JudgeRequest;
using testing::HasSubstr;

wire::WorkerOptions MemoryJudge() {
  wire::WorkerOptions options;
  options.name = "judge";
  options.argv = {std::string(std::getenv("SASSAY_TEST_BIN")) + "/../tests/memory_judge"};
  return options;
}

JudgeRequest Preparation(uint64_t id) {
  JudgeRequest request;
  request.set_case_id(id);
  auto* prepare = request.mutable_prepare();
  *prepare->mutable_workload() = *WorkloadCatalog::BuiltIn().Resolve("gemm_n256_k256/M=64");
  prepare->set_distribution("normal");
  auto* need = prepare->add_needs();
  need->set_tensor("C");
  need->set_output(true);
  need->set_size_bytes(64 * 256 * 2);
  return request;
}

JudgeRequest Comparison(uint64_t id) {
  JudgeRequest request;
  request.set_case_id(id);
  request.mutable_compare();
  return request;
}

class JudgeSupervisorTest : public testing::Test {
 protected:
  JudgeSupervisorTest() {
    auto supervisor = JudgeSupervisor::Start(MemoryJudge(), absl::Seconds(60));
    EXPECT_TRUE(supervisor.ok()) << supervisor.status();
    supervisor_ = *std::move(supervisor);
  }

  absl::StatusOr<JudgeReply> Ask(const JudgeRequest& request) {
    descriptors_.clear();
    return supervisor_->Ask(request, descriptors_, absl::Now() + absl::Seconds(60));
  }

  std::unique_ptr<JudgeSupervisor> supervisor_;
  std::vector<UniqueFd> descriptors_;
};

TEST_F(JudgeSupervisorTest, HandsOutTheJudgesMemoryAndItsComparison) {
  EXPECT_EQ(supervisor_->device().kind(), "memory");
  const uint64_t id = supervisor_->NewCase();
  const auto prepared = Ask(Preparation(id));
  ASSERT_TRUE(prepared.ok()) << prepared.status();
  EXPECT_EQ(prepared->error(), "");
  EXPECT_EQ(descriptors_.size(), 1u);
  const auto compared = Ask(Comparison(id));
  EXPECT_GT(compared->numerics().outputs(0).unwritten(), 0u);
}

TEST_F(JudgeSupervisorTest, CountsWhichCasesFoundTheirInputsReady) {
  ASSERT_TRUE(Ask(Preparation(1)).ok());
  ASSERT_TRUE(Ask(Preparation(2)).ok());
  ASSERT_TRUE(Ask(Comparison(2)).ok());
  EXPECT_EQ(supervisor_->states(sassay::worker::STATE_ORIGIN_MADE), 1u);
  EXPECT_EQ(supervisor_->states(sassay::worker::STATE_ORIGIN_KEPT), 1u);
}

TEST_F(JudgeSupervisorTest, AKilledJudgeIsReplacedAndItsCasesAreGone) {
  ASSERT_TRUE(Ask(Preparation(1)).ok());
  const pid_t first = supervisor_->pid();
  ASSERT_EQ(kill(first, SIGKILL), 0);
  // The death is noticed by this question, or before it and the answer is the successor's.
  if (const auto during = Ask(Comparison(1)); !during.ok()) {
    EXPECT_EQ(during.status().code(), absl::StatusCode::kUnavailable);
  } else {
    EXPECT_EQ(during->trouble(), sassay::worker::JUDGE_TROUBLE_NO_CASE);
  }
  const auto after = Ask(Comparison(1));
  ASSERT_TRUE(after.ok()) << after.status();
  EXPECT_EQ(after->trouble(), sassay::worker::JUDGE_TROUBLE_NO_CASE);
  EXPECT_NE(supervisor_->pid(), first);
  EXPECT_EQ(Ask(Preparation(2))->error(), "");
}

// After a time-out or a fault in its own context a judge can do nothing for anybody.
TEST_F(JudgeSupervisorTest, AJudgeThatLostItsContextEndsAndIsReplaced) {
  const std::filesystem::path lost = std::filesystem::path(testing::TempDir()) / absl::StrCat("lost.", getpid());
  wire::WorkerOptions options = MemoryJudge();
  options.environment["MEMORY_JUDGE_IS_LOST_BY"] = lost.string();
  auto supervisor = JudgeSupervisor::Start(options, absl::Seconds(60));
  ASSERT_TRUE(supervisor.ok()) << supervisor.status();
  supervisor_ = *std::move(supervisor);
  EXPECT_EQ(Ask(Preparation(1))->error(), "");
  const pid_t first = supervisor_->pid();
  std::ofstream(lost).put('x');
  EXPECT_EQ(Ask(Comparison(1)).status().code(), absl::StatusCode::kUnavailable);
  std::filesystem::remove(lost);
  EXPECT_EQ(Ask(Preparation(2))->error(), "");
  EXPECT_NE(supervisor_->pid(), first);
  EXPECT_EQ(supervisor_->deaths(), 1u);
}

TEST_F(JudgeSupervisorTest, SeveralJobsAtOnceGetTheirOwnAnswers) {
  std::vector<std::thread> threads;
  std::atomic<int> answered{0};
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      std::vector<UniqueFd> descriptors;
      const uint64_t id = supervisor_->NewCase();
      const absl::Time deadline = absl::Now() + absl::Seconds(60);
      const auto reply = supervisor_->Ask(Preparation(id), descriptors, deadline);
      answered += reply.ok() && reply->case_id() == id && descriptors.size() == 1;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(answered, 4);
}

JudgeRequest LongPreparation(uint64_t id) {
  JudgeRequest request = Preparation(id);
  *request.mutable_prepare()->mutable_workload() = *WorkloadCatalog::BuiltIn().Resolve("gemm_n7168_k5120/M=128");
  request.mutable_prepare()->mutable_needs(0)->set_size_bytes(128 * 7168 * 2);
  return request;
}

// Its comparison needs seconds of arithmetic on any machine; what must not wait for it takes a tenth of that.
TEST_F(JudgeSupervisorTest, ALongReferenceDelaysNoOtherCase) {
  ASSERT_EQ(Ask(LongPreparation(1))->error(), "");
  ASSERT_EQ(Ask(Preparation(2))->error(), "");
  wire::KillSwitch kill_switch;
  std::atomic<bool> long_one_ended{false};
  std::thread asker([&] {
    std::vector<UniqueFd> descriptors;
    supervisor_->Ask(Comparison(1), descriptors, absl::InfiniteFuture(), &kill_switch).IgnoreError();
    long_one_ended = true;
  });
  for (int i = 0; i < 20; ++i) EXPECT_EQ(Ask(Comparison(2))->error(), "");
  EXPECT_FALSE(long_one_ended);
  kill_switch.Pull();
  asker.join();
}

TEST_F(JudgeSupervisorTest, ACancelledJobWaitsForNoReferenceAndItsCaseCanBeDropped) {
  ASSERT_EQ(Ask(LongPreparation(1))->error(), "");
  wire::KillSwitch kill_switch;
  std::thread canceller([&] { kill_switch.Pull(); });
  const auto cancelled = supervisor_->Ask(Comparison(1), descriptors_, absl::Now() + absl::Seconds(120), &kill_switch);
  canceller.join();
  EXPECT_EQ(cancelled.status().code(), absl::StatusCode::kCancelled);
  supervisor_->Drop(1);
  EXPECT_EQ(Ask(Comparison(1))->trouble(), sassay::worker::JUDGE_TROUBLE_NO_CASE);
  EXPECT_EQ(Ask(Preparation(2))->error(), "") << "the same judge goes on";
}

// Stopped, a process answers nothing, as one does whose thread is busy for long.
TEST_F(JudgeSupervisorTest, DroppingACaseWaitsForNobodyAndKillsNobody) {
  ASSERT_EQ(Ask(Preparation(1))->error(), "");
  ASSERT_EQ(Ask(Preparation(2))->error(), "");
  const pid_t judge = supervisor_->pid();
  ASSERT_EQ(kill(judge, SIGSTOP), 0);
  supervisor_->Drop(1);
  ASSERT_EQ(kill(judge, SIGCONT), 0);
  EXPECT_EQ(Ask(Comparison(2))->error(), "") << "the other job's case lives";
  EXPECT_EQ(Ask(Comparison(1))->trouble(), sassay::worker::JUDGE_TROUBLE_NO_CASE);
  EXPECT_EQ(supervisor_->pid(), judge);
}

TEST_F(JudgeSupervisorTest, OneLateAnswerCostsTheOthersNothing) {
  ASSERT_EQ(Ask(LongPreparation(1))->error(), "");
  ASSERT_EQ(Ask(Preparation(2))->error(), "");
  const pid_t judge = supervisor_->pid();
  EXPECT_EQ(supervisor_->Ask(Comparison(1), descriptors_, absl::Now()).status().code(),
            absl::StatusCode::kDeadlineExceeded);
  supervisor_->Drop(1);
  EXPECT_EQ(Ask(Comparison(2))->error(), "");
  EXPECT_EQ(supervisor_->pid(), judge);
  EXPECT_EQ(supervisor_->deaths(), 0u);
}

TEST(JudgeSupervisor, AJudgeThatAnswersNothingAtAllIsReplacedAndCounted) {
  auto supervisor = JudgeSupervisor::Start(MemoryJudge(), absl::Seconds(60), /*silence=*/absl::Milliseconds(100));
  ASSERT_TRUE(supervisor.ok()) << supervisor.status();
  const pid_t judge = (*supervisor)->pid();
  ASSERT_EQ(kill(judge, SIGSTOP), 0);
  std::vector<UniqueFd> descriptors;
  EXPECT_EQ((*supervisor)->Ask(Preparation(1), descriptors, absl::Now()).status().code(),
            absl::StatusCode::kDeadlineExceeded);
  absl::StatusOr<JudgeReply> answer = absl::UnknownError("");
  while (!answer.ok()) {
    answer = (*supervisor)->Ask(Preparation(2), descriptors, absl::Now() + absl::Seconds(60));
  }
  EXPECT_NE((*supervisor)->pid(), judge);
  EXPECT_EQ((*supervisor)->deaths(), 1u);
}

// What was told of judges.
class Heard {
 public:
  JudgeSupervisor::Listener Listener() {
    return [this](wire::Happening happening, pid_t, absl::string_view reason) {
      absl::MutexLock lock(&mutex_);
      happenings_.push_back(happening);
      reasons_.emplace_back(reason);
    };
  }
  void Await(const std::vector<wire::Happening>& expected) {
    absl::MutexLock lock(&mutex_);
    const auto there = [&] { return happenings_ == expected; };
    EXPECT_TRUE(mutex_.AwaitWithTimeout(absl::Condition(&there), absl::Seconds(60)))
        << testing::PrintToString(happenings_);
  }
  std::vector<std::string> reasons() {
    absl::MutexLock lock(&mutex_);
    return reasons_;
  }

 private:
  absl::Mutex mutex_;
  std::vector<wire::Happening> happenings_;
  std::vector<std::string> reasons_;
};

TEST(JudgeSupervisor, ARestartedJudgeIsLostToItsAskersStartsAgainByItselfAndIsNoDeath) {
  Heard heard;
  auto supervisor = JudgeSupervisor::Start(MemoryJudge(), absl::Seconds(60), absl::Minutes(3), heard.Listener());
  ASSERT_TRUE(supervisor.ok()) << supervisor.status();
  const pid_t judge = (*supervisor)->pid();
  ASSERT_EQ(kill(judge, SIGSTOP), 0);
  absl::Status lost;
  std::thread asker([&] {
    std::vector<UniqueFd> descriptors;
    lost = (*supervisor)->Ask(Preparation(1), descriptors, absl::InfiniteFuture()).status();
  });
  while ((*supervisor)->Silence() == absl::ZeroDuration()) std::this_thread::yield();
  (*supervisor)->Restart("an operator asked for it");
  asker.join();
  EXPECT_EQ(lost.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(lost.message()), HasSubstr("was ended: an operator asked for it"));
  heard.Await({wire::Happening::kStarted, wire::Happening::kEnded, wire::Happening::kStarted});
  std::vector<UniqueFd> descriptors;
  EXPECT_TRUE((*supervisor)->Ask(Preparation(2), descriptors, absl::Now() + absl::Seconds(60)).ok());
  EXPECT_NE((*supervisor)->pid(), judge);
  EXPECT_EQ((*supervisor)->deaths(), 0u);
}

TEST(JudgeSupervisor, WhoWatchesHearsOfEveryDeathAndOfOneForSilence) {
  Heard heard;
  auto supervisor =
      JudgeSupervisor::Start(MemoryJudge(), absl::Seconds(60), /*silence=*/absl::Milliseconds(100), heard.Listener());
  ASSERT_TRUE(supervisor.ok()) << supervisor.status();
  ASSERT_EQ(kill((*supervisor)->pid(), SIGKILL), 0);
  heard.Await({wire::Happening::kStarted, wire::Happening::kDied});
  std::vector<UniqueFd> descriptors;
  ASSERT_TRUE((*supervisor)->Ask(Preparation(1), descriptors, absl::Now() + absl::Seconds(60)).ok());
  ASSERT_EQ(kill((*supervisor)->pid(), SIGSTOP), 0);
  EXPECT_FALSE((*supervisor)->Ask(Preparation(2), descriptors, absl::Now()).ok());
  heard.Await(
      {wire::Happening::kStarted, wire::Happening::kDied, wire::Happening::kStarted, wire::Happening::kKilledSilent});
  EXPECT_THAT(heard.reasons().back(), HasSubstr("answered nothing at all for 100ms"));
}

TEST_F(JudgeSupervisorTest, AJudgeThatOwesNothingIsNotSilentAndALongAnswerIsNoSilence) {
  EXPECT_EQ(supervisor_->Silence(), absl::ZeroDuration());
  ASSERT_EQ(Ask(LongPreparation(1))->error(), "");
  EXPECT_EQ(supervisor_->Silence(), absl::ZeroDuration());
  wire::KillSwitch kill_switch;
  std::thread asker([&] {
    std::vector<UniqueFd> descriptors;
    supervisor_->Ask(Comparison(1), descriptors, absl::InfiniteFuture(), &kill_switch).IgnoreError();
  });
  // Once it was silent for a second it gives a sign of life, and was never silent for much longer.
  while (supervisor_->Silence() <= absl::Seconds(1)) std::this_thread::yield();
  absl::Duration silence = absl::Seconds(2);
  for (const absl::Time end = absl::Now() + absl::Seconds(60); silence > absl::Seconds(1) && absl::Now() < end;) {
    std::this_thread::yield();
    silence = supervisor_->Silence();
  }
  EXPECT_LE(silence, absl::Seconds(1)) << "it says that it lives, though the answer is not there";
  kill_switch.Pull();
  asker.join();
}

TEST(JudgeSupervisor, AJobDoesNotWaitForAJudgeThatStartsOnceItIsCancelledOrLate) {
  const std::string go = testing::TempDir() + "/judge_may_start_" + std::to_string(getpid());
  std::ofstream(go) << "go";
  wire::WorkerOptions options = MemoryJudge();
  options.environment["MEMORY_JUDGE_WAITS_FOR"] = go;
  auto supervisor = JudgeSupervisor::Start(options, absl::Seconds(60));
  ASSERT_TRUE(supervisor.ok()) << supervisor.status();
  std::filesystem::remove(go);
  ASSERT_EQ(kill((*supervisor)->pid(), SIGKILL), 0);
  while ((*supervisor)->pid() != 0) std::this_thread::yield();
  std::vector<UniqueFd> descriptors;
  wire::KillSwitch kill_switch;
  std::thread canceller([&] { kill_switch.Pull(); });
  EXPECT_EQ((*supervisor)->Ask(Preparation(1), descriptors, absl::InfiniteFuture(), &kill_switch).status().code(),
            absl::StatusCode::kCancelled);
  canceller.join();
  EXPECT_EQ((*supervisor)->Ask(Preparation(2), descriptors, absl::Now()).status().code(),
            absl::StatusCode::kDeadlineExceeded);
}

TEST(JudgeSupervisor, SaysWhyAJudgeCannotStart) {
  wire::WorkerOptions options = MemoryJudge();
  options.environment["MEMORY_JUDGE_REFUSES"] = "1";
  const auto supervisor = JudgeSupervisor::Start(options, absl::Seconds(60));
  EXPECT_EQ(supervisor.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(supervisor.status().message()), HasSubstr("cuda:7: no such GPU"));
}

}  // namespace
}  // namespace sassay::pipeline
