#include "agent/batch/item.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/json_depth.h"
#include "common/base/status_macros.h"
#include "common/base/suggest.h"
#include "nlohmann/json.hpp"

namespace sassay::agent {
namespace {

using Json = nlohmann::json;

constexpr size_t kMaxIdBytes = 256;
const std::vector<std::string>& Names() {
  static const std::vector<std::string> names = {"id",    "workload", "source", "answer",  "path",
                                                 "paths", "bundle",   "cancel", "language"};
  return names;
}

absl::Status Wrong(absl::string_view name, absl::string_view expected, const Json& came) {
  return absl::InvalidArgumentError(
      absl::StrCat("\"", name, "\" must be ", expected, ", not ", came.is_null() ? "null" : came.type_name(), "."));
}

absl::Status TakeId(const Json& value, std::string& id) {
  if (value.is_number_integer()) {
    id = value.dump();
    return absl::OkStatus();
  }
  if (!value.is_string()) return Wrong("id", "a text or a whole number", value);
  const std::string& text = value.get_ref<const std::string&>();
  if (text.empty() || text.size() > kMaxIdBytes)
    return absl::InvalidArgumentError(absl::StrCat("\"id\" must have 1 to ", kMaxIdBytes, " bytes."));
  id = text;
  return absl::OkStatus();
}

absl::Status TakeText(const Json& object, const char* name, std::string& text) {
  const auto found = object.find(name);
  if (found == object.end()) return absl::OkStatus();
  if (!found->is_string()) return Wrong(name, "a text", *found);
  text = found->get<std::string>();
  if (!text.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("\"", name, "\" is empty."));
}

void Add(std::string path, std::string content, BatchItem& item) {
  v1::SourceFile& file = item.sources.emplace_back();
  file.set_path(std::move(path));
  file.set_content(std::move(content));
}

absl::Status TakeSource(const Json& object, BatchItem& item) {
  const auto found = object.find("source");
  std::string language = "cuda";
  RETURN_IF_ERROR(TakeText(object, "language", language));
  if (language != "cuda" && language != "triton")
    return absl::InvalidArgumentError(absl::StrCat("\"language\" must be cuda or triton, not \"", language, "\"."));
  item.triton = language == "triton";
  if (const auto answer = object.find("answer"); answer != object.end()) {
    if (!answer->is_string()) return Wrong("answer", "a text", *answer);
    item.answer = answer->get<std::string>();
  }
  if (found == object.end()) return absl::OkStatus();
  if (found->is_string()) {
    Add(language == "triton" ? "kernel.py" : "kernel.cu", found->get<std::string>(), item);
    return absl::OkStatus();
  }
  if (!found->is_object() || found->empty()) return Wrong("source", "a text, or an object of path and text", *found);
  for (const auto& [path, content] : found->items()) {
    if (!content.is_string()) return Wrong(absl::StrCat("source/", path), "a text", content);
    Add(path, content.get<std::string>(), item);
  }
  return absl::OkStatus();
}

absl::Status TakePaths(const Json& object, BatchItem& item) {
  std::string path;
  RETURN_IF_ERROR(TakeText(object, "path", path));
  if (!path.empty()) item.paths.push_back(path);
  const auto found = object.find("paths");
  if (found == object.end()) return absl::OkStatus();
  if (!found->is_array() || found->empty()) return Wrong("paths", "a list of texts", *found);
  for (const Json& each : *found) {
    if (!each.is_string()) return Wrong("paths", "a list of texts", each);
    item.paths.push_back(each.get<std::string>());
  }
  return absl::OkStatus();
}

absl::Status CheckNames(const Json& object) {
  for (const auto& [name, value] : object.items()) {
    const std::vector<std::string>& names = Names();
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    return absl::InvalidArgumentError(absl::StrCat("there is no member \"", name, "\"; there are ",
                                                   absl::StrJoin(names, ", "), ".", DidYouMean(name, names)));
  }
  return absl::OkStatus();
}

absl::Status CheckOne(const Json& object) {
  int given = 0;
  for (const char* name : {"source", "answer", "path", "paths", "bundle", "cancel"}) given += object.contains(name);
  if (given == 1) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "an item has exactly one of source, answer, path, paths, bundle and cancel; this one has ", given, "."));
}

}  // namespace

absl::Status ParseBatchItem(absl::string_view untrusted_line, uint64_t line, BatchItem& item) {
  item.line = line;
  item.id = absl::StrCat(line);
  const auto no_json = [](absl::string_view why) {
    return absl::InvalidArgumentError(
        absl::StrCat("the line is ", why,
                     "; expected for example {\"id\": \"a\", \"workload\": \"gemm_n256_k256/M=64\", \"path\": "
                     "\"kernel.cu\"}."));
  };
  if (JsonIsTooDeep(untrusted_line)) return no_json("nested too deeply");
  const Json object = Json::parse(untrusted_line.begin(), untrusted_line.end(), nullptr, /*allow_exceptions=*/false);
  if (!object.is_object()) return no_json(object.is_discarded() ? "no JSON" : "no JSON object");
  if (const auto id = object.find("id"); id != object.end()) RETURN_IF_ERROR(TakeId(*id, item.id));
  RETURN_IF_ERROR(CheckNames(object));
  RETURN_IF_ERROR(CheckOne(object));
  RETURN_IF_ERROR(TakeText(object, "workload", item.workload));
  RETURN_IF_ERROR(TakeText(object, "bundle", item.bundle));
  if (const auto cancel = object.find("cancel"); cancel != object.end()) return TakeId(*cancel, item.cancel);
  RETURN_IF_ERROR(TakePaths(object, item));
  return TakeSource(object, item);
}

}  // namespace sassay::agent
