#include "agent/interop/flashinfer/workload_line.h"

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/workload/json_text.h"

namespace sassay::agent {
namespace {

using Json = OrderedJson;

constexpr uint64_t kMostBytes = uint64_t{1} << 20;
constexpr int64_t kMostExtent = int64_t{1} << 40;

absl::Status Bad(absl::string_view field, absl::string_view expected) {
  return absl::InvalidArgumentError(absl::StrCat(field, ": expected ", expected));
}

absl::StatusOr<std::string> Text(const Json& json, const char* name) {
  const auto found = json.find(name);
  if (found == json.end() || !found->is_string() || found->get_ref<const std::string&>().empty())
    return Bad(name, "a text that is not empty");
  return found->get<std::string>();
}

absl::StatusOr<std::map<std::string, int64_t>> Axes(const Json& workload) {
  const auto found = workload.find("axes");
  if (found == workload.end() || !found->is_object()) return Bad("workload.axes", "an object");
  std::map<std::string, int64_t> axes;
  for (const auto& [name, value] : found->items()) {
    if (!value.is_number_unsigned() || value.get<uint64_t>() > static_cast<uint64_t>(kMostExtent))
      return Bad(absl::StrCat("workload.axes.", name), "a whole number");
    axes[name] = value.get<int64_t>();
  }
  return axes;
}

absl::StatusOr<TensorSource> Source(const std::string& field, const Json& json) {
  if (!json.is_object()) return Bad(field, "an object");
  ASSIGN_OR_RETURN(const std::string type, Text(json, "type"));
  TensorSource source;
  if (type == "random") return source;
  if (type == "scalar") {
    const auto value = json.find("value");
    if (value == json.end() || !(value->is_number() || value->is_boolean()))
      return Bad(absl::StrCat(field, ".value"), "a number");
    source.kind = TensorSource::Kind::kScalar;
    source.value = value->is_boolean() ? static_cast<double>(value->get<bool>()) : value->get<double>();
    return source;
  }
  if (type != "safetensors") return Bad(absl::StrCat(field, ".type"), "random, scalar or safetensors");
  source.kind = TensorSource::Kind::kSafetensors;
  ASSIGN_OR_RETURN(source.untrusted_path, Text(json, "path"));
  ASSIGN_OR_RETURN(source.tensor_key, Text(json, "tensor_key"));
  return source;
}

absl::StatusOr<std::map<std::string, TensorSource>> Sources(const Json& workload, const char* name) {
  std::map<std::string, TensorSource> sources;
  const auto found = workload.find(name);
  if (found == workload.end() || found->is_null()) return sources;
  if (!found->is_object()) return Bad(absl::StrCat("workload.", name), "an object");
  for (const auto& [tensor, json] : found->items()) {
    ASSIGN_OR_RETURN(sources[tensor], Source(absl::StrCat("workload.", name, ".", tensor), json));
  }
  return sources;
}

}  // namespace

absl::StatusOr<WorkloadLine> ParseWorkloadLine(absl::string_view untrusted_line) {
  const absl::StatusOr<Json> parsed = ParseJsonObject(untrusted_line, kMostBytes);
  if (!parsed.ok())
    return absl::InvalidArgumentError(absl::StrCat("line: expected one JSON object: ", parsed.status().message()));
  const Json& json = *parsed;
  WorkloadLine line;
  ASSIGN_OR_RETURN(line.definition, Text(json, "definition"));
  const auto workload = json.find("workload");
  if (workload == json.end() || !workload->is_object()) return Bad("workload", "an object");
  ASSIGN_OR_RETURN(line.uuid, Text(*workload, "uuid"));
  ASSIGN_OR_RETURN(line.axes, Axes(*workload));
  ASSIGN_OR_RETURN(line.inputs, Sources(*workload, "inputs"));
  ASSIGN_OR_RETURN(line.outputs, Sources(*workload, "outputs"));
  return line;
}

}  // namespace sassay::agent
