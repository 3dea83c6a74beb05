#include "profiler_service/pipeline/chapters/sanitize_chapter.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/steady_time.h"
#include "profiler_service/evaluate/evaluate.h"

namespace sassay::pipeline {
namespace {

using sanitize::Sanitization;
using sanitize::Tool;
using sassay::v1::SanitizerReport;
using verdict::Failure;

class SanitizeChapter {
 public:
  SanitizeChapter(const Chapter& chapter, const SanitizeWish& wish, sassay::v1::StageReport& report)
      : chapter_(chapter), wish_(wish), stage_(report) {}

  verdict::SanitizeSeen Run() {
    const std::vector<Tool> tools = sanitize::ToolsOf(wish_.policy);
    for (const Tool tool : tools) {
      // The emulator checks everything at once.
      if (!chapter_.goes() || (chapter_.lane.emulated() && tool != tools.front())) break;
      Ask(tool);
    }
    return std::move(seen_);
  }

 private:
  // The tool that decides whether the candidate counts as sanitized.
  bool Decides(Tool tool) const { return chapter_.lane.emulated() || tool == Tool::kMemcheck; }
  std::string Name(Tool tool) const {
    return chapter_.lane.emulated() ? "emulator" : std::string(sanitize::ToolName(tool));
  }

  void Ask(Tool tool) {
    const absl::Time start = SteadyNow();
    SanitizerReport report;
    if (stopped_by_.empty()) {
      report = AskTwice(tool);
    } else {
      report = Unavailable(tool, absl::StrCat("not run: ", stopped_by_));
    }
    report.set_wall_ns(static_cast<uint64_t>(absl::ToInt64Nanoseconds(SteadyNow() - start)));
    Take(tool, std::move(report));
  }

  SanitizerReport AskTwice(Tool tool) {
    evaluate::MaybeFailure lost;
    SanitizerReport report = TryTool(tool, lost);
    if (lost.has_value() && chapter_.goes()) {
      chapter_.notes.push_back(absl::StrCat("sanitize began again: ", lost->reason));
      lost.reset();
      report = TryTool(tool, lost);
    }
    if (Decides(tool) && lost.has_value() && !ToolMayTakeItsRunnerAlong(*lost)) seen_.lost = std::move(lost);
    return report;
  }

  // An emulator's runner ends by itself only if somebody kills it; compute-sanitizer may crash each time.
  bool ToolMayTakeItsRunnerAlong(const Failure& lost) const {
    return !chapter_.lane.emulated() && lost.code == sassay::v1::VERDICT_CODE_RUNNER_LOST;
  }

  SanitizerReport Unavailable(Tool tool, absl::string_view reason) const {
    SanitizerReport report;
    report.set_tool(Name(tool));
    report.set_outcome(SanitizerReport::UNAVAILABLE);
    report.set_reason(std::string(reason));
    return report;
  }

  const admission::AdmittedBundle& BundleFor(Tool tool) const {
    return sanitize::PrefersSmallShape(tool) && wish_.small.has_value() ? *wish_.small : chapter_.bundle;
  }

  // `lost`: which worker was lost, if one was.
  SanitizerReport TryTool(Tool tool, evaluate::MaybeFailure& lost) {
    const auto lease = chapter_.lease(DeviceLease::Mode::kShared);
    if (!lease.ok()) return Unavailable(tool, lease.status().message());
    const auto workers = chapter_.lane.MakeWorkers(chapter_.kill_switch);
    const admission::AdmittedBundle& bundle = BundleFor(tool);
    CandidateBuffers buffers(bundle, workers->judge(), chapter_.deadline, chapter_.seeds, chapter_.distribution);
    if (absl::Status status = buffers.Prepare(); !status.ok()) {
      if (absl::IsUnavailable(status)) lost = buffers.trouble();
      return Unavailable(tool, status.message());
    }
    sanitize::SanitizeRequest request;
    Lend(chapter_, buffers, request);
    request.tool = tool;
    request.poison_seed = chapter_.seeds.Get("poison sanitize", static_cast<uint64_t>(tool));
    request.deadline = Deadline(tool);
    absl::StatusOr<Sanitization> result = chapter_.lane.Sanitize(request);
    if (!result.ok()) return Unavailable(tool, result.status().message());
    NoteRun(*result);
    CheckOutputs(bundle, buffers, *result, lost);
    if (result->lost) {
      lost = buffers.trouble().has_value()
                 ? buffers.trouble()
                 : Failure{sassay::v1::VERDICT_CODE_RUNNER_LOST, result->report.reason(), {}, {}};
    }
    result->report.set_workload(bundle.workload().name());
    return std::move(result->report);
  }

