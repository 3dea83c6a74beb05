#include "agent/build/local_verdict.h"

#include <string>

#include "absl/strings/escaping.h"

namespace sassay::agent {
namespace {

void AddStage(v1::Stage stage, v1::StageReport::Outcome outcome, absl::Duration wall, const std::string& reason,
              v1::Verdict& verdict) {
  v1::StageReport& report = *verdict.add_stages();
  report.set_stage(stage);
  report.set_outcome(outcome);
  report.set_wall_ns(absl::ToInt64Nanoseconds(wall));
  report.set_reason(reason);
}

void AddStages(const LocalTimes& times, v1::Verdict& verdict) {
  const bool compiled = verdict.status() != v1::VERDICT_STATUS_COMPILE_ERROR;
  AddStage(v1::STAGE_COMPILE, compiled ? v1::StageReport::PASSED : v1::StageReport::FAILED, times.compile,
           compiled ? "" : verdict.reason(), verdict);
  AddStage(v1::STAGE_CAPTURE, compiled ? v1::StageReport::FAILED : v1::StageReport::SKIPPED, times.capture,
           compiled ? verdict.reason() : "compile decided", verdict);
}

}  // namespace

void CompleteLocalVerdict(const v1::Workload& workload, const LocalTimes& times, absl::Time now, v1::Verdict& verdict) {
  const bool compile_error = verdict.status() == v1::VERDICT_STATUS_COMPILE_ERROR;
  if (verdict.stage() == v1::STAGE_UNSPECIFIED)
    verdict.set_stage(compile_error ? v1::STAGE_COMPILE : v1::STAGE_CAPTURE);
  if (verdict.workload().empty()) verdict.set_workload(workload.name());
  if (verdict.definition_sha256().empty())
    verdict.set_definition_sha256(absl::BytesToHexString(workload.definition_sha256()));
  if (verdict.stages().empty()) AddStages(times, verdict);
  if (verdict.versions().sassay().empty()) verdict.mutable_versions()->set_sassay(SASSAY_VERSION);
  if (verdict.attempt() == 0) verdict.set_attempt(1);
  if (!verdict.has_decided_at()) {
    verdict.mutable_decided_at()->set_seconds(absl::ToUnixSeconds(now));
    verdict.mutable_decided_at()->set_nanos(static_cast<int32_t>(absl::ToUnixNanos(now) % 1'000'000'000));
  }
}

}  // namespace sassay::agent
