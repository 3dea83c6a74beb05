#include "agent/interop/flashinfer/golden.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/base/files.h"
#include "common/base/foreign/path_below.h"
#include "common/base/status_macros.h"
#include "common/workload/catalog.h"
#include "common/workload/safetensors.h"
#include "nlohmann/json.hpp"

namespace sassay::agent {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

// Of all files of one workload together: a sparse file is as large as it likes.
constexpr uint64_t kMostBytes = uint64_t{4} << 30;

// Reads each file once.
class TensorFiles {
 public:
  explicit TensorFiles(const fs::path& root) : root_(root) {}

  absl::StatusOr<StoredTensor> Find(const TensorSource& source) {
    ASSIGN_OR_RETURN(const fs::path path, PathBelow(root_, source.untrusted_path));
    auto [file, fresh] = files_.try_emplace(path.string());
    if (fresh) {
      ASSIGN_OR_RETURN(file->second.bytes, ReadUntrustedFile(path, bytes_left_));
      bytes_left_ -= file->second.bytes.size();
      ASSIGN_OR_RETURN(file->second.tensors, ParseSafetensors(file->second.bytes));
    }
    const auto tensor = file->second.tensors.find(source.tensor_key);
    if (tensor != file->second.tensors.end()) return tensor->second;
    return absl::NotFoundError(absl::StrCat("no tensor ", source.tensor_key, " in ", source.untrusted_path));
  }

 private:
  struct File {
    std::string bytes;
    std::map<std::string, StoredTensor> tensors;
  };
  const fs::path& root_;
  std::map<std::string, File> files_;
  uint64_t bytes_left_ = kMostBytes;
};

absl::Status CheckTensor(const v1::TensorSpec& spec, const StoredTensor& tensor) {
  const bool same = tensor.dtype == spec.dtype() &&
                    std::equal(tensor.shape.begin(), tensor.shape.end(), spec.shape().begin(), spec.shape().end());
  if (same) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("tensor ", spec.name(), " is stored with another type or shape than the definition's"));
}

absl::Status Collect(const google::protobuf::RepeatedPtrField<v1::TensorSpec>& specs,
                     const std::map<std::string, TensorSource>& sources, TensorFiles& files,
                     std::map<std::string, StoredTensor>& tensors) {
  for (const v1::TensorSpec& spec : specs) {
    const TensorSource& source = sources.at(spec.name());
    if (source.kind == TensorSource::Kind::kScalar) continue;
    ASSIGN_OR_RETURN(tensors[spec.name()], files.Find(source));
    RETURN_IF_ERROR(CheckTensor(spec, tensors[spec.name()]));
  }
  return absl::OkStatus();
}

std::string ShortUuid(const std::string& uuid) {
  std::string text;
  for (const char c : uuid)
    if (absl::ascii_isalnum(static_cast<unsigned char>(c)) && text.size() < 8) text += absl::ascii_tolower(c);
  return text;
}

// Golden tensors are for one set of axes, so these become constants.
void FixAxes(const WorkloadLine& line, Json& definition) {
  for (auto& [name, axis] : definition["axes"].items()) {
    const auto value = line.axes.find(name);
    if (value != line.axes.end()) axis = {{"type", "const"}, {"value", value->second}};
  }
}

Json SassaySection(const Definition& definition, const WorkloadLine& line, const std::string& file) {
  Json section = {{"reference", absl::StrCat("golden:", file)}};
  Json scalars = Json::object();
  for (const TensorDefinition& input : definition.inputs) {
    const TensorSource& source = line.inputs.at(input.name);
    if (source.kind == TensorSource::Kind::kScalar) scalars[input.name] = source.value;
  }
  if (!scalars.empty()) section["scalars"] = scalars;
  return section;
}

}  // namespace

bool HasAnswers(const Definition& definition, const WorkloadLine& line) {
  const auto stored = [](const std::map<std::string, TensorSource>& sources, const TensorDefinition& tensor) {
    const auto found = sources.find(tensor.name);
    if (found == sources.end()) return false;
    return found->second.kind == (tensor.scalar ? TensorSource::Kind::kScalar : TensorSource::Kind::kSafetensors);
  };
  return !definition.outputs.empty() &&
         std::all_of(definition.inputs.begin(), definition.inputs.end(),
                     [&](const TensorDefinition& tensor) { return stored(line.inputs, tensor); }) &&
         std::all_of(definition.outputs.begin(), definition.outputs.end(),
                     [&](const TensorDefinition& tensor) { return stored(line.outputs, tensor); });
}

absl::StatusOr<GoldenDefinition> MakeGolden(const fs::path& root, const Definition& definition,
                                            absl::string_view definition_json, const WorkloadLine& line) {
  ASSIGN_OR_RETURN(const v1::Workload workload, MakeWorkload(definition, line.axes));
  TensorFiles files(root);
  std::map<std::string, StoredTensor> tensors;
  RETURN_IF_ERROR(Collect(workload.inputs(), line.inputs, files, tensors));
  RETURN_IF_ERROR(Collect(workload.outputs(), line.outputs, files, tensors));
  GoldenDefinition golden;
  golden.name = absl::StrCat(definition.name, "_", ShortUuid(line.uuid));
  golden.tensors = SerializeSafetensors(tensors);
  Json json = Json::parse(definition_json.begin(), definition_json.end(), nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return absl::InvalidArgumentError("the definition is no JSON object");
  json["name"] = golden.name;
  FixAxes(line, json);
  json["sassay"] = SassaySection(definition, line, absl::StrCat(golden.name, ".safetensors"));
  golden.json = absl::StrCat(json.dump(2), "\n");
  RETURN_IF_ERROR(ParseDefinition(golden.json).status());
  return golden;
}

}  // namespace sassay::agent
