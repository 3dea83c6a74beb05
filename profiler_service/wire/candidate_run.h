// One run of a candidate in a runner: what sanitize and diagnose have in common.
#ifndef SASSAY_PROFILER_SERVICE_WIRE_CANDIDATE_RUN_H_
#define SASSAY_PROFILER_SERVICE_WIRE_CANDIDATE_RUN_H_

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "profiler_service/wire/kill_switch.h"
#include "profiler_service/wire/runner_client.h"
#include "profiler_service/wire/worker.pb.h"
#include "sassay/v1/bundle.pb.h"

namespace sassay::wire {

// What is run, and with which buffers. Everything must outlive the run.
struct CandidateRun {
  // "cuda:N" or "emulated:ARCH".
  std::string device;
  // With only the plan to run (WithOnlyPlan).
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
  KillSwitch* kill_switch = nullptr;
};

// Load, Bind, Setup, Steady; stops at the first reply that is not OK or has findings. A Status is our own trouble:
// RunnerClient's, or the refill's.
absl::StatusOr<sassay::worker::RunnerReply> Converse(const CandidateRun& run, sassay::worker::RunMode mode,
                                                     RunnerClient& runner);

}  // namespace sassay::wire

#endif  // SASSAY_PROFILER_SERVICE_WIRE_CANDIDATE_RUN_H_
