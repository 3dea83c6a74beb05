// The timing stage: how fast is the candidate?
//
// Event timing of the candidate alone: cold L2 before every sample, warm-ups first, clocks read around the samples. The
// caller holds the GPU exclusively. An emulated device never gives a time.
//
// A kernel that counts its launches could work while it is evaluated and rest while it is timed. So timed calls are
// checked, too: one after a number of samples that no kernel can foresee, and one after the last, each with other
// inputs and poisoned outputs.
#ifndef SASSAY_PROFILER_SERVICE_TIMING_TIMING_H_
#define SASSAY_PROFILER_SERVICE_TIMING_TIMING_H_

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "profiler_service/evaluate/judge_case.h"
#include "profiler_service/timing/nvml.h"
#include "profiler_service/verdict/observations.h"
#include "profiler_service/wire/kill_switch.h"
#include "profiler_service/wire/runner_pool.h"
#include "profiler_service/wire/worker.pb.h"
#include "sassay/v1/bundle.pb.h"
#include "sassay/v1/timing.pb.h"

namespace sassay::timing {

// Fewer samples than this are no measurement, unless the kernel is so slow that its deadline allows no more.
inline constexpr uint32_t kSamples = 100;
inline constexpr uint32_t kWarmups = 10;
inline constexpr int kFewestSamples = 5;

// What is to be timed, and with which buffers. Everything must outlive the call.
struct TimingRequest {
  // "cuda:N" or "emulated:ARCH".
  std::string device;
  // With only the plan to run (wire::WithOnlyPlan).
  const sassay::v1::Bundle* bundle = nullptr;
  absl::Span<const sassay::worker::SharedRegion> regions;
  absl::Span<const int> descriptors;
  uint64_t poison_seed = 0;
  // As in SanitizeRequest.
  std::function<absl::Status()> refill_after_setup;
  // Give other inputs and poisoned outputs for a check, and say what was wrong with the call made since then. Both or
  // neither; where the reference knows no other inputs, nothing is checked.
  std::function<absl::Status()> refill_for_check;
  std::function<evaluate::MaybeFailure()> check;
  // Secret; decides when the first check comes.
  uint64_t check_seed = 0;
  // What a call took when it was evaluated, at most: a timed call that had not a hundred times as long is not called
  // endless.
  absl::Duration longest_call;
  // For setup and for all samples together.
  absl::Duration deadline = absl::Seconds(60);
  wire::KillSwitch* kill_switch = nullptr;
};

// Where clocks come from; ReadClock in production. Called with the GPU's UUID.
using ClockSource = std::function<absl::StatusOr<ClockReading>(const std::string& uuid)>;

// Runs the stage. A Status is CANCELLED (the kill switch); all else, a refill that failed among it, is a Timing whose
// status is MEASURED or UNAVAILABLE with the reason. A measurement is UNAVAILABLE when a void reason
// (kVoidClockReasons) was seen around it, or when the clocks could not be read. `failure` is what the candidate did
// wrong: a fault or hang in a timed call (which the caller proves as evaluate's), or what `check` found.
absl::StatusOr<verdict::TimingSeen> Time(
    const TimingRequest& request, wire::RunnerPool& pool,
    const ClockSource& clock = [](const std::string& uuid) { return ReadClock(uuid); });

}  // namespace sassay::timing

#endif  // SASSAY_PROFILER_SERVICE_TIMING_TIMING_H_
