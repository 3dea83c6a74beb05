#include "profiler_service/pipeline/judge_supervisor.h"

#include <algorithm>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/base/status_macros.h"

namespace sassay::pipeline {

using sassay::worker::JudgeReply;
using sassay::worker::JudgeRequest;

absl::StatusOr<std::unique_ptr<JudgeSupervisor>> JudgeSupervisor::Start(wire::WorkerOptions options,
                                                                        absl::Duration start_timeout) {
  std::unique_ptr<JudgeSupervisor> supervisor(new JudgeSupervisor(std::move(options), start_timeout));
  ASSIGN_OR_RETURN(const JudgeReply ready, supervisor->StartJudge());
  supervisor->device_ = ready.device();
  return supervisor;
}

absl::StatusOr<JudgeReply> JudgeSupervisor::StartJudge() {
  ASSIGN_OR_RETURN(judge_, wire::WorkerProcess::Start(options_));
  JudgeReply ready;
  absl::Status status = judge_->Receive(ready, absl::Now() + start_timeout_).status();
  if (status.ok() && !ready.error().empty()) status = absl::UnavailableError(absl::StrCat("judge: ", ready.error()));
  if (!status.ok()) judge_.reset();
  absl::MutexLock lock(&mutex_);
  pid_ = judge_ == nullptr ? 0 : judge_->pid();
  RETURN_IF_ERROR(status);
  return ready;
}

absl::StatusOr<JudgeReply> JudgeSupervisor::Ask(const JudgeRequest& request, std::vector<UniqueFd>& descriptors,
                                                absl::Time deadline) {
  {
    absl::MutexLock lock(&mutex_);
    const auto idle = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return !busy_; };
    if (!mutex_.AwaitWithDeadline(absl::Condition(&idle), deadline)) {
      return absl::DeadlineExceededError("the judge was busy with other jobs");
    }
    busy_ = true;
  }
  const auto release = absl::MakeCleanup([this] {
    absl::MutexLock lock(&mutex_);
    busy_ = false;
  });
  if (judge_ == nullptr) RETURN_IF_ERROR(StartJudge().status());
  JudgeReply reply;
  auto received = judge_->Call(request, {}, reply, deadline);
  if (!received.ok()) {
    judge_.reset();
    absl::MutexLock lock(&mutex_);
    pid_ = 0;
    return received.status();
  }
  descriptors = *std::move(received);
  return reply;
}

uint64_t JudgeSupervisor::NewCase() {
  absl::MutexLock lock(&mutex_);
  return ++cases_;
}

pid_t JudgeSupervisor::pid() {
  absl::MutexLock lock(&mutex_);
  return pid_;
}

}  // namespace sassay::pipeline
