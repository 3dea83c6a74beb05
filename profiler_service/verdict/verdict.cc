#include "profiler_service/verdict/verdict.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/demangle/demangle.h"

namespace sassay::verdict {
namespace {

using sassay::v1::Stage;
using sassay::v1::Verdict;
using sassay::v1::VerdictCode;
using sassay::v1::VerdictStatus;

// Codes are numbered by the kind of trouble; each group has one status. See VerdictCode. Numbers below the first group
// are nobody's trouble and INFRA_ERROR, but for OK.
struct Group {
  int first;
  VerdictStatus status;
};
constexpr Group kGroups[] = {
    {sassay::v1::VERDICT_CODE_NVCC_ERROR, sassay::v1::VERDICT_STATUS_COMPILE_ERROR},
    {sassay::v1::VERDICT_CODE_ENTRY_MISSING, sassay::v1::VERDICT_STATUS_CAPTURE_ERROR},
    {sassay::v1::VERDICT_CODE_BUNDLE_MALFORMED, sassay::v1::VERDICT_STATUS_REJECTED},
    {sassay::v1::VERDICT_CODE_OOB_GLOBAL_READ, sassay::v1::VERDICT_STATUS_SANITIZER_ERROR},
    {sassay::v1::VERDICT_CODE_ILLEGAL_ADDRESS, sassay::v1::VERDICT_STATUS_RUNTIME_ERROR},
    {sassay::v1::VERDICT_CODE_MISMATCH, sassay::v1::VERDICT_STATUS_INCORRECT_NUMERICAL},
    {sassay::v1::VERDICT_CODE_FASTER_THAN_PHYSICS, sassay::v1::VERDICT_STATUS_CHEATING},
    {sassay::v1::VERDICT_CODE_EMULATOR_LACKS, sassay::v1::VERDICT_STATUS_INFRA_ERROR},
    {sassay::v1::VERDICT_CODE_CANCELLED_BY_CLIENT, sassay::v1::VERDICT_STATUS_CANCELLED},
};

bool IsTimeout(VerdictCode code) {
  return code == sassay::v1::VERDICT_CODE_KERNEL_TIMEOUT || code == sassay::v1::VERDICT_CODE_BARRIER_DEADLOCK ||
         code == sassay::v1::VERDICT_CODE_MBARRIER_DEADLOCK;
}

// The kernel itself said what is wrong.
bool SpeaksForItself(VerdictCode code) {
  return code == sassay::v1::VERDICT_CODE_TRAP || code == sassay::v1::VERDICT_CODE_ASSERT;
}

// initcheck's findings are not among them: it does not see what TMA writes.
bool LeadsToDifferences(VerdictCode code) {
  return code == sassay::v1::VERDICT_CODE_SHARED_RACE || code == sassay::v1::VERDICT_CODE_ASYNC_RACE ||
         code == sassay::v1::VERDICT_CODE_BARRIER_DIVERGENCE;
}

std::string Place(const sassay::v1::ThreadLocation& where) {
  const auto dim = [](const sassay::v1::Dim3& d) { return absl::StrCat("(", d.x(), ",", d.y(), ",", d.z(), ")"); };
  return absl::StrCat(ShortKernelName(where.kernel()), " block ", dim(where.block()), " thread ", dim(where.thread()),
                      where.source_line().empty() ? "" : absl::StrCat(" at ", where.source_line()));
}

std::string Line(const sassay::v1::Finding& finding) {
  if (!finding.has_where() || finding.where().kernel().empty()) return finding.message();
  // A message that names its kernel has said where already.
  const bool placed =
      absl::StrContains(finding.message(), absl::StrCat(" in ", ShortKernelName(finding.where().kernel())));
  return placed ? finding.message() : absl::StrCat(finding.message(), " (", Place(finding.where()), ")");
}

class Decider {
 public:
  explicit Decider(const Observations& seen) : seen_(seen) {}

  Verdict Decide() {
    FindCause();
    verdict_.set_status(Status());
    Describe();
    Attach();
    Score();
    return verdict_;
  }

