#include "agent/trajectory/json_form.h"

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "google/protobuf/util/json_util.h"

namespace sassay::agent {
namespace {

namespace json = google::protobuf::util;

}  // namespace

absl::StatusOr<std::string> JsonOf(const google::protobuf::Message& message, bool pretty) {
  json::JsonPrintOptions options;
  options.add_whitespace = pretty;
  options.preserve_proto_field_names = true;
  std::string text;
  const auto status = json::MessageToJsonString(message, &text, options);
  if (status.ok()) return text;
  return absl::InvalidArgumentError(
      absl::StrCat(message.GetTypeName(), " has no JSON form: ", std::string(status.message())));
}

absl::Status ParseJson(absl::string_view untrusted_json, google::protobuf::Message& message) {
  json::JsonParseOptions options;
  options.ignore_unknown_fields = true;
  const auto status = json::JsonStringToMessage(
      google::protobuf::StringPiece(untrusted_json.data(), untrusted_json.size()), &message, options);
  if (status.ok()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("expected the JSON form of ", message.GetTypeName(), ": ", std::string(status.message())));
}

absl::StatusOr<v1::TrajectoryRecord> ParseRecord(absl::string_view untrusted_line) {
  v1::TrajectoryRecord record;
  RETURN_IF_ERROR(ParseJson(untrusted_line, record));
  if (record.what_case() != v1::TrajectoryRecord::WHAT_NOT_SET) return record;
  return absl::InvalidArgumentError("the record says nothing that this version knows");
}

}  // namespace sassay::agent
