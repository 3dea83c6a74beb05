// The sanitize stage: is the candidate's use of memory and barriers clean?
//
// On a GPU the CHECKED runner runs under compute-sanitizer, one tool at a time; on the emulated device it runs in the
// emulator, which checks every access itself. A tool that did not run to its end is UNAVAILABLE: not clean, and not
// guilt.
#ifndef SASSAY_PROFILER_SERVICE_SANITIZE_SANITIZE_H_
#define SASSAY_PROFILER_SERVICE_SANITIZE_SANITIZE_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "profiler_service/sanitize/tool.h"
#include "profiler_service/wire/candidate_run.h"
#include "profiler_service/wire/runner_pool.h"
#include "profiler_service/wire/worker.pb.h"
#include "sassay/v1/verdict.pb.h"

namespace sassay::sanitize {

// What is to be checked, and by whom.
struct SanitizeRequest : wire::CandidateRun {
  // Of no meaning on an emulated device.
  Tool tool = Tool::kMemcheck;
};

// What became of it.
struct Sanitization {
  // All but `workload` and `wall_ns`. Some finding convicts if `convicting` is not empty; with FINDINGS alone that only
  // advise, the tool has run to its end all the same.
  sassay::v1::SanitizerReport report;
  // How the checked run ended ("a failure seen only under a tool" is for the caller to weigh), and where it stood.
  sassay::worker::RunnerReply last_reply;
  // It is unavailable because the runner, or the judge that refills, was lost: another attempt may end better.
  bool lost = false;
};

// What one run under the tool may take at most, where all of evaluate's calls together took `plain` on the device.
// Nobody is timed meanwhile.
absl::Duration LongestRun(Tool tool, absl::Duration plain);

// Runs one tool. A Status is CANCELLED (the kill switch); all else, a refill that failed among it, is a Sanitization.
// `compute_sanitizer` is Toolchain::compute_sanitizer, empty where there is none; it is not used on an emulated device.
absl::StatusOr<Sanitization> Sanitize(const SanitizeRequest& request, wire::RunnerPool& pool,
                                      absl::string_view compute_sanitizer);

}  // namespace sassay::sanitize

#endif  // SASSAY_PROFILER_SERVICE_SANITIZE_SANITIZE_H_
