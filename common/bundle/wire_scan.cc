#include "common/bundle/wire_scan.h"

#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/wire_format_lite.h"

namespace sassay {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;

class Scanner {
 public:
  Scanner(absl::string_view bytes, const WireLimits& limits)
      : limits_(limits), input_(reinterpret_cast<const uint8_t*>(bytes.data()), static_cast<int>(bytes.size())) {}

  absl::Status Message(const Descriptor& type, int depth) {
    if (depth > limits_.max_depth) return Refuse(absl::StatusCode::kInvalidArgument, "messages are nested too deeply");
    RETURN_IF_ERROR(Count());
    std::map<int, uint64_t> seen;
    while (true) {
      const uint32_t tag = input_.ReadTag();
      if (tag == 0) break;
      RETURN_IF_ERROR(Field(type, tag, seen, depth));
    }
    if (input_.BytesUntilLimit() > 0 || !input_.ConsumedEntireMessage()) {
      return Refuse(absl::StatusCode::kInvalidArgument, "broken wire format");
    }
    return absl::OkStatus();
  }

 private:
  absl::Status Refuse(absl::StatusCode code, absl::string_view why) const {
    std::string path;
    for (const auto& [field, index] : path_) {
      absl::StrAppend(&path, path.empty() ? "" : ".", field->name());
      if (field->is_repeated()) absl::StrAppend(&path, "[", index, "]");
    }
    return absl::Status(code, absl::StrCat(path.empty() ? "bundle" : path, ": ", why));
  }

  absl::Status Count() {
    if (++messages_ <= limits_.max_messages) return absl::OkStatus();
    return Refuse(absl::StatusCode::kResourceExhausted,
                  absl::StrCat("more than ", limits_.max_messages, " messages in all"));
  }

  absl::Status Field(const Descriptor& type, uint32_t tag, std::map<int, uint64_t>& seen, int depth) {
    const int number = WireFormatLite::GetTagFieldNumber(tag);
    const FieldDescriptor* field = type.FindFieldByNumber(number);
    if (field == nullptr) {
      return Refuse(absl::StatusCode::kInvalidArgument, absl::StrCat("unknown field ", number, " of ", type.name()));
    }
    path_.emplace_back(field, seen[number]++);
    RETURN_IF_ERROR(Value(*field, tag, depth));
    path_.pop_back();
    return absl::OkStatus();
  }

  absl::Status Value(const FieldDescriptor& field, uint32_t tag, int depth) {
    const auto wire_type = WireFormatLite::GetTagWireType(tag);
    const auto expected = WireFormatLite::WireTypeForFieldType(static_cast<WireFormatLite::FieldType>(field.type()));
    const bool packed = field.is_packable() && wire_type == WireFormatLite::WIRETYPE_LENGTH_DELIMITED;
    if (wire_type != expected && !packed) {
      return Refuse(absl::StatusCode::kInvalidArgument, "broken wire format: wrong wire type");
    }
    if (field.type() == FieldDescriptor::TYPE_MESSAGE) return SubMessage(*field.message_type(), depth);
    if (packed) return Packed();
    if (field.is_repeated()) RETURN_IF_ERROR(Count());
    if (!WireFormatLite::SkipField(&input_, tag)) {
      return Refuse(absl::StatusCode::kInvalidArgument, "broken wire format: the value is cut off");
    }
    return absl::OkStatus();
  }

  absl::Status SubMessage(const Descriptor& type, int depth) {
    uint32_t size = 0;
    if (!input_.ReadVarint32(&size) || size > INT32_MAX || BytesLeft() < static_cast<int>(size)) {
      return Refuse(absl::StatusCode::kInvalidArgument, "broken wire format: the message is cut off");
    }
    const auto old_limit = input_.PushLimit(static_cast<int>(size));
    RETURN_IF_ERROR(Message(type, depth + 1));
    input_.PopLimit(old_limit);
    return absl::OkStatus();
  }

  // A packed element takes at least one byte and at most eight in memory.
  absl::Status Packed() {
    uint32_t size = 0;
    if (!input_.ReadVarint32(&size) || size > INT32_MAX || BytesLeft() < static_cast<int>(size)) {
      return Refuse(absl::StatusCode::kInvalidArgument, "broken wire format: the list is cut off");
    }
    messages_ += size / 8;
    RETURN_IF_ERROR(Count());
    input_.Skip(static_cast<int>(size));
    return absl::OkStatus();
  }

  int BytesLeft() const { return input_.BytesUntilLimit(); }

  friend absl::Status sassay::ScanWire(const Descriptor&, absl::string_view, const WireLimits&);

  const WireLimits limits_;
  CodedInputStream input_;
  std::vector<std::pair<const FieldDescriptor*, uint64_t>> path_;
  uint64_t messages_ = 0;
};

}  // namespace

absl::Status ScanWire(const Descriptor& type, absl::string_view untrusted, const WireLimits& limits) {
  if (untrusted.size() > INT32_MAX) return absl::InvalidArgumentError("bundle: larger than 2 GiB");
  Scanner scanner(untrusted, limits);
  scanner.input_.PushLimit(static_cast<int>(untrusted.size()));
  return scanner.Message(type, 0);
}

}  // namespace sassay
