// Spans of time in records.
#ifndef SASSAY_AGENT_ROLLOUT_DURATIONS_H_
#define SASSAY_AGENT_ROLLOUT_DURATIONS_H_

#include "absl/time/time.h"
#include "google/protobuf/duration.pb.h"

namespace sassay::agent {

inline void SetDuration(absl::Duration duration, google::protobuf::Duration& out) {
  out.set_seconds(absl::IDivDuration(duration, absl::Seconds(1), &duration));
  out.set_nanos(static_cast<int32_t>(absl::ToInt64Nanoseconds(duration)));
}

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_ROLLOUT_DURATIONS_H_
