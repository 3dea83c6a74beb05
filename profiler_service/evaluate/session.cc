#include "profiler_service/evaluate/session.h"

#include <algorithm>
#include <utility>

#include "common/base/steady_time.h"
#include "profiler_service/verdict/verdict.h"
#include "profiler_service/wire/runner_client.h"

namespace sassay::evaluate {
namespace {

using sassay::worker::RunnerReply;

// A time-out below this is not held against a candidate.
constexpr absl::Duration kFairDeadline = absl::Seconds(2);
constexpr size_t kDeviceOutputBytes = 64 << 10;

// Whether a device that ended a request so may give that code as the cause. A runner's number is the word of a process
// that ran hostile device code: what does not fit its own outcome is no cause.
bool Fits(sassay::v1::VerdictCode untrusted_code, sassay::worker::RunOutcome outcome) {
  const sassay::v1::VerdictStatus status = verdict::StatusOf(untrusted_code);
  switch (outcome) {
    case sassay::worker::RUN_OUTCOME_FAULT:
      return status == sassay::v1::VERDICT_STATUS_SANITIZER_ERROR || status == sassay::v1::VERDICT_STATUS_RUNTIME_ERROR;
    case sassay::worker::RUN_OUTCOME_TIMEOUT:
      return status == sassay::v1::VERDICT_STATUS_TIMEOUT;
    case sassay::worker::RUN_OUTCOME_REFUSED:
      return untrusted_code == sassay::v1::VERDICT_CODE_LAUNCH_REFUSED ||
             untrusted_code == sassay::v1::VERDICT_CODE_TOO_LARGE_FOR_DEVICE;
    default:
      return status == sassay::v1::VERDICT_STATUS_INFRA_ERROR &&
             untrusted_code >= sassay::v1::VERDICT_CODE_EMULATOR_LACKS;
  }
}

sassay::v1::VerdictCode CodeOfOutcome(const RunnerReply& reply) {
  if (Fits(reply.code(), reply.outcome())) return reply.code();
  switch (reply.outcome()) {
    case sassay::worker::RUN_OUTCOME_FAULT:
      return sassay::v1::VERDICT_CODE_LAUNCH_FAILED;
    case sassay::worker::RUN_OUTCOME_TIMEOUT:
      return sassay::v1::VERDICT_CODE_KERNEL_TIMEOUT;
    case sassay::worker::RUN_OUTCOME_REFUSED:
      return sassay::v1::VERDICT_CODE_LAUNCH_REFUSED;
    default:
      return sassay::v1::VERDICT_CODE_INTERNAL;
  }
}

}  // namespace

std::string WrongIn(const sassay::worker::JudgeReply& reply) {
  if (!reply.findings().empty()) return reply.findings(0).message();
  if (reply.numerics().passed()) return "";
  const std::string wrong = verdict::DescribeNumerics(reply.numerics());
  return wrong.empty() ? "the judge did not find its outputs right" : wrong;
}

MaybeFailure FailureOf(const RunnerReply& reply) {
  if (reply.outcome() == sassay::worker::RUN_OUTCOME_OK) return absl::nullopt;
  verdict::Failure failure;
  failure.code = CodeOfOutcome(reply);
  failure.reason = reply.message().empty() ? "the runner gave no reason" : reply.message();
  failure.findings.assign(reply.findings().begin(), reply.findings().end());
  failure.warps.assign(reply.warps().begin(), reply.warps().end());
  return failure;
}

MaybeFailure CandidateSession::Open(uint64_t decoy_seed, uint64_t poison_seed) {
  auto runner = context_.workers.StartRunner(mode_, context_.deadline);
  if (!runner.ok()) return TroubleOf(runner.status(), sassay::v1::VERDICT_CODE_RUNNER_LOST);
  runner_ = *std::move(runner);
  versions_ = runner_->versions();
  const auto bundle = wire::WithOnlyPlan(context_.bundle.bundle(), context_.bundle.workload().name());
  if (!bundle.ok()) return TroubleOf(bundle.status(), sassay::v1::VERDICT_CODE_INTERNAL);
  if (MaybeFailure failure = TakeReply(runner_->Load(*bundle, mode_))) return failure;
  counting_ = reply_.sass_counts();
  if (MaybeFailure failure = case_.Prepare(decoy_seed)) return failure;
  if (MaybeFailure failure = TakeReply(runner_->Bind(case_.regions(), case_.descriptors()))) return failure;
  return TakeLaunchReply(runner_->Setup(poison_seed, DeviceDeadline(context_.device_deadline)));
}

MaybeFailure CandidateSession::Steady(uint64_t poison_seed) {
  return TakeLaunchReply(runner_->Steady(poison_seed, DeviceDeadline(context_.device_deadline)));
}

MaybeFailure CandidateSession::SteadyWithout(uint32_t launch, uint64_t poison_seed, absl::Duration deadline) {
  return TakeReply(runner_->Steady(poison_seed, DeviceDeadline(std::min(deadline, context_.device_deadline)), launch));
}

MaybeFailure CandidateSession::TakeLaunchReply(const absl::StatusOr<RunnerReply>& reply) {
  MaybeFailure failure = TakeReply(reply);
  launching_ = failure.has_value();
  return failure;
}

MaybeFailure CandidateSession::TakeReply(const absl::StatusOr<RunnerReply>& reply) {
  if (!reply.ok()) return TroubleOf(reply.status(), sassay::v1::VERDICT_CODE_RUNNER_LOST);
  reply_ = *reply;
  device_ns_ += reply_.device_ns();
  const size_t room = kDeviceOutputBytes - std::min(kDeviceOutputBytes, device_output_.size());
  device_output_ += reply_.device_output().substr(0, room);
  MaybeFailure failure = FailureOf(reply_);
  // A kernel that was given next to no time, because the job's was used up, has not been slow.
  if (failure.has_value() && reply_.outcome() == sassay::worker::RUN_OUTCOME_TIMEOUT &&
      given_ < std::min(context_.device_deadline, kFairDeadline)) {
    failure->code = sassay::v1::VERDICT_CODE_QUEUE_DEADLINE;
    failure->reason = "the run's deadline passed before the candidate could be judged; ask for a longer one";
  }
  return failure;
}

absl::Duration CandidateSession::DeviceDeadline(absl::Duration most) {
  return given_ = std::clamp(context_.deadline - SteadyNow(), absl::Milliseconds(1), most);
}

}  // namespace sassay::evaluate
