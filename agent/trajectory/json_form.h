// The JSON that run folders are made of: proto3's own form, with field names as in the .proto, so that every language's
// protobuf reads it and it comes back as what it was.
#ifndef SASSAY_AGENT_TRAJECTORY_JSON_FORM_H_
#define SASSAY_AGENT_TRAJECTORY_JSON_FORM_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/message.h"
#include "sassay/v1/trajectory.pb.h"

namespace sassay::agent {

// One line without its end; with `pretty`, several. INVALID_ARGUMENT for a message that has no such form: a time
// outside the years 1 to 9999, a text that is no UTF-8.
absl::StatusOr<std::string> JsonOf(const google::protobuf::Message& message, bool pretty = false);

// Reads what JsonOf wrote, from whoever wrote it. Fields that this version does not know are passed over.
// INVALID_ARGUMENT says what is wrong.
absl::Status ParseJson(absl::string_view untrusted_json, google::protobuf::Message& message);

// One line of a log. INVALID_ARGUMENT also for a record that says nothing.
absl::StatusOr<v1::TrajectoryRecord> ParseRecord(absl::string_view untrusted_line);

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_TRAJECTORY_JSON_FORM_H_
