#include "profiler_service/timing/timing.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "profiler_service/timing/statistics.h"
#include "profiler_service/wire/gpu_nodes.h"

namespace sassay::timing {
namespace {

using sassay::v1::Timing;
using sassay::worker::RunnerReply;

Timing Unavailable(std::string reason) {
  Timing timing;
  timing.set_status(Timing::UNAVAILABLE);
  timing.set_reason(std::move(reason));
  return timing;
}

bool Ended(const RunnerReply& reply) { return reply.outcome() == worker::RUN_OUTCOME_OK; }

absl::StatusOr<RunnerReply> SetUp(const TimingRequest& request, wire::RunnerClient& runner) {
  ASSIGN_OR_RETURN(RunnerReply reply, runner.Load(*request.bundle, worker::RUN_MODE_TIMED));
  if (!Ended(reply)) return reply;
  ASSIGN_OR_RETURN(reply, runner.Bind(request.regions, request.descriptors));
  if (!Ended(reply)) return reply;
  ASSIGN_OR_RETURN(reply, runner.Setup(request.poison_seed, request.deadline));
  if (Ended(reply) && request.refill_after_setup) RETURN_IF_ERROR(request.refill_after_setup());
  return reply;
}

// One more call on other inputs. UNKNOWN if it was wrong; the runner's answer otherwise.
absl::StatusOr<RunnerReply> Check(const TimingRequest& request, wire::RunnerClient& runner, absl::Duration left) {
  RETURN_IF_ERROR(request.refill_for_check());
  ASSIGN_OR_RETURN(RunnerReply reply, runner.Steady(request.poison_seed + 3, left, /*samples=*/1, /*warmups=*/0));
  if (!Ended(reply)) return reply;
  ASSIGN_OR_RETURN(const bool right, request.check());
  if (!right) return absl::UnknownError("a timed call gave wrong outputs, so its time is worth nothing");
  return reply;
}

// All samples, with a check somewhere among them and one at the end.
absl::StatusOr<RunnerReply> Sample(const TimingRequest& request, wire::RunnerClient& runner) {
  if (!request.check) return runner.Steady(request.poison_seed + 1, request.deadline, kSamples, kWarmups);
  const absl::Time end = absl::Now() + request.deadline;
  const auto left = [end] { return std::max(end - absl::Now(), absl::Milliseconds(1)); };
  const uint32_t first = kFewestSamples + static_cast<uint32_t>(request.check_seed % (kSamples - 2 * kFewestSamples));
  ASSIGN_OR_RETURN(RunnerReply reply, runner.Steady(request.poison_seed + 1, left() / 2, first, kWarmups));
  if (!Ended(reply)) return reply;
  ASSIGN_OR_RETURN(const RunnerReply between, Check(request, runner, left()));
  if (!Ended(between)) return between;
  ASSIGN_OR_RETURN(RunnerReply rest, runner.Steady(request.poison_seed + 2, left(), kSamples - first, 0));
  if (!Ended(rest)) return rest;
  ASSIGN_OR_RETURN(const RunnerReply last, Check(request, runner, request.deadline));
  if (!Ended(last)) return last;
  reply.mutable_timing()->mutable_candidate()->mutable_samples_ns()->MergeFrom(rest.timing().candidate().samples_ns());
  return reply;
}

// The runner runs candidate code in its context: what it says about time is read, not believed.
bool Plausible(const Timing& timing) {
  const auto& samples = timing.candidate().samples_ns();
  return std::all_of(samples.begin(), samples.end(),
                     [](double ns) { return std::isfinite(ns) && ns > 0 && ns < 1e13; });
}

void NoteClock(const absl::StatusOr<ClockReading>& reading, Timing& timing) {
  if (!reading.ok()) {
    timing.set_reason(absl::StrCat("clocks are not known: ", reading.status().message()));
    return;
  }
  const uint32_t lowest = timing.sm_clock_min_mhz();
  timing.set_sm_clock_min_mhz(lowest == 0 ? reading->sm_clock_mhz : std::min(lowest, reading->sm_clock_mhz));
  timing.set_sm_clock_max_mhz(std::max(timing.sm_clock_max_mhz(), reading->sm_clock_mhz));
  timing.set_clock_event_reasons(timing.clock_event_reasons() | reading->event_reasons);
}

Timing Judge(RunnerReply reply, const absl::StatusOr<ClockReading>& before, const absl::StatusOr<ClockReading>& after) {
  if (!Ended(reply)) return Unavailable(absl::StrCat("the timed run did not end well: ", reply.message()));
  Timing timing = std::move(*reply.mutable_timing());
  timing.clear_baseline();
  const int samples = timing.candidate().samples_ns_size();
  if (samples < kFewestSamples || !Plausible(timing)) {
    return Unavailable(absl::StrCat("expected at least ", kFewestSamples, " samples, got ", samples,
                                    samples < kFewestSamples ? " before the deadline" : ", some of them no times"));
  }
  NoteClock(before, timing);
  NoteClock(after, timing);
  timing.set_method("events; cold L2; candidate alone");
  if ((timing.clock_event_reasons() & kVoidClockReasons) != 0) {
    (*timing.mutable_voided_samples())["clock slowdown"] = static_cast<uint32_t>(samples);
    timing.clear_candidate();
    timing.set_status(Timing::UNAVAILABLE);
    timing.set_reason(
        absl::StrCat("the GPU slowed down its clock (NVML reasons 0x", absl::Hex(timing.clock_event_reasons()), ")"));
    return timing;
  }
  Summarise(*timing.mutable_candidate());
  timing.set_status(Timing::MEASURED);
  return timing;
}

std::string UuidOf(const std::string& device) {
  const absl::optional<wire::GpuNode> gpu = wire::FindGpu(device);
  return gpu.has_value() ? gpu->uuid : std::string(device.substr(device.find(':') + 1));
}

}  // namespace

absl::StatusOr<Timing> Time(const TimingRequest& request, wire::RunnerPool& pool, const ClockSource& clock) {
  if (!absl::StartsWith(request.device, "cuda:")) return Unavailable("emulated device");
  auto runner = pool.Acquire(request.device, worker::RUN_MODE_TIMED, absl::InfiniteFuture(), request.kill_switch);
  if (absl::IsCancelled(runner.status())) return runner.status();
  if (!runner.ok()) return Unavailable(std::string(runner.status().message()));
  const wire::RunnerPool::Quiet quiet(pool, request.device);
  const wire::KillSwitch::Guard guard(request.kill_switch, **runner);
  absl::StatusOr<RunnerReply> reply = SetUp(request, **runner);
  const std::string uuid = UuidOf(request.device);
  absl::StatusOr<ClockReading> before = absl::UnknownError(""), after = absl::UnknownError("");
  if (reply.ok() && Ended(*reply)) {
    before = clock(uuid);
    reply = Sample(request, **runner);
    after = clock(uuid);
  }
  if (absl::IsCancelled(reply.status())) return reply.status();
  if (!reply.ok()) return Unavailable(std::string(reply.status().message()));
  return Judge(*std::move(reply), before, after);
}

}  // namespace sassay::timing
