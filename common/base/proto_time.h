// Time on the wire.
#ifndef SASSAY_COMMON_BASE_PROTO_TIME_H_
#define SASSAY_COMMON_BASE_PROTO_TIME_H_

#include "absl/time/time.h"
#include "google/protobuf/duration.pb.h"
#include "google/protobuf/timestamp.pb.h"

namespace sassay {

void SetTimestamp(absl::Time time, google::protobuf::Timestamp& out);
// Saturates at the ends of what nanoseconds since 1970 can say in 64 bits, whoever wrote the timestamp.
absl::Time TimeOf(const google::protobuf::Timestamp& timestamp);

void SetDuration(absl::Duration duration, google::protobuf::Duration& out);
double SecondsOf(const google::protobuf::Duration& duration);

}  // namespace sassay

#endif  // SASSAY_COMMON_BASE_PROTO_TIME_H_
