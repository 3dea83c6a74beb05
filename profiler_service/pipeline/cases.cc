#include "profiler_service/pipeline/cases.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "profiler_service/evaluate/session.h"
#include "profiler_service/verdict/verdict.h"
#include "profiler_service/wire/runner_client.h"

namespace sassay::pipeline {
namespace {

constexpr double kManyEmulatedCases = 1e7;  // floating-point operations of one call
constexpr size_t kFewCases = 3;

void AddOnce(std::vector<std::string>& names, const std::string& name) {
  if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
}

}  // namespace

evaluate::EvaluatePlan CasesFor(const Definition& definition, const sassay::v1::Workload& workload, bool emulated) {
  evaluate::EvaluatePlan plan;
  if (definition.reference_kind == ReferenceKind::kGolden) {
    plan.distributions = {FirstDistribution(definition)};
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

std::string FirstDistribution(const Definition& definition) {
  return definition.reference_kind == ReferenceKind::kGolden ? "golden" : definition.distributions.front();
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

absl::Status StatusOf(const verdict::Failure& failure) {
  if (failure.code == sassay::v1::VERDICT_CODE_CANCELLED_BY_CLIENT) return absl::CancelledError(failure.reason);
  if (evaluate::IsLostWorker(failure)) return absl::UnavailableError(failure.reason);
  return absl::InternalError(failure.reason);
}

absl::Status CandidateBuffers::Prepare() {
  ASSIGN_OR_RETURN(bundle_, wire::WithOnlyPlan(admitted_.bundle(), admitted_.workload().name()));
  trouble_ = case_.Prepare(seeds_.Get("decoy", 0));
  if (trouble_.has_value()) return StatusOf(*trouble_);
  descriptors_ = case_.descriptors();
  return absl::OkStatus();
}

absl::Status CandidateBuffers::Refill() {
  trouble_ = case_.Fill(seeds_.Get("inputs", 0), distribution_);
  return trouble_.has_value() ? StatusOf(*trouble_) : absl::OkStatus();
}

absl::Status CandidateBuffers::CheckOutputs() {
  sassay::worker::JudgeReply reply;
  trouble_ = case_.Compare(reply);
  if (trouble_.has_value()) {
    return absl::Status(StatusOf(*trouble_).code(),
                        absl::StrCat("the checked call's outputs were not compared: ", trouble_->reason));
  }
  const std::string wrong = evaluate::WrongIn(reply);
  if (wrong.empty()) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat("the checked call was not the one that was judged: ", wrong));
}

}  // namespace sassay::pipeline
