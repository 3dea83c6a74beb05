// The timing stage: how fast is the candidate, and how fast beside the library?
//
// The candidate runs in a runner, the baseline in the judge, block by block in turn (conduct.h); both on a GPU that the
// caller holds exclusively. An emulated device never gives a time. docs/timing_method.md tells the whole method.
//
// A kernel that counts its launches could work while it is evaluated and rest while it is timed. So every timed call
// may be the one that is checked (judged_sets.h).
#ifndef SASSAY_PROFILER_SERVICE_TIMING_TIMING_H_
#define SASSAY_PROFILER_SERVICE_TIMING_TIMING_H_

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "profiler_service/evaluate/workers.h"
#include "profiler_service/timing/baseline_history.h"
#include "profiler_service/timing/judged_sets.h"
#include "profiler_service/timing/measurement.h"
#include "profiler_service/timing/nvml.h"
#include "profiler_service/timing/roofline.h"
#include "profiler_service/verdict/observations.h"
#include "profiler_service/wire/kill_switch.h"
#include "profiler_service/wire/runner_pool.h"
#include "sassay/v1/bundle.pb.h"
#include "sassay/v1/timing.pb.h"
#include "sassay/v1/workload.pb.h"

namespace sassay::timing {

// Fewer samples than this are no measurement.
inline constexpr int kFewestSamples = 5;
// A difference of clocks between the two sides above this is reported.
inline constexpr double kClockAsymmetry = 0.01;

// A bundle in the baseline's place, in a runner of its own: one that an operator trusts, or the candidate itself (A/A),
// which shows how far a ratio of this service can be trusted. Everything must outlive the measurement.
struct BundleBaseline {
  // With only the plan to run.
  const sassay::v1::Bundle* bundle = nullptr;
  // Its tensors, for the same workload.
  TimedSets* sets = nullptr;
  // As the verdict names it.
  sassay::v1::BaselineProgram program;
  // It is one and the same for all candidates, so that its times can be remembered.
  bool lasting = true;
};

// What is to be timed, and with which buffers. Everything must outlive the call.
struct TimingRequest {
  // "cuda:N" or "emulated:ARCH".
  std::string device;
  // For the roofline floor.
  GpuModel gpu;
  sassay::v1::Workload workload;
  // With only the plan to run (wire::WithOnlyPlan).
  const sassay::v1::Bundle* bundle = nullptr;
  // The candidate's tensors.
  TimedSets* sets = nullptr;
  // Has the baseline, where the workload names one.
  evaluate::JudgePort* judge = nullptr;
  // Takes the place of the workload's baseline; null where that is a library's or there is none.
  const BundleBaseline* bundle_baseline = nullptr;
  // Why the bundle that should be the baseline is none; empty if there is no such trouble.
  std::string no_baseline;
  // Of the baselines on this host's GPUs: asked, and told of what was measured. Null: nothing is remembered.
  BaselineHistory* baseline_history = nullptr;
  // What a baseline's time depends on, too.
  std::string driver_version;
  uint64_t poison_seed = 0;
  // Of the baseline's inputs.
  uint64_t baseline_seed = 0;
  std::string distribution = "normal";
  // What a call took when it was evaluated, at most: a timed call that had not a hundred times as long is not called
  // endless.
  absl::Duration longest_call;
  // For everything together.
  absl::Duration deadline = absl::Seconds(60);
  Rules rules;
  wire::KillSwitch* kill_switch = nullptr;
};

// Sets of tensors for a workload of which one set takes `set_bytes` (of them inputs `input_bytes`), on a device of
// `device_bytes`: as many as a block has samples, as far as candidate, baseline and judge fit into two fifths of the
// memory; at least 1.
int TensorSetsFor(const Rules& rules, uint64_t set_bytes, uint64_t input_bytes, uint64_t device_bytes);

// Where clocks come from; ReadClock in production. Called with the GPU's UUID.
using ClockSource = std::function<absl::StatusOr<ClockReading>(const std::string& uuid)>;

// Runs the stage. A Status is CANCELLED (the kill switch) or UNAVAILABLE (a runner or the judge was lost, so that
// another attempt may go better); all else is a Timing whose status is MEASURED or UNAVAILABLE with the reason.
// `failure` is what the candidate did wrong: a fault or hang in a timed call (which the caller proves as evaluate's),
// an output that a check found wrong, or a time that no GPU can reach. A baseline that goes wrong is never the
// candidate's fault: before the first sample the candidate is timed alone, later there is no time.
absl::StatusOr<verdict::TimingSeen> Time(
    const TimingRequest& request, wire::RunnerPool& pool,
    const ClockSource& clock = [](const std::string& uuid) { return ReadClock(uuid); });

}  // namespace sassay::timing

#endif  // SASSAY_PROFILER_SERVICE_TIMING_TIMING_H_