  // A reference that is itself a bundle has run for the job's own workload alone.
  bool HasReference(const admission::AdmittedBundle& bundle) const {
    return &bundle == &chapter_.bundle || !absl::StartsWith(bundle.workload().reference(), "bundle:");
  }

  void CheckOutputs(const admission::AdmittedBundle& bundle, CandidateBuffers& buffers, Sanitization& result,
                    evaluate::MaybeFailure& lost) const {
    const bool content = result.report.outcome() == SanitizerReport::CLEAN ||
                         (result.report.outcome() == SanitizerReport::FINDINGS && result.report.convicting().empty());
    const bool ended = result.last_reply.outcome() == sassay::worker::RUN_OUTCOME_OK;
    if (!wish_.right_outputs || !content || !ended || !HasReference(bundle)) return;
    const absl::Status right = buffers.CheckOutputs();
    if (right.ok()) return;
    if (absl::IsUnavailable(right)) lost = buffers.trouble();
    result.report.set_outcome(SanitizerReport::UNAVAILABLE);
    result.report.set_reason(std::string(right.message()));
  }

  absl::Duration Deadline(Tool tool) const {
    const absl::Duration wanted =
        chapter_.lane.emulated() ? wish_.emulated_deadline : sanitize::LongestRun(tool, wish_.plain);
    return std::clamp(chapter_.deadline - SteadyNow(), absl::Milliseconds(1), wanted);
  }

  void NoteRun(const Sanitization& result) {
    failed_ = result.last_reply.outcome() == sassay::worker::RUN_OUTCOME_FAULT ||
              result.last_reply.outcome() == sassay::worker::RUN_OUTCOME_TIMEOUT;
    stage_.set_device_ns(stage_.device_ns() + result.last_reply.device_ns());
    if (seen_.device_output.empty()) seen_.device_output = result.last_reply.device_output();
  }

  void Take(Tool tool, SanitizerReport report) {
    seen_.convicting.insert(seen_.convicting.end(), report.convicting().begin(), report.convicting().end());
    seen_.advisory.insert(seen_.advisory.end(), report.advisory().begin(), report.advisory().end());
    if (Decides(tool)) Decide(report);
    seen_.reports.push_back(std::move(report));
  }

  void Decide(const SanitizerReport& report) {
    if (report.outcome() == SanitizerReport::UNAVAILABLE) {
      seen_.unavailable = report.reason();
    } else if (report.outcome() == SanitizerReport::FINDINGS && report.convicting().empty()) {
      seen_.unavailable = absl::StrCat(report.tool(), " counts ", report.errors(),
                                       " errors; none of those that it tells is in global memory: ", report.reason());
    }
    if (!report.convicting().empty()) {
      stopped_by_ = absl::StrCat("the finding of ", report.tool(), " comes first");
    } else if (failed_) {
      stopped_by_ = report.reason();
    }
  }

  const Chapter& chapter_;
  const SanitizeWish& wish_;
  sassay::v1::StageReport& stage_;
  verdict::SanitizeSeen seen_;
  // The latest run did not end well.
  bool failed_ = false;
  // Why no further tool is asked; empty while there is no reason.
  std::string stopped_by_;
};

}  // namespace

verdict::SanitizeSeen RunSanitize(const Chapter& chapter, const SanitizeWish& wish, sassay::v1::StageReport& report) {
  return SanitizeChapter(chapter, wish, report).Run();
}

}  // namespace sassay::pipeline
