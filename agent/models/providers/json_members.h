// Members of a provider's JSON: what is missing, null or of another type counts as absent, as providers differ in that.
#ifndef SASSAY_AGENT_MODELS_PROVIDERS_JSON_MEMBERS_H_
#define SASSAY_AGENT_MODELS_PROVIDERS_JSON_MEMBERS_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "common/workload/json_text.h"

namespace sassay::agent {

// Parses one object of an answer. DATA_LOSS says what is wrong and how it begins.
absl::StatusOr<OrderedJson> ReadAnswerJson(absl::string_view untrusted);

// Empty unless it is a string.
std::string TextMember(const OrderedJson& object, const char* name);
// Null unless it is an object.
const OrderedJson* ObjectMember(const OrderedJson& object, const char* name);
// A number of things, below 2^53.
absl::optional<uint64_t> CountMember(const OrderedJson& object, const char* name);
// Finite and not negative.
absl::optional<double> NumberMember(const OrderedJson& object, const char* name);
// A short name (an id, a model); one that was there stays.
void TakeName(const OrderedJson& object, const char* name, std::string& to);

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_MODELS_PROVIDERS_JSON_MEMBERS_H_
