// One message of Control.StreamTelemetry as samples.
#ifndef SASSAY_MONITOR_SOURCES_SERVICE_TELEMETRY_H_
#define SASSAY_MONITOR_SOURCES_SERVICE_TELEMETRY_H_

#include <vector>

#include "absl/time/time.h"
#include "monitor/sources/source.h"
#include "sassay/v1/control.pb.h"

namespace sassay::monitor {

// Pure. `at` is the steady time of all samples. Heartbeats give judge.silent_seconds and runner.overdue_seconds of each
// GPU.
std::vector<Sample> SamplesOf(const v1::Telemetry& message, absl::Time at);

// When a message was true, by this process' steady clock: `wall` is the service's word, `now` both clocks of ours.
// Never later than now; now, where the clocks of the two are more than a minute apart.
absl::Time SteadyTimeOf(const v1::Telemetry& message, absl::Time wall_now, absl::Time steady_now);

}  // namespace sassay::monitor

#endif  // SASSAY_MONITOR_SOURCES_SERVICE_TELEMETRY_H_
