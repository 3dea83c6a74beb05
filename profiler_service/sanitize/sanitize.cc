#include "profiler_service/sanitize/sanitize.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "common/base/files.h"
#include "common/base/status_macros.h"
#include "common/toolchain/toolchain.h"
#include "profiler_service/sanitize/report.h"
#include "profiler_service/wire/tool_run.h"

namespace sassay::sanitize {
namespace {

using sassay::v1::SanitizerReport;
using sassay::worker::RunnerReply;

constexpr uint64_t kMaxReportBytes = 32 << 20;
// The tool writes its report after the runner has ended.
constexpr absl::Duration kToolEnd = absl::Seconds(20);

Sanitization Unavailable(absl::string_view tool, absl::string_view reason, RunnerReply reply = {}) {
  Sanitization sanitization;
  sanitization.report.set_tool(std::string(tool));
  sanitization.report.set_outcome(SanitizerReport::UNAVAILABLE);
  sanitization.report.set_reason(std::string(reason));
  sanitization.last_reply = std::move(reply);
  return sanitization;
}

// Our own trouble with the runner, in which a lost one differs from one that cannot be had.
Sanitization Trouble(absl::string_view tool, const absl::Status& status, absl::string_view where = "") {
  Sanitization sanitization = Unavailable(tool, absl::StrCat(where, status.message()));
  sanitization.lost = absl::IsUnavailable(status) || absl::IsDataLoss(status);
  return sanitization;
}

bool Ended(const RunnerReply& reply) { return reply.outcome() == worker::RUN_OUTCOME_OK; }

std::string HowTheRunEnded(const RunnerReply& reply, absl::string_view tool) {
  return absl::StrCat("under ", tool, ": ", reply.message());
}

// What findings and the run's end make of a report.
void Conclude(const RunnerReply& reply, absl::string_view tool, SanitizerReport& report) {
  if (!report.convicting().empty()) {
    report.set_outcome(SanitizerReport::FINDINGS);
    report.set_reason(report.convicting(0).message());
  } else if (!Ended(reply)) {
    report.set_outcome(SanitizerReport::UNAVAILABLE);
    report.set_reason(HowTheRunEnded(reply, tool));
  } else if (!report.advisory().empty()) {
    report.set_outcome(SanitizerReport::FINDINGS);
    report.set_reason(report.advisory(0).message());
  } else if (report.errors() > 0) {
    report.set_outcome(SanitizerReport::UNAVAILABLE);
    report.set_reason(absl::StrCat(tool, " counts ", report.errors(), " errors and tells none of them"));
  } else {
    report.set_outcome(SanitizerReport::CLEAN);
  }
}

// The emulator's own checks are exact: what it finds convicts.
Sanitization FromEmulator(RunnerReply reply) {
  Sanitization sanitization;
  sanitization.report.set_tool("emulator");
  *sanitization.report.mutable_convicting() = reply.findings();
  sanitization.report.set_errors(static_cast<uint64_t>(reply.findings_size()));
  Conclude(reply, "the emulator's checks", sanitization.report);
  sanitization.last_reply = std::move(reply);
  return sanitization;
}

absl::StatusOr<Sanitization> SanitizeEmulated(const SanitizeRequest& request, wire::RunnerPool& pool) {
  auto runner = pool.Acquire(request.device, worker::RUN_MODE_CHECKED, absl::InfiniteFuture(), request.kill_switch);
  if (absl::IsCancelled(runner.status())) return runner.status();
  if (!runner.ok()) return Trouble("emulator", runner.status());
  const wire::KillSwitch::Guard guard(request.kill_switch, **runner);
  absl::StatusOr<RunnerReply> reply = Converse(request, worker::RUN_MODE_CHECKED, **runner);
  if (absl::IsCancelled(reply.status())) return reply.status();
  if (!reply.ok()) return Trouble("emulator", reply.status());
  return FromEmulator(*std::move(reply));
}

// A tool that never saw a launch would call anything clean.
bool LaunchesSomething(const v1::Bundle& bundle) {
  for (const v1::LaunchPlan& plan : bundle.plans()) {
    for (const v1::Step& step : plan.steady()) {
      if (step.has_launch()) return true;
    }
  }
  return false;
}

absl::Status CheckExit(const wire::ToolRun& run) {
  if (!run.exit.has_value()) return absl::UnavailableError("compute-sanitizer did not end after the run");
  const bool known = run.exit->kind == ExitReport::Kind::kExited &&
                     (run.exit->exit_code == 0 || run.exit->exit_code == kErrorExitStatus);
  if (known) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat("compute-sanitizer: ", DescribeExit(*run.exit)));
}

std::vector<worker::Placement> Placements(const RunnerReply& reply) {
  return {reply.placements().begin(), reply.placements().end()};
}

// What memcheck had found before it was late, failed, or was stopped: true enough to convict, however it ended.
void TakePrinted(const SanitizeRequest& request, const RunnerReply& reply, const wire::ToolOutput& output,
                 Sanitization& sanitization) {
  if (request.tool != Tool::kMemcheck) return;
  const Report printed = ParsePrinted(output.Console(), Placements(reply), *request.bundle);
  if (printed.convicting.empty()) return;
  sanitization.lost = false;
  SanitizerReport& report = sanitization.report;
  report.mutable_convicting()->Assign(printed.convicting.begin(), printed.convicting.end());
  uint64_t errors = 0;
  for (const v1::Finding& finding : printed.convicting) errors += finding.count();
  report.set_errors(errors);
  const std::string how = report.reason();
  report.set_outcome(SanitizerReport::FINDINGS);
  report.set_reason(absl::StrCat(printed.convicting.front().message(), " (memcheck had not ended: ", how, ")"));
}

// What the tool's files say, once it has ended.
absl::Status ReadOutput(const SanitizeRequest& request, const wire::ToolRun& run, const wire::ToolOutput& output,
                        SanitizerReport& result) {
  RETURN_IF_ERROR(CheckExit(run));
  ASSIGN_OR_RETURN(const uint64_t errors, ParseSummary(output.Console()));
  ASSIGN_OR_RETURN(const std::string xml, ReadUntrustedFile(output.folder() / "report.xml", kMaxReportBytes));
  ASSIGN_OR_RETURN(const Report report, ParseReport(xml, request.tool, Placements(run.reply), *request.bundle));
  result.mutable_convicting()->Assign(report.convicting.begin(), report.convicting.end());
  result.mutable_advisory()->Assign(report.advisory.begin(), report.advisory.end());
  result.set_errors(errors);
  const bool told = errors > 0 || !report.convicting.empty() || !report.advisory.empty();
  if (told || run.exit->exit_code == 0) return absl::OkStatus();
  return absl::DataLossError("compute-sanitizer ended with its status for errors, counts none and tells none");
}

// Asking costs a process of the tool each time; an answer is kept for as long as the service lives.
absl::StatusOr<std::string> KnownVersion(const std::string& tool) {
  static auto* const mutex = new absl::Mutex;
  static auto* const known = new std::map<std::string, std::string>;
  {
    absl::MutexLock lock(mutex);
    if (const auto entry = known->find(tool); entry != known->end()) return entry->second;
  }
  ASSIGN_OR_RETURN(std::string version, ToolVersion(tool));
  absl::MutexLock lock(mutex);
  return known->emplace(tool, std::move(version)).first->second;
}

absl::StatusOr<Sanitization> SanitizeOnGpu(const SanitizeRequest& request, wire::RunnerPool& pool,
                                           absl::string_view compute_sanitizer) {
  const absl::string_view tool = ToolName(request.tool);
  if (!LaunchesSomething(*request.bundle))
    return Unavailable(tool, "a call launches no kernel: there is nothing to check");
  const auto version = KnownVersion(std::string(compute_sanitizer));
  if (!version.ok()) return Unavailable(tool, version.status().message());
  ASSIGN_OR_RETURN(const wire::ToolOutput output, wire::ToolOutput::Create("sassay_sanitize"));
  const wire::RunnerPoolOptions options = output.Options(
      pool.options(), ToolCommand(request.tool, compute_sanitizer, (output.folder() / "report.xml").string()));
  absl::StatusOr<wire::ToolRun> run = RunUnderTool(request, worker::RUN_MODE_CHECKED, options, kToolEnd);
  if (absl::IsCancelled(run.status())) return run.status();
  Sanitization sanitization;
  if (!run.ok()) {
    sanitization = Trouble(tool, run.status(), "under compute-sanitizer: ");
    TakePrinted(request, {}, output, sanitization);
    return sanitization;
  }
  const bool late = run->reply.outcome() == worker::RUN_OUTCOME_TIMEOUT;
  const absl::Status read = late ? absl::DeadlineExceededError(HowTheRunEnded(run->reply, tool))
                                 : ReadOutput(request, *run, output, sanitization.report);
  if (!read.ok()) {
    sanitization = Unavailable(tool, read.message(), run->reply);
    TakePrinted(request, run->reply, output, sanitization);
    sanitization.report.set_version(*version);
    return sanitization;
  }
  sanitization.report.set_tool(std::string(tool));
  sanitization.report.set_version(*version);
  Conclude(run->reply, tool, sanitization.report);
  sanitization.last_reply = std::move(run->reply);
  return sanitization;
}

}  // namespace

absl::Duration LongestRun(Tool tool, absl::Duration plain) {
  return wire::LongestUnderTool(tool == Tool::kRacecheck ? absl::Minutes(2) : absl::Minutes(1), plain);
}

absl::StatusOr<Sanitization> Sanitize(const SanitizeRequest& request, wire::RunnerPool& pool,
                                      absl::string_view compute_sanitizer) {
  if (!absl::StartsWith(request.device, "cuda:")) return SanitizeEmulated(request, pool);
  if (compute_sanitizer.empty()) {
    return Unavailable(ToolName(request.tool),
                       "compute-sanitizer was not found; install it with `apt-get install cuda-sanitizer-13-0`");
  }
  return SanitizeOnGpu(request, pool, compute_sanitizer);
}

}  // namespace sassay::sanitize