 private:
  void FindCause() {
    if (seen_.cancelled) return Cause(LastStage(), sassay::v1::VERDICT_CODE_CANCELLED_BY_CLIENT, "cancelled");
    if (seen_.refused.has_value()) return Cause(sassay::v1::STAGE_ADMISSION, *seen_.refused);
    if (seen_.lost.has_value()) return Cause(LastStage(), *seen_.lost);
    const Failure* evaluate = EvaluateFailure();
    if (evaluate != nullptr && IsInfrastructure(evaluate->code)) return Cause(sassay::v1::STAGE_EVALUATE, *evaluate);
    if (const sassay::v1::Finding* finding = Conviction(evaluate); finding != nullptr) {
      return Cause(sassay::v1::STAGE_SANITIZE, CauseOf(finding->code()), Line(*finding));
    }
    if (const sassay::v1::Finding* finding = Confirmed(evaluate); finding != nullptr) {
      return Cause(sassay::v1::STAGE_SANITIZE, finding->code(), Line(*finding));
    }
    if (evaluate != nullptr) return Cause(sassay::v1::STAGE_EVALUATE, Named(*evaluate));
    if (seen_.sanitize.has_value() && seen_.sanitize->lost.has_value()) {
      return Cause(sassay::v1::STAGE_SANITIZE, *seen_.sanitize->lost);
    }
    if (seen_.timing.has_value() && seen_.timing->failure.has_value()) {
      return Cause(sassay::v1::STAGE_TIMING, *seen_.timing->failure);
    }
    if (!seen_.evaluate.has_value()) {
      return Cause(LastStage(), sassay::v1::VERDICT_CODE_INTERNAL, "nothing was evaluated, so nothing is known");
    }
    if (!seen_.evaluate->numerics.has_value() || !seen_.evaluate->numerics->passed()) {
      return Cause(sassay::v1::STAGE_EVALUATE, sassay::v1::VERDICT_CODE_INTERNAL,
                   "no comparison found the outputs right, so nothing is known");
    }
    Cause(LastStage(), sassay::v1::VERDICT_CODE_OK, "every stage that ran is content");
  }

  // A refusal is a refusal, also where capture refuses the same thing by the same code.
  VerdictStatus Status() const {
    const bool refused = !seen_.cancelled && seen_.refused.has_value() && !IsInfrastructure(verdict_.code());
    return refused ? sassay::v1::VERDICT_STATUS_REJECTED : StatusOf(verdict_.code());
  }

  const Failure* EvaluateFailure() const {
    return seen_.evaluate.has_value() && seen_.evaluate->failure.has_value() ? &*seen_.evaluate->failure : nullptr;
  }

  const sassay::v1::Finding* Conviction(const Failure* evaluate) const {
    if (evaluate != nullptr && SpeaksForItself(evaluate->code)) return nullptr;
    if (!seen_.sanitize.has_value() || seen_.sanitize->convicting.empty()) return nullptr;
    return &seen_.sanitize->convicting.front();
  }

  // A finding that by itself only advises, where the plain run has shown what it leads to: outputs that differ between
  // equal calls.
  const sassay::v1::Finding* Confirmed(const Failure* evaluate) const {
    if (evaluate == nullptr || evaluate->code != sassay::v1::VERDICT_CODE_NONDETERMINISTIC) return nullptr;
    if (!seen_.sanitize.has_value()) return nullptr;
    for (const sassay::v1::Finding& finding : seen_.sanitize->advisory) {
      if (LeadsToDifferences(finding.code())) return &finding;
    }
    return nullptr;
  }

  // A driver calls several faults by one name. That there was a fault the plain run has shown; which one, and where, a
  // tool may add.
  Failure Named(const Failure& failure) const {
    if (failure.code != sassay::v1::VERDICT_CODE_LAUNCH_FAILED || !seen_.sanitize.has_value()) return failure;
    for (const sassay::v1::Finding& finding : seen_.sanitize->advisory) {
      if (finding.code() == failure.code || StatusOf(finding.code()) != StatusOf(failure.code)) continue;
      return {finding.code(), Line(finding), {finding}, failure.warps};
    }
    return failure;
  }

  void Cause(Stage stage, VerdictCode code, const std::string& reason) {
    verdict_.set_stage(stage);
    verdict_.set_code(code);
    verdict_.set_reason(reason);
  }

