// The tools of compute-sanitizer, what each costs and how it is started.
#ifndef SASSAY_PROFILER_SERVICE_SANITIZE_TOOL_H_
#define SASSAY_PROFILER_SERVICE_SANITIZE_TOOL_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "sassay/v1/diagnosis.pb.h"

namespace sassay::sanitize {

// One at a time: they cannot share a process.
enum class Tool {
  // Accesses outside allocations, misaligned ones, use after free. In global memory it does not err: it convicts.
  kMemcheck,
  // Barriers that not every thread reaches, and mbarriers that are misused.
  kSynccheck,
  // Reads of global memory that nobody wrote. It does not see what TMA stores write, so it errs.
  kInitcheck,
  // Accesses to shared memory without a barrier between them. Three orders of magnitude slower than a plain run; it
  // errs on memory that wgmma and TMA order by mbarriers.
  kRacecheck,
};

// "memcheck".
absl::string_view ToolName(Tool tool);

// In the order in which they run; none for NONE. UNSPECIFIED must have been resolved.
std::vector<Tool> ToolsOf(sassay::v1::SanitizePolicy policy);

// Whether the tool is too slow for a workload's own shape, so that a smaller one is better where the candidate has it.
bool PrefersSmallShape(Tool tool);

// What the tool returns when it has seen errors, and otherwise 0.
inline constexpr int kErrorExitStatus = 33;

// The command line in front of the runner's own. `report` is the XML file that it will write.
std::vector<std::string> ToolCommand(Tool tool, absl::string_view compute_sanitizer, absl::string_view report);

}  // namespace sassay::sanitize

#endif  // SASSAY_PROFILER_SERVICE_SANITIZE_TOOL_H_
