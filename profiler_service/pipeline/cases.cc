#include "profiler_service/pipeline/cases.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "profiler_service/verdict/verdict.h"
#include "profiler_service/wire/runner_client.h"

namespace sassay::pipeline {
namespace {

constexpr double kManyEmulatedCases = 1e7;  // floating-point operations of one call
constexpr size_t kFewCases = 3;

void AddOnce(std::vector<std::string>& names, const std::string& name) {
  if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
}

absl::Status StatusOf(const evaluate::MaybeFailure& failure) {
  if (!failure.has_value()) return absl::OkStatus();
  if (failure->code == sassay::v1::VERDICT_CODE_CANCELLED_BY_CLIENT) return absl::CancelledError(failure->reason);
  if (evaluate::IsLostWorker(*failure)) return absl::UnavailableError(failure->reason);
  return absl::InternalError(failure->reason);
}

}  // namespace

evaluate::EvaluatePlan CasesFor(const Definition& definition, const sassay::v1::Workload& workload, bool emulated) {
  evaluate::EvaluatePlan plan;
  if (definition.reference_kind == ReferenceKind::kGolden) {
    plan.distributions = {"golden"};
    return plan;
  }
  plan.distributions = definition.distributions;
  // "structured" second: its rows differ in their means, which finds what independent values hide.
  if (std::find(plan.distributions.begin(), plan.distributions.end(), "structured") == plan.distributions.end()) {
    plan.distributions.insert(plan.distributions.begin() + 1, "structured");
  }
  AddOnce(plan.distributions, "small");
  if (emulated && workload.flop() > kManyEmulatedCases) {
    plan.distributions.resize(std::min(kFewCases, plan.distributions.size()));
    plan.repeat_first = false;
  }
  return plan;
}

bool SanitizeCanExplain(const verdict::Failure& failure) {
  if (verdict::IsInfrastructure(failure.code)) return false;
  switch (failure.code) {
    case sassay::v1::VERDICT_CODE_LAUNCH_REFUSED:
    case sassay::v1::VERDICT_CODE_KERNEL_TIMEOUT:
    case sassay::v1::VERDICT_CODE_TRAP:
    case sassay::v1::VERDICT_CODE_ASSERT:
    case sassay::v1::VERDICT_CODE_CANCELLED_BY_CLIENT:
    case sassay::v1::VERDICT_CODE_TOO_LARGE_FOR_DEVICE:
    case sassay::v1::VERDICT_CODE_NO_REFERENCE:
      return false;
    default:
      return true;
  }
}

bool IsMisuse(const verdict::Failure& failure) {
  const sassay::v1::VerdictStatus status = verdict::StatusOf(failure.code);
  return status == sassay::v1::VERDICT_STATUS_SANITIZER_ERROR || status == sassay::v1::VERDICT_STATUS_RUNTIME_ERROR;
}

bool MayBeTheDevices(const verdict::Failure& failure) {
  return verdict::StatusOf(failure.code) == sassay::v1::VERDICT_STATUS_TIMEOUT ||
         failure.code == sassay::v1::VERDICT_CODE_DEVICE_LOST || failure.code == sassay::v1::VERDICT_CODE_RUNNER_LOST ||
         failure.code == sassay::v1::VERDICT_CODE_JUDGE_LOST;
}

absl::Status CandidateBuffers::Prepare() {
  ASSIGN_OR_RETURN(bundle_, wire::WithOnlyPlan(admitted_.bundle(), admitted_.workload().name()));
  trouble_ = case_.Prepare(seeds_.Get("decoy", 0));
  RETURN_IF_ERROR(StatusOf(trouble_));
  descriptors_ = case_.descriptors();
  return absl::OkStatus();
}

absl::Status CandidateBuffers::Refill() { return RefillAs(0, "normal"); }

absl::Status CandidateBuffers::RefillAs(uint64_t index, absl::string_view distribution) {
  trouble_ = case_.Fill(seeds_.Get("inputs", index), distribution);
  return StatusOf(trouble_);
}

evaluate::MaybeFailure CandidateBuffers::CheckTimedCall() {
  sassay::worker::JudgeReply reply;
  if (evaluate::MaybeFailure failure = case_.Compare(reply)) return failure;
  verdict::Failure failure;
  failure.findings.assign(reply.findings().begin(), reply.findings().end());
  if (!failure.findings.empty()) {
    failure.code = failure.findings.front().code();
    failure.reason = failure.findings.front().message();
    return failure;
  }
  if (reply.numerics().passed()) return absl::nullopt;
  failure.code = sassay::v1::VERDICT_CODE_TIMED_OUTPUT_WRONG;
  failure.reason = absl::StrCat("right when it was evaluated, wrong among the timed calls: ",
                                verdict::DescribeNumerics(reply.numerics()));
  return failure;
}

}  // namespace sassay::pipeline