  // What went wrong never makes a candidate correct, whatever number it came with.
  static VerdictCode CauseOf(VerdictCode code) {
    return StatusOf(code) == sassay::v1::VERDICT_STATUS_CORRECT ? sassay::v1::VERDICT_CODE_INTERNAL : code;
  }

  void Cause(Stage stage, const Failure& failure) {
    Cause(stage, CauseOf(failure.code), failure.reason);
    AddFindings(failure.findings);
    AddWarps(failure.warps);
  }

  Stage LastStage() const {
    Stage last = sassay::v1::STAGE_ADMISSION;
    for (const sassay::v1::StageReport& report : seen_.stages) {
      if (report.stage() == sassay::v1::STAGE_DIAGNOSE) continue;  // it decides nothing
      if (report.outcome() == sassay::v1::StageReport::PASSED || report.outcome() == sassay::v1::StageReport::FAILED) {
        last = report.stage();
      }
    }
    return last;
  }

  void AddFindings(const std::vector<sassay::v1::Finding>& findings) {
    for (const sassay::v1::Finding& finding : findings) {
      if (verdict_.details().findings_size() == kMaxFindings) return;
      *verdict_.mutable_details()->add_findings() = finding;
    }
  }

  void AddWarps(const std::vector<sassay::v1::WarpState>& warps) {
    for (const sassay::v1::WarpState& warp : warps) {
      if (verdict_.details().warps_size() == kMaxWarps) return;
      *verdict_.mutable_details()->add_warps() = warp;
    }
  }

  void Note(const std::string& note) { verdict_.mutable_details()->add_notes(note); }

  void Describe() {
    for (const std::string& note : seen_.notes) Note(note);
    for (const std::string& warning : seen_.warnings) verdict_.mutable_details()->add_warnings(warning);
    DescribeEvaluate();
    DescribeSanitize();
    if (seen_.replayed) Note("not scorable: replayed with earlier seeds");
  }

  void DescribeEvaluate() {
    if (!seen_.evaluate.has_value()) return;
    const EvaluateSeen& evaluate = *seen_.evaluate;
    if (evaluate.numerics.has_value()) *verdict_.mutable_numerics() = *evaluate.numerics;
    verdict_.mutable_details()->set_device_output(evaluate.device_output);
    verdict_.set_replay_id(evaluate.replay_id);
    if (evaluate.wrong_by_itself) Note(kWrongTwiceAlike);
    if (verdict_.stage() == sassay::v1::STAGE_SANITIZE && evaluate.failure.has_value()) {
      Note(absl::StrCat("evaluate saw: ", evaluate.failure->reason));
      AddWarps(evaluate.failure->warps);
    }
  }

  void DescribeSanitize() {
    if (!seen_.sanitize.has_value()) return;
    const SanitizeSeen& sanitize = *seen_.sanitize;
    AddFindings(sanitize.convicting);
    AddFindings(sanitize.advisory);
    if (!sanitize.unavailable.empty()) Note(absl::StrCat("sanitize: UNAVAILABLE: ", sanitize.unavailable));
    for (const sassay::v1::SanitizerReport& report : sanitize.reports) {
      *verdict_.add_sanitizers() = report;
      if (report.outcome() != sassay::v1::SanitizerReport::UNAVAILABLE || report.reason() == sanitize.unavailable)
        continue;
      Note(absl::StrCat("sanitize: ", report.tool(), " is UNAVAILABLE: ", report.reason()));
    }
    for (const sassay::v1::Finding& finding : sanitize.advisory) {
      Note(absl::StrCat("sanitize advises: ", Line(finding)));
    }
  }

  void Attach() {
    if (seen_.evidence.has_value()) *verdict_.mutable_evidence() = *seen_.evidence;
    if (seen_.timing.has_value()) *verdict_.mutable_timing() = seen_.timing->timing;
    if (seen_.excluded.has_value()) *verdict_.mutable_excluded() = *seen_.excluded;
    for (const sassay::v1::StageReport& report : seen_.stages) *verdict_.add_stages() = report;
    AddWarps(seen_.diagnose.warps);
    for (const sassay::v1::DiagnosisReport& report : seen_.diagnose.reports) *verdict_.add_diagnoses() = report;
    verdict_.set_provenance(seen_.provenance);
    verdict_.set_capture_profile(seen_.capture_profile);
    verdict_.set_workload(seen_.workload);
    verdict_.set_definition_sha256(seen_.definition_sha256);
    verdict_.set_bundle_sha256(seen_.bundle_sha256);
    *verdict_.mutable_versions() = seen_.versions;
    verdict_.mutable_versions()->set_rules(std::string(kRulesVersion));
    verdict_.mutable_versions()->set_sassay(SASSAY_VERSION);
  }

