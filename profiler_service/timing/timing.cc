#include "profiler_service/timing/timing.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/base/steady_time.h"
#include "profiler_service/evaluate/session.h"
#include "profiler_service/timing/statistics.h"
#include "profiler_service/verdict/verdict.h"
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

// A time-out is held against a candidate only if it had so many times what a call takes.
constexpr int kFairCalls = 100;

// One timed run. What the candidate did wrong is failure(); what it took, samples().
class TimedRun {
 public:
  TimedRun(const TimingRequest& request, wire::RunnerClient& runner) : request_(request), runner_(runner) {}

  const evaluate::MaybeFailure& failure() const { return failure_; }
  const google::protobuf::RepeatedField<double>& samples() const { return samples_; }

  absl::Status SetUp() {
    RETURN_IF_ERROR(Take(runner_.Load(*request_.bundle, worker::RUN_MODE_TIMED), request_.deadline));
    RETURN_IF_ERROR(Take(runner_.Bind(request_.regions, request_.descriptors), request_.deadline));
    RETURN_IF_ERROR(Take(runner_.Setup(request_.poison_seed, request_.deadline), request_.deadline));
    return request_.refill_after_setup ? request_.refill_after_setup() : absl::OkStatus();
  }

  // All samples, with a check somewhere among them and one at the end.
  absl::Status Sample() {
    if (!request_.check) return Steady(1, request_.deadline, kSamples, kWarmups);
    const absl::Time end = SteadyNow() + request_.deadline;
    const auto left = [end] { return std::max(end - SteadyNow(), absl::Milliseconds(1)); };
    const uint32_t first =
        kFewestSamples + static_cast<uint32_t>(request_.check_seed % (kSamples - 2 * kFewestSamples));
    RETURN_IF_ERROR(Steady(1, left() / 2, first, kWarmups));
    RETURN_IF_ERROR(Check(left()));
    RETURN_IF_ERROR(Steady(2, left(), kSamples - first, 0));
    return Check(request_.deadline);
  }

 private:
  // A reply that did not end well is the failure, and the run is over.
  absl::Status Take(const absl::StatusOr<RunnerReply>& reply, absl::Duration given) {
    RETURN_IF_ERROR(reply.status());
    if (reply->outcome() == worker::RUN_OUTCOME_OK) return absl::OkStatus();
    if (reply->outcome() == worker::RUN_OUTCOME_TIMEOUT && given < kFairCalls * request_.longest_call) {
      return absl::DeadlineExceededError("the time for timing was over before enough samples were taken");
    }
    return Fail(evaluate::FailureOf(*reply));
  }

  absl::Status Fail(evaluate::MaybeFailure failure) {
    const std::string reason = failure->reason;
    if (!verdict::IsInfrastructure(failure->code)) failure_ = std::move(failure);
    return absl::AbortedError(absl::StrCat("the timed run did not end well: ", reason));
  }

  absl::Status Steady(uint64_t poison, absl::Duration given, uint32_t samples, uint32_t warmups) {
    const auto reply = runner_.Steady(request_.poison_seed + poison, given, samples, warmups);
    RETURN_IF_ERROR(Take(reply, given));
    samples_.MergeFrom(reply->timing().candidate().samples_ns());
    return absl::OkStatus();
  }

  // One more call on other inputs, which gives no sample.
  absl::Status Check(absl::Duration given) {
    RETURN_IF_ERROR(request_.refill_for_check());
    RETURN_IF_ERROR(Take(runner_.Steady(request_.poison_seed + 3, given, /*samples=*/1, /*warmups=*/0), given));
    evaluate::MaybeFailure failure = request_.check();
    return failure.has_value() ? Fail(std::move(failure)) : absl::OkStatus();
  }

  const TimingRequest& request_;
  wire::RunnerClient& runner_;
  evaluate::MaybeFailure failure_;
  google::protobuf::RepeatedField<double> samples_;
};

// The runner runs candidate code in its context: what it says about time is read, not believed.
bool Plausible(const Timing& timing) {
  const auto& samples = timing.candidate().samples_ns();
  return std::all_of(samples.begin(), samples.end(),
                     [](double ns) { return std::isfinite(ns) && ns > 0 && ns < 1e13; });
}

void NoteClock(const ClockReading& reading, Timing& timing) {
  const uint32_t lowest = timing.sm_clock_min_mhz();
  timing.set_sm_clock_min_mhz(lowest == 0 ? reading.sm_clock_mhz : std::min(lowest, reading.sm_clock_mhz));
  timing.set_sm_clock_max_mhz(std::max(timing.sm_clock_max_mhz(), reading.sm_clock_mhz));
  timing.set_clock_event_reasons(timing.clock_event_reasons() | reading.event_reasons);
}

// Samples that are worth nothing, and why.
Timing Void(Timing timing, const std::string& kind, std::string reason) {
  (*timing.mutable_voided_samples())[kind] = static_cast<uint32_t>(timing.candidate().samples_ns_size());
  timing.clear_candidate();
  timing.set_status(Timing::UNAVAILABLE);
  timing.set_reason(std::move(reason));
  return timing;
}

Timing Judge(const google::protobuf::RepeatedField<double>& samples, const absl::StatusOr<ClockReading>& before,
             const absl::StatusOr<ClockReading>& after) {
  Timing timing;
  *timing.mutable_candidate()->mutable_samples_ns() = samples;
  if (samples.size() < kFewestSamples || !Plausible(timing)) {
    return Unavailable(
        absl::StrCat("expected at least ", kFewestSamples, " samples, got ", samples.size(),
                     samples.size() < kFewestSamples ? " before the deadline" : ", some of them no times"));
  }
  timing.set_method("events; cold L2; candidate alone");
  for (const auto* reading : {&before, &after}) {
    if (!reading->ok()) {
      return Void(std::move(timing), "clocks unknown",
                  absl::StrCat("clocks are not known: ", reading->status().message()));
    }
    NoteClock(**reading, timing);
  }
  if ((timing.clock_event_reasons() & kVoidClockReasons) != 0) {
    const std::string reasons = absl::StrCat(absl::Hex(timing.clock_event_reasons()));
    return Void(std::move(timing), "clock slowdown", "the GPU slowed down its clock (NVML reasons 0x" + reasons + ")");
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

absl::StatusOr<verdict::TimingSeen> Time(const TimingRequest& request, wire::RunnerPool& pool,
                                         const ClockSource& clock) {
  if (!absl::StartsWith(request.device, "cuda:")) return verdict::TimingSeen{Unavailable("emulated device"), {}};
  auto runner = pool.Acquire(request.device, worker::RUN_MODE_TIMED, absl::InfiniteFuture(), request.kill_switch);
  if (absl::IsCancelled(runner.status())) return runner.status();
  if (!runner.ok()) return verdict::TimingSeen{Unavailable(std::string(runner.status().message())), {}};
  const wire::RunnerPool::Quiet quiet(pool, request.device, request.kill_switch);
  const wire::KillSwitch::Guard guard(request.kill_switch, **runner);
  TimedRun run(request, **runner);
  absl::Status status = run.SetUp();
  const std::string uuid = UuidOf(request.device);
  absl::StatusOr<ClockReading> before = absl::UnknownError(""), after = absl::UnknownError("");
  if (status.ok()) {
    before = clock(uuid);
    status = run.Sample();
    after = clock(uuid);
  }
  if (absl::IsCancelled(status)) return status;
  if (!status.ok()) return verdict::TimingSeen{Unavailable(std::string(status.message())), run.failure()};
  return verdict::TimingSeen{Judge(run.samples(), before, after), {}};
}

}  // namespace sassay::timing
