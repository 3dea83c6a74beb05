#include "profiler_service/sanitize/tool.h"

#include "absl/strings/str_cat.h"

namespace sassay::sanitize {
namespace {

// Findings are read from the XML; the limit keeps a kernel with a million of them from taking minutes.
constexpr int kPrintLimit = 200;
// Seconds that the runner may take to make its context.
constexpr int kLaunchTimeout = 60;

std::vector<std::string> OwnOptions(Tool tool) {
  if (tool == Tool::kRacecheck) return {"--racecheck-report", "analysis"};
  // Memory that only our poison has written counts as never written. Copies are our own: they read outputs, of which
  // the tool does not see what TMA has stored.
  if (tool == Tool::kInitcheck) {
    return {"--kernel-name-exclude", "kernel_name=sassay_poison", "--check-api-memory-access", "no"};
  }
  return {};
}

}  // namespace

absl::string_view ToolName(Tool tool) {
  switch (tool) {
    case Tool::kMemcheck:
      return "memcheck";
    case Tool::kSynccheck:
      return "synccheck";
    case Tool::kInitcheck:
      return "initcheck";
    case Tool::kRacecheck:
      return "racecheck";
  }
  return "";
}

std::vector<Tool> ToolsOf(sassay::v1::SanitizePolicy policy) {
  if (policy == sassay::v1::SANITIZE_POLICY_FAST) return {Tool::kMemcheck};
  if (policy != sassay::v1::SANITIZE_POLICY_FULL) return {};
  return {Tool::kMemcheck, Tool::kSynccheck, Tool::kInitcheck, Tool::kRacecheck};
}

bool PrefersSmallShape(Tool tool) { return tool == Tool::kRacecheck; }

std::vector<std::string> ToolCommand(Tool tool, absl::string_view compute_sanitizer, absl::string_view report) {
  std::vector<std::string> command = {std::string(compute_sanitizer), "--tool", std::string(ToolName(tool)), "--xml",
                                      "--save", std::string(report), "--print-limit", absl::StrCat(kPrintLimit),
                                      "--launch-timeout", absl::StrCat(kLaunchTimeout), "--demangle", "no",
                                      "--report-api-errors", "no",
                                      // The runner has no children; looking for some costs 8 ms of 95 (H200).
                                      "--target-processes", "application-only",
                                      // Frames of the runner are nobody's business, and take the tool a while.
                                      "--show-backtrace", "device"};
  for (std::string& option : OwnOptions(tool)) command.push_back(std::move(option));
  command.insert(command.end(), {"--error-exitcode", absl::StrCat(kErrorExitStatus)});
  return command;
}

}  // namespace sassay::sanitize
