// Reading JSON that somebody else wrote, with messages that name the field.
#ifndef SASSAY_COMMON_WORKLOAD_JSON_TEXT_H_
#define SASSAY_COMMON_WORKLOAD_JSON_TEXT_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "nlohmann/json.hpp"

namespace sassay {

using OrderedJson = nlohmann::ordered_json;

// Parses one object. INVALID_ARGUMENT for malformed JSON, doubled keys, more than `limit_bytes` or 32 levels.
absl::StatusOr<OrderedJson> ParseJsonObject(absl::string_view untrusted, uint64_t limit_bytes);

// "expected a string, got 3" for `path`.
absl::Status JsonTypeError(absl::string_view path, absl::string_view expected, const OrderedJson& got);

// Typed access; INVALID_ARGUMENT naming `path`.
absl::StatusOr<std::string> JsonString(const OrderedJson& value, absl::string_view path);
absl::StatusOr<int64_t> JsonPositiveInteger(const OrderedJson& value, absl::string_view path);
absl::StatusOr<double> JsonNonNegativeNumber(const OrderedJson& value, absl::string_view path);

}  // namespace sassay

#endif  // SASSAY_COMMON_WORKLOAD_JSON_TEXT_H_
