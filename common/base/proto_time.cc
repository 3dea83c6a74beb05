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

}  // namespace sassay
