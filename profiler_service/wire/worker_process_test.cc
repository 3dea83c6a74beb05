#include "profiler_service/wire/worker_process.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <thread>

#include "absl/strings/match.h"
#include "absl/time/clock.h"
#include "profiler_service/wire/worker.pb.h"

namespace sassay::wire {
namespace {

absl::Time Soon() { return absl::Now() + absl::Seconds(20); }

std::unique_ptr<WorkerProcess> Shell(const std::string& script, absl::optional<SandboxPolicy> sandbox = {}) {
  WorkerOptions options;
  options.name = "runner";
  options.argv = {"sh", "-c", script};
  options.environment = {{"PATH", "/usr/bin:/bin"}};
  options.sandbox = std::move(sandbox);
  auto worker = WorkerProcess::Start(options);
  EXPECT_TRUE(worker.ok()) << worker.status();
  return worker.ok() ? *std::move(worker) : nullptr;
}

worker::RunnerReply Question() {
  worker::RunnerReply question;
  question.set_message("question");
  return question;
}

TEST(WorkerProcess, AnswersOverItsChannel) {
  auto worker = Shell("exec cat <&3 >&3");
  worker::RunnerReply reply;
  const auto answered = worker->Call(Question(), {}, reply, Soon());
  ASSERT_TRUE(answered.ok()) << answered.status();
  EXPECT_EQ(reply.message(), "question");
}

TEST(WorkerProcess, AnswersFromInsideASandbox) {
  if (!ProbeSandbox().Complete()) GTEST_SKIP() << ProbeSandbox().missing;
  auto worker = Shell("exec cat <&3 >&3", SandboxPolicy());
  worker::RunnerReply reply;
  const auto answered = worker->Call(Question(), {}, reply, Soon());
  ASSERT_TRUE(answered.ok()) << answered.status();
  EXPECT_EQ(reply.message(), "question");
}

TEST(WorkerProcess, WorkerThatExitsIsLostWithItsStatus) {
  auto worker = Shell("exit 3");
  worker::RunnerReply reply;
  const auto lost = worker->Receive(reply, Soon());
  EXPECT_EQ(lost.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_TRUE(absl::StrContains(lost.status().message(), "3")) << lost.status();
}

TEST(WorkerProcess, WorkerThatCrashesIsLostWithItsSignal) {
  auto worker = Shell("kill -SEGV $$");
  worker::RunnerReply reply;
  const auto lost = worker->Receive(reply, Soon());
  EXPECT_EQ(lost.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_TRUE(absl::StrContains(lost.status().message(), "signal 11")) << lost.status();
}

TEST(WorkerProcess, LateWorkerIsKilled) {
  auto worker = Shell("exec cat >/dev/null <&3");
  worker::RunnerReply reply;
  const auto late = worker->Call(Question(), {}, reply, absl::Now() + absl::Milliseconds(20));
  EXPECT_EQ(late.status().code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_FALSE(worker->Call(Question(), {}, reply, Soon()).ok());
}

TEST(WorkerProcess, NoiseInsteadOfAReplyIsDataLoss) {
  auto worker = Shell("echo 'PASSED PASSED PASSED' >&3; exec cat >/dev/null <&3");
  worker::RunnerReply reply;
  EXPECT_EQ(worker->Receive(reply, Soon()).status().code(), absl::StatusCode::kDataLoss);
}

TEST(WorkerProcess, LongerAnswersThanExpectedAreDataLoss) {
  WorkerOptions options;
  options.name = "runner";
  options.argv = {"sh", "-c", "exec cat <&3 >&3"};
  options.environment = {{"PATH", "/usr/bin:/bin"}};
  options.most_reply_bytes = 10'000;  // little enough for the socket's buffers: the worker echoes
  worker::RunnerReply question, reply;
  for (const bool long_one : {false, true}) {
    auto worker = WorkerProcess::Start(options);
    ASSERT_TRUE(worker.ok()) << worker.status();
    question.set_message(std::string(long_one ? 10'000 : 5'000, 'x'));
    const auto answered = (*worker)->Call(question, {}, reply, Soon());
    EXPECT_EQ(answered.status().code(), long_one ? absl::StatusCode::kDataLoss : absl::StatusCode::kOk);
  }
}

TEST(WorkerProcess, KillFromAnotherThreadEndsACallAsCancelledWithinASecond) {
  // The worker says something first, so that it is known to run when it is killed.
  auto worker = Shell("head -c 22 <&3 >&3; exec cat >/dev/null <&3");
  worker::RunnerReply reply;
  ASSERT_TRUE(worker->Call(Question(), {}, reply, Soon()).ok());
  absl::Time killed_at;
  std::thread killer([&] {
    killed_at = absl::Now();
    worker->Kill();
  });
  const auto cancelled = worker->Receive(reply, Soon());
  killer.join();
  EXPECT_EQ(cancelled.status().code(), absl::StatusCode::kCancelled) << cancelled.status();
  EXPECT_LT(absl::Now() - killed_at, absl::Seconds(1));
}

TEST(WorkerProcess, EndsInOrderWhenItsChannelIsClosed) {
  auto worker = Shell("cat >/dev/null <&3; exit 7");
  const auto report = worker->CloseAndWait(Soon());
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->exit_code, 7);
}

TEST(WorkerProcess, ProgramThatDoesNotExistIsNotFound) {
  WorkerOptions options;
  options.name = "judge";
  options.argv = {"/no/such/judge"};
  EXPECT_EQ(WorkerProcess::Start(options).status().code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace sassay::wire
