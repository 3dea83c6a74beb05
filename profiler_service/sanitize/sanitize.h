// The sanitize stage: is the candidate's use of memory clean?
//
// On a GPU the CHECKED runner runs under compute-sanitizer's memcheck; on the emulated device it runs in the emulator,
// which checks every access itself. A tool that did not run to its end is UNAVAILABLE: not clean, and not guilt.
#ifndef SASSAY_PROFILER_SERVICE_SANITIZE_SANITIZE_H_
#define SASSAY_PROFILER_SERVICE_SANITIZE_SANITIZE_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "profiler_service/wire/kill_switch.h"
#include "profiler_service/wire/runner_pool.h"
#include "profiler_service/wire/worker.pb.h"
#include "sassay/v1/bundle.pb.h"
#include "sassay/v1/verdict.pb.h"

namespace sassay::sanitize {

// What is to be checked, and with which buffers. Everything must outlive the call.
struct SanitizeRequest {
  // "cuda:N" or "emulated:ARCH".
  std::string device;
  // With only the plan to run (wire::WithOnlyPlan).
  const sassay::v1::Bundle* bundle = nullptr;
  // The judge's memory for the plan's tensors; `descriptors[region.memory()]`.
  absl::Span<const sassay::worker::SharedRegion> regions;
  absl::Span<const int> descriptors;
  uint64_t poison_seed = 0;
  // Called between setup, which sees decoys, and the call: the judge's chance to put the real inputs in place. May be
  // empty.
  std::function<absl::Status()> refill_after_setup;
  // For setup and the call each.
  absl::Duration deadline = absl::Seconds(30);
  wire::KillSwitch* kill_switch = nullptr;
};

// What became of it.
struct Sanitization {
  enum class Status { kClean, kFindings, kUnavailable };
  Status status = Status::kUnavailable;
  // These convict; first cause first; not empty with kFindings alone.
  std::vector<sassay::v1::Finding> findings;
  // What the tool said besides; for the notes.
  std::vector<sassay::v1::Finding> advisory;
  // One line: why it is unavailable, or the first finding.
  std::string reason;
  // How the checked run ended ("a failure seen only under a tool" is for the caller to weigh), and where it stood.
  sassay::worker::RunnerReply last_reply;
  // "compute-sanitizer 2025.3.1", "emulator".
  std::string tool;
  // It is unavailable because the runner, or the judge that refills, was lost: another attempt may end better.
  bool lost = false;
};

// Runs the stage. A Status is CANCELLED (the kill switch); all else, a refill that failed among it, is a Sanitization.
// `compute_sanitizer` is Toolchain::compute_sanitizer, empty where there is none; it is not used on an emulated device.
absl::StatusOr<Sanitization> Sanitize(const SanitizeRequest& request, wire::RunnerPool& pool,
                                      absl::string_view compute_sanitizer);

// The command line in front of the runner's own. `report` is the XML file that it will write.
std::vector<std::string> MemcheckCommand(absl::string_view compute_sanitizer, absl::string_view report);

}  // namespace sassay::sanitize

#endif  // SASSAY_PROFILER_SERVICE_SANITIZE_SANITIZE_H_
