#include "profiler_service/timing/reconcile.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_format.h"

namespace sassay::timing {
namespace {

// Memory bandwidth that every GPU we serve surely has, bytes per nanosecond.
constexpr double kSlowestBytesPerNs = 500;
// Messages, waking up, events: per sample of a block. 100 µs on an idle host, 500 µs with every CPU busy (H200).
constexpr double kFixedNs = 300e3;
// Where the host is slow, it is slow for the baseline, too.
constexpr double kTrustedFactor = 2;
// What a sandboxed process may take longer for it than the judge.
constexpr double kSandboxNs = 150e3;
// A rest below this share of the median is no matter: rule 3 is finer.
constexpr double kMatters = 0.2;
// What the runner takes for an operation beside the driver's part.
constexpr double kBookkeepingNs = 4e3;
// Of a call back to back: its share of waiting for the device now and then, and of the message there and back.
constexpr double kWaitNs = 4e3;
// 1980 to 1590 MHz within milliseconds was seen: a cold call may run at a clock that much higher.
constexpr double kClockSwing = 0.7;

}  // namespace

std::string WallRecord::Impossible(double sum_ns, absl::Duration wall) {
  if (sum_ns <= absl::ToDoubleNanoseconds(wall)) return "";
  return "device times exceed the wall time";
}

void WallRecord::AddBlock(int samples, double sum_ns, absl::Duration wall) {
  rest_ns_ = std::min(rest_ns_, (absl::ToDoubleNanoseconds(wall) - sum_ns) / std::max(samples, 1));
}

void WallRecord::AddWarmUp(int calls, absl::Duration wall) {
  if (calls > 0) warm_call_ns_ = std::min(warm_call_ns_, absl::ToDoubleNanoseconds(wall) / calls);
}

void WallRecord::AddEnqueue(double ns) { enqueue_ns_ = std::min(enqueue_ns_, ns); }

std::string WallRecord::Implausible(double median_ns, const WallRecord* trusted, const Surroundings& around) const {
  const double known_ns =
      trusted != nullptr ? kTrustedFactor * trusted->enqueue_ns() + kBookkeepingNs : around.enqueue_ns;
  const double host_ns = around.operations * std::min(known_ns, around.enqueue_ns);
  double allowed_ns = kFixedNs + host_ns + around.written_bytes / kSlowestBytesPerNs;
  if (trusted != nullptr && std::isfinite(trusted->rest_ns())) {
    allowed_ns = kTrustedFactor * std::max(trusted->rest_ns(), 0.0) + kSandboxNs + host_ns +
                 around.own_bytes / kSlowestBytesPerNs;
  }
  allowed_ns = std::max(allowed_ns, kMatters * median_ns);
  if (std::isfinite(rest_ns_) && rest_ns_ > allowed_ns) {
    return absl::StrFormat(
        "the runner reports calls of %.1f µs, but %.1f µs of wall time per call remain unexplained (at most %.1f µs "
        "would be)",
        median_ns / 1e3, rest_ns_ / 1e3, allowed_ns / 1e3);
  }
  // Back to back, the host enqueues a call while the device runs the one before.
  const double device_ns = warm_call_ns_ - kWaitNs;
  if (std::isfinite(warm_call_ns_) && device_ns > host_ns && median_ns < kClockSwing * device_ns) {
    return absl::StrFormat("the runner reports calls of %.1f µs, but back to back they took %.1f µs of wall time each",
                           median_ns / 1e3, warm_call_ns_ / 1e3);
  }
  return "";
}

}  // namespace sassay::timing
