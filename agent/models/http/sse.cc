#include "agent/models/http/sse.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"

namespace sassay::agent {
namespace {

constexpr absl::string_view kByteOrderMark = "\xEF\xBB\xBF";

}  // namespace

absl::Status SseParser::Feed(absl::string_view untrusted, Sink sink) {
  while (!untrusted.empty()) {
    if (after_cr_ && untrusted[0] == '\n') untrusted.remove_prefix(1);
    after_cr_ = false;
    const size_t end = untrusted.find_first_of("\r\n");
    const absl::string_view piece = untrusted.substr(0, end);
    if (line_.size() + data_.size() + piece.size() > max_event_bytes_) {
      return absl::ResourceExhaustedError(absl::StrCat("an event of more than ", max_event_bytes_, " bytes"));
    }
    line_.append(piece.data(), piece.size());
    if (end == absl::string_view::npos) break;
    after_cr_ = untrusted[end] == '\r';
    untrusted.remove_prefix(end + 1);
    RETURN_IF_ERROR(EndLine(sink));
  }
  return absl::OkStatus();
}

absl::Status SseParser::EndLine(Sink sink) {
  absl::string_view line = line_;
  if (first_line_ && absl::StartsWith(line, kByteOrderMark)) line.remove_prefix(kByteOrderMark.size());
  first_line_ = false;
  if (line.empty()) {
    line_.clear();
    return Dispatch(sink);
  }
  const size_t colon = line.find(':');
  absl::string_view value = colon == absl::string_view::npos ? absl::string_view() : line.substr(colon + 1);
  if (absl::StartsWith(value, " ")) value.remove_prefix(1);
  Field(line.substr(0, colon), value);
  line_.clear();
  return absl::OkStatus();
}

void SseParser::Field(absl::string_view name, absl::string_view value) {
  if (name == "event") type_ = std::string(value);
  if (name == "error") type_ = "error";
  if (name != "data" && name != "error") return;
  if (has_data_) data_ += '\n';
  data_.append(value.data(), value.size());
  has_data_ = true;
}

absl::Status SseParser::Dispatch(Sink sink) {
  absl::Status status;
  if (has_data_) status = sink(type_.empty() ? "message" : type_, data_);
  type_.clear();
  data_.clear();
  has_data_ = false;
  return status;
}

}  // namespace sassay::agent
