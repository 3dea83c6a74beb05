// What compute-sanitizer wrote, as findings in our own words.
#ifndef SASSAY_PROFILER_SERVICE_SANITIZE_REPORT_H_
#define SASSAY_PROFILER_SERVICE_SANITIZE_REPORT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "profiler_service/sanitize/tool.h"
#include "profiler_service/wire/worker.pb.h"
#include "sassay/v1/bundle.pb.h"
#include "sassay/v1/verdict.pb.h"

namespace sassay::sanitize {

// Findings of one run, first seen first; equal ones (kind, kernel, line, buffer) are one with a count.
struct Report {
  // Global memory: these convict.
  std::vector<sassay::v1::Finding> convicting;
  // Shared and local memory, traps, and whatever other tools than memcheck say: that alone does not convict.
  std::vector<sassay::v1::Finding> advisory;
};

// Most findings kept of each sort.
inline constexpr size_t kMaxFindings = 64;

// Reads the file that `compute-sanitizer --tool TOOL --xml --save` wrote (release 2025.3; samples in testdata/).
// Records about API calls are our own runner's and are left out. `placements` name the buffers, `bundle` the kernels
// and source lines. DATA_LOSS if it is not such a file.
absl::StatusOr<Report> ParseReport(absl::string_view xml, Tool tool,
                                   absl::Span<const sassay::worker::Placement> placements,
                                   const sassay::v1::Bundle& bundle);

// What memcheck had printed of global memory when it was stopped: it saves its report last, and a kernel that misuses
// memory a million times keeps it from that. `console` holds names that the candidate made up, which can add findings
// and take none away.
Report ParsePrinted(absl::string_view console, absl::Span<const sassay::worker::Placement> placements,
                    const sassay::v1::Bundle& bundle);

// The tool's last word: errors it counted, printed or not ("ERROR SUMMARY: 33 errors", "RACECHECK SUMMARY: 1 hazard
// displayed (1 error, 0 warnings)"). Of several the last: what stands before the end may be a name that somebody made
// up. DATA_LOSS if there is none: then the tool did not run to its end, and the report may be anything.
absl::StatusOr<uint64_t> ParseSummary(absl::string_view console);

}  // namespace sassay::sanitize

#endif  // SASSAY_PROFILER_SERVICE_SANITIZE_REPORT_H_
