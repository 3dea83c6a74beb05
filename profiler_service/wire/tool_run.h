// A runner under a tool (compute-sanitizer, Nsight Compute): a folder for what the tool writes, memory for what it
// prints, and the tool's own end.
#ifndef SASSAY_PROFILER_SERVICE_WIRE_TOOL_RUN_H_
#define SASSAY_PROFILER_SERVICE_WIRE_TOOL_RUN_H_

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "common/base/fd.h"
#include "common/base/files.h"
#include "common/process/subprocess.h"
#include "profiler_service/wire/candidate_run.h"
#include "profiler_service/wire/runner_pool.h"

namespace sassay::wire {

// What a run under a tool may take at most: a start beside other contexts, and a thousand times what all of evaluate's
// calls together took on the device (`plain`), but not more than `longest`. A kernel may know the tool and never end
// under it.
absl::Duration LongestUnderTool(absl::Duration longest, absl::Duration plain);

// Where a tool's words go. Both are written by processes that ran hostile device code: read them with bounds.
// Move-only; destruction removes the folder.
class ToolOutput {
 public:
  // `name` is for the temporary folder's.
  static absl::StatusOr<ToolOutput> Create(absl::string_view name);

  // Writable by the tool, under the same path inside the sandbox.
  const std::filesystem::path& folder() const { return folder_; }
  // What was printed, at most the last MiB.
  std::string Console() const;
  // `base`, with `launcher` in front of the runner and this as its output.
  RunnerPoolOptions Options(const RunnerPoolOptions& base, std::vector<std::string> launcher) const;

 private:
  ToolOutput(TemporaryDirectory directory, std::filesystem::path folder, UniqueFd console)
      : directory_(std::move(directory)), folder_(std::move(folder)), console_(std::move(console)) {}

  TemporaryDirectory directory_;
  std::filesystem::path folder_;
  UniqueFd console_;
};

// How it went.
struct ToolRun {
  // The runner's last word; INFRA where it said none because it was lost.
  sassay::worker::RunnerReply reply;
  // How the tool ended; absent where it was killed because what it ran, or it itself, did not end.
  absl::optional<ExitReport> exit;
};

// Starts a runner of `mode` with `options`, runs the candidate in it and lets the tool end, for which it has
// `tool_end`. A Status is our own trouble: CANCELLED; UNAVAILABLE or DATA_LOSS, the runner or the judge was lost;
// others, it could not be started.
absl::StatusOr<ToolRun> RunUnderTool(const CandidateRun& run, sassay::worker::RunMode mode,
                                     const RunnerPoolOptions& options, absl::Duration tool_end);

}  // namespace sassay::wire

#endif  // SASSAY_PROFILER_SERVICE_WIRE_TOOL_RUN_H_
