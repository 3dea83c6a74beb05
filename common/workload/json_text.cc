#include "common/workload/json_text.h"

#include <cmath>
#include <set>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/base/json_depth.h"

namespace sassay {
namespace {

// Members are found by looking at each, so that an object with n of them takes n² steps.
constexpr size_t kMaxMembers = 10'000;
constexpr size_t kMaxShownBytes = 60;

// Watches the parser: nested too deeply, the same key twice in one object, or too many keys. After that nothing is
// kept.
class Watcher {
 public:
  bool operator()(int depth, OrderedJson::parse_event_t event, OrderedJson& parsed) {
    if (depth > kMaxJsonDepth) error_ = absl::StrCat("nested more than ", kMaxJsonDepth, " levels deep");
    if (event == OrderedJson::parse_event_t::object_start) keys_.emplace_back();
    if (event == OrderedJson::parse_event_t::object_end && !keys_.empty()) keys_.pop_back();
    if (event == OrderedJson::parse_event_t::key && !keys_.empty() && error_.empty()) {
      const auto& key = parsed.get_ref<const std::string&>();
      if (!keys_.back().insert(key).second) error_ = absl::StrCat(Named(key), " appears twice in one object");
      if (keys_.back().size() > kMaxMembers)
        error_ = absl::StrCat("an object with more than ", kMaxMembers, " members");
    }
    return error_.empty();
  }
  const std::string& error() const { return error_; }

 private:
  static std::string Named(const std::string& key) {
    return key.size() > kMaxShownBytes ? "a key" : absl::StrCat("the key \"", key, "\"");
  }

  std::vector<std::set<std::string>> keys_;
  std::string error_;
};

}  // namespace

absl::StatusOr<OrderedJson> ParseJsonObject(absl::string_view untrusted, uint64_t limit_bytes) {
  if (untrusted.size() > limit_bytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("JSON of ", untrusted.size(), " bytes, at most ", limit_bytes, " are allowed"));
  }
  if (JsonIsTooDeep(untrusted)) {
    return absl::InvalidArgumentError(absl::StrCat("JSON nested more than ", kMaxJsonDepth, " levels deep"));
  }
  Watcher watcher;
  OrderedJson value = OrderedJson::parse(untrusted.begin(), untrusted.end(), std::ref(watcher),
                                         /*allow_exceptions=*/false);
  if (!watcher.error().empty()) return absl::InvalidArgumentError(watcher.error());
  if (value.is_discarded()) return absl::InvalidArgumentError("malformed JSON");
  if (!value.is_object()) return JsonTypeError("the document", "an object", value);
  return value;
}

absl::Status JsonTypeError(absl::string_view path, absl::string_view expected, const OrderedJson& got) {
  std::string shown = got.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
  if (shown.size() > kMaxShownBytes) shown = absl::StrCat(shown.substr(0, kMaxShownBytes), "…");
  return absl::InvalidArgumentError(absl::StrCat(path, ": expected ", expected, ", got ", shown));
}

absl::StatusOr<std::string> JsonString(const OrderedJson& value, absl::string_view path) {
  if (!value.is_string()) return JsonTypeError(path, "a string", value);
  return value.get<std::string>();
}

absl::StatusOr<int64_t> JsonPositiveInteger(const OrderedJson& value, absl::string_view path) {
  if (!value.is_number_integer()) return JsonTypeError(path, "a positive integer", value);
  if (value.is_number_unsigned() && value.get<uint64_t>() > INT64_MAX) return JsonTypeError(path, "an int64", value);
  if (value.get<int64_t>() <= 0) return JsonTypeError(path, "a positive integer", value);
  return value.get<int64_t>();
}

absl::StatusOr<double> JsonNonNegativeNumber(const OrderedJson& value, absl::string_view path) {
  if (!value.is_number() || !std::isfinite(value.get<double>()) || value.get<double>() < 0) {
    return JsonTypeError(path, "a number of at least 0", value);
  }
  return value.get<double>();
}

}  // namespace sassay
