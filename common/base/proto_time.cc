#include "common/base/proto_time.h"

namespace sassay {

void SetTimestamp(absl::Time time, google::protobuf::Timestamp& out) {
  const int64_t nanos = absl::ToUnixNanos(time);
  out.set_seconds(nanos / 1'000'000'000);
  out.set_nanos(static_cast<int32_t>(nanos % 1'000'000'000));
}

absl::Time TimeOf(const google::protobuf::Timestamp& timestamp) {
  const absl::Time time = absl::FromUnixSeconds(timestamp.seconds()) + absl::Nanoseconds(timestamp.nanos());
  return absl::FromUnixNanos(absl::ToUnixNanos(time));
}

void SetDuration(absl::Duration duration, google::protobuf::Duration& out) {
  out.set_seconds(absl::IDivDuration(duration, absl::Seconds(1), &duration));
  out.set_nanos(static_cast<int32_t>(absl::ToInt64Nanoseconds(duration)));
}

double SecondsOf(const google::protobuf::Duration& duration) {
  return static_cast<double>(duration.seconds()) + duration.nanos() / 1e9;
}

}  // namespace sassay