  bool Sanitized() const { return seen_.sanitize.has_value() && seen_.sanitize->unavailable.empty(); }

  std::vector<std::string> WhyNotScorable() const {
    std::vector<std::string> why;
    if (!Sanitized()) why.push_back("not sanitized");
    if (seen_.provenance != sassay::v1::PROVENANCE_VERIFIED) why.push_back("provenance not verified");
    if (seen_.capture_profile != sassay::v1::CAPTURE_PROFILE_STRICT) why.push_back("not captured in strict");
    if (seen_.excluded.has_value()) why.push_back("excluded by the monitor");
    if (seen_.against_itself) why.push_back("timed against itself");
    return why;
  }

  void Score() {
    if (verdict_.status() != sassay::v1::VERDICT_STATUS_CORRECT) return;
    const std::vector<std::string> why = WhyNotScorable();
    verdict_.set_scorable(why.empty() && !seen_.replayed);
    if (!why.empty()) Note(absl::StrCat("not scorable: ", absl::StrJoin(why, "; ")));
  }

  const Observations& seen_;
  Verdict verdict_;
};

std::string Element(const sassay::v1::OutputComparison& output) {
  return absl::StrCat(output.output(), "[", absl::StrJoin(output.worst_index(), ","), "]");
}

std::string DescribeOutput(const sassay::v1::OutputComparison& output) {
  std::string line =
      absl::StrFormat("%s: %d of %d elements are wrong", output.output(), output.wrong(), output.elements());
  if (output.wrong() == 0) {
    line = absl::StrFormat("%s: relative rms error %.3g, allowed %.3g", output.output(), output.relative_rms_error(),
                           output.allowed_relative_rms_error());
  }
  // A few wrong elements equal the poison by chance.
  if (2 * output.unwritten() >= std::max<uint64_t>(1, output.wrong()))
    absl::StrAppend(&line, ", ", output.unwritten(), " of them never written");
  if (output.non_finite() > 0) absl::StrAppend(&line, ", ", output.non_finite(), " of them not finite");
  absl::StrAppend(&line, absl::StrFormat("; worst is %s: expected %g, got %g", Element(output), output.worst_expected(),
                                         output.worst_actual()));
  if (!output.pattern().empty()) absl::StrAppend(&line, "; ", output.pattern());
  return line;
}

bool Wrong(const sassay::v1::OutputComparison& output) {
  return output.wrong() > 0 || output.relative_rms_error() > output.allowed_relative_rms_error();
}

}  // namespace

VerdictStatus StatusOf(VerdictCode code) {
  if (code == sassay::v1::VERDICT_CODE_OK) return sassay::v1::VERDICT_STATUS_CORRECT;
  if (IsTimeout(code)) return sassay::v1::VERDICT_STATUS_TIMEOUT;
  VerdictStatus status = sassay::v1::VERDICT_STATUS_INFRA_ERROR;
  for (const Group& group : kGroups) {
    if (static_cast<int>(code) >= group.first) status = group.status;
  }
  return status;
}

bool IsInfrastructure(VerdictCode code) { return StatusOf(code) == sassay::v1::VERDICT_STATUS_INFRA_ERROR; }

Verdict Decide(const Observations& seen) { return Decider(seen).Decide(); }

std::string DescribeNumerics(const sassay::v1::Numerics& numerics) {
  std::vector<std::string> lines;
  for (const sassay::v1::OutputComparison& output : numerics.outputs()) {
    if (Wrong(output)) lines.push_back(DescribeOutput(output));
  }
  if (!numerics.worst_distribution().empty() && !lines.empty()) {
    lines.push_back(absl::StrCat("inputs: ", numerics.worst_distribution()));
  }
  return absl::StrJoin(lines, " | ");
}

}  // namespace sassay::verdict
