#include "agent/models/providers/json_members.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "agent/models/providers/api_error.h"

namespace sassay::agent {
namespace {

constexpr uint64_t kMaxJsonBytes = 32 << 20;
constexpr double kMaxCount = 9e15;
constexpr size_t kMaxNameBytes = 200;

}  // namespace

absl::StatusOr<OrderedJson> ReadAnswerJson(absl::string_view untrusted) {
  absl::StatusOr<OrderedJson> json = ParseJsonObject(untrusted, kMaxJsonBytes);
  if (json.ok()) return json;
  return absl::DataLossError(
      absl::StrCat("the server sent what is no answer (",
                   absl::string_view(json.status().message().data(), json.status().message().size()),
                   "): ", ShortLine(untrusted, 80)));
}

std::string TextMember(const OrderedJson& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

const OrderedJson* ObjectMember(const OrderedJson& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_object() ? &*found : nullptr;
}

absl::optional<double> NumberMember(const OrderedJson& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end() || !found->is_number()) return absl::nullopt;
  const double number = found->get<double>();
  if (!std::isfinite(number) || number < 0) return absl::nullopt;
  return number;
}

absl::optional<uint64_t> CountMember(const OrderedJson& object, const char* name) {
  const absl::optional<double> number = NumberMember(object, name);
  if (!number || *number > kMaxCount) return absl::nullopt;
  return static_cast<uint64_t>(*number);
}

void TakeName(const OrderedJson& object, const char* name, std::string& to) {
  if (to.empty()) to = ShortLine(TextMember(object, name), kMaxNameBytes);
}

}  // namespace sassay::agent
