#include "common/workload/catalog.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/base/files.h"
#include "common/base/sha256.h"
#include "common/base/status_macros.h"
#include "common/base/suggest.h"
#include "common/workload/builtin_definitions.h"
#include "common/workload/expression.h"
#include "common/workload/index_definition.h"

namespace sassay {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxNameBytes = 512;
constexpr size_t kMaxDefinitionFiles = 10000;
constexpr size_t kMaxNamesInMessage = 40;

std::string Example(const Definition& definition) {
  std::map<std::string, int64_t> axes;
  if (!definition.suggested_axes.empty()) axes = definition.suggested_axes.front();
  std::vector<std::string> parts;
  for (const AxisDefinition& axis : definition.axes) {
    if (axis.value.has_value()) continue;
    const auto value = axes.find(axis.name);
    parts.push_back(absl::StrCat(axis.name, "=", value == axes.end() ? 256 : value->second));
  }
  return parts.empty() ? definition.name : absl::StrCat(definition.name, "/", absl::StrJoin(parts, ","));
}

absl::Status BadAxis(const Definition& definition, absl::string_view axis, absl::string_view why) {
  return absl::InvalidArgumentError(
      absl::StrCat("workload ", definition.name, ": axis ", axis, " ", why, "; for example ", Example(definition)));
}

// Values of all axes, in name order. Checks that exactly the variable ones are given.
absl::StatusOr<std::map<std::string, int64_t>> AllAxes(const Definition& definition,
                                                       const std::map<std::string, int64_t>& variable_axes) {
  std::map<std::string, int64_t> axes;
  for (const AxisDefinition& axis : definition.axes) {
    const auto given = variable_axes.find(axis.name);
    if (axis.value.has_value()) {
      if (given != variable_axes.end())
        return BadAxis(definition, axis.name, absl::StrCat("is fixed at ", *axis.value));
      axes[axis.name] = *axis.value;
      continue;
    }
    if (given == variable_axes.end()) return BadAxis(definition, axis.name, "needs a value");
    if (given->second <= 0 || given->second > kMaxAxisValue) {
      return BadAxis(definition, axis.name, absl::StrCat("is ", given->second, ", expected 1 to ", kMaxAxisValue));
    }
    axes[axis.name] = given->second;
  }
  for (const auto& [name, value] : variable_axes) {
    if (axes.count(name) == 0) return BadAxis(definition, name, "does not exist");
  }
  return axes;
}

absl::StatusOr<v1::TensorSpec> MakeTensor(const Definition& definition, const TensorDefinition& tensor,
                                          const std::map<std::string, int64_t>& axes) {
  v1::TensorSpec spec;
  spec.set_name(tensor.name);
  spec.set_dtype(tensor.dtype);
  spec.set_scalar(tensor.scalar);
  uint64_t bytes = DTypeBytes(tensor.dtype);
  for (const std::string& extent : tensor.shape) {
    int64_t value = 0;
    if (const auto axis = axes.find(extent); axis != axes.end()) {
      value = axis->second;
    } else if (!absl::SimpleAtoi(extent, &value) || value <= 0) {
      return absl::InternalError(absl::StrCat("extent ", extent, " was not checked when the definition was read"));
    }
    if (__builtin_mul_overflow(bytes, static_cast<uint64_t>(value), &bytes) || bytes > kMaxTensorBytes) {
      return absl::InvalidArgumentError(absl::StrCat("workload ", definition.name, ": tensor ", tensor.name,
                                                     " would be larger than ", kMaxTensorBytes, " bytes (1 TiB)"));
    }
    spec.add_shape(value);
  }
  return spec;
}

std::string WorkloadText(const Definition& definition, const std::map<std::string, int64_t>& axes) {
  std::vector<std::string> parts;
  for (const AxisDefinition& axis : definition.axes) {
    if (!axis.value.has_value()) parts.push_back(absl::StrCat(axis.name, "=", axes.at(axis.name)));
  }
  return parts.empty() ? definition.name : absl::StrCat(definition.name, "/", absl::StrJoin(parts, ","));
}

}  // namespace

absl::StatusOr<WorkloadName> ParseWorkloadName(absl::string_view untrusted) {
  if (untrusted.size() > kMaxNameBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("workload name of ", untrusted.size(), " bytes, at most ", kMaxNameBytes, " are allowed"));
  }
  const std::pair<absl::string_view, absl::string_view> parts = absl::StrSplit(untrusted, absl::MaxSplits('/', 1));
  WorkloadName name;
  name.definition = std::string(parts.first);
  if (name.definition.empty())
    return absl::InvalidArgumentError("workload: expected DEFINITION/AXIS=VALUE,…, got nothing");
  if (parts.first.size() == untrusted.size()) return name;
  for (const absl::string_view item : absl::StrSplit(parts.second, ',')) {
    const std::pair<absl::string_view, absl::string_view> axis = absl::StrSplit(item, absl::MaxSplits('=', 1));
    int64_t value = 0;
    const bool digits = !axis.second.empty() && axis.second.find_first_not_of("0123456789") == absl::string_view::npos;
    if (axis.first.empty() || !digits || !absl::SimpleAtoi(axis.second, &value) || value <= 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("workload ", untrusted, ": expected AXIS=VALUE with a positive whole number, got '", item, "'"));
    }
    if (!name.axes.emplace(axis.first, value).second) {
      return absl::InvalidArgumentError(absl::StrCat("workload ", untrusted, ": axis ", axis.first, " is given twice"));
    }
  }
  return name;
}

absl::StatusOr<v1::Workload> MakeWorkload(const Definition& definition,
                                          const std::map<std::string, int64_t>& variable_axes) {
  ASSIGN_OR_RETURN(const auto axes, AllAxes(definition, variable_axes));
  v1::Workload workload;
  workload.set_name(WorkloadText(definition, axes));
  if (const absl::Status status = CheckIndexAxes(definition, axes); !status.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("workload ", workload.name(), ": ", status.message(), "; for example ", Example(definition)));
  }
  workload.set_definition(definition.name);
  workload.set_definition_sha256(definition.sha256);
  workload.set_description(definition.description);
  workload.mutable_axes()->insert(axes.begin(), axes.end());
  for (const AxisDefinition& axis : definition.axes) {
    if (!axis.value.has_value()) workload.add_variable_axes(axis.name);
  }
  uint64_t bytes = 0;
  for (const TensorDefinition& tensor : definition.inputs) {
    ASSIGN_OR_RETURN(*workload.add_inputs(), MakeTensor(definition, tensor, axes));
    if (tensor.scalar) RETURN_IF_ERROR(ScalarValue(definition, *workload.inputs().rbegin(), axes).status());
    bytes += TensorBytes(*workload.inputs().rbegin());
  }
  for (const TensorDefinition& tensor : definition.outputs) {
    ASSIGN_OR_RETURN(*workload.add_outputs(), MakeTensor(definition, tensor, axes));
    bytes += TensorBytes(*workload.outputs().rbegin());
  }
  workload.set_minimum_bytes(bytes);
  if (!definition.minimum_bytes.empty()) {
    ASSIGN_OR_RETURN(const double least, EvaluateExpression(definition.minimum_bytes, axes));
    workload.set_minimum_bytes(static_cast<uint64_t>(std::clamp(least, 0.0, static_cast<double>(bytes))));
  }
  if (!definition.flop.empty()) {
    ASSIGN_OR_RETURN(const double flop, EvaluateExpression(definition.flop, axes));
    workload.set_flop(flop);
  }
  workload.set_reference(definition.reference);
  workload.set_baseline(definition.baseline);
  workload.set_definition_json(definition.canonical_json);
  for (const auto& suggestion : definition.suggested_axes) {
    workload.add_suggested_workloads(WorkloadText(definition, suggestion));
  }
  return workload;
}

const WorkloadCatalog& WorkloadCatalog::BuiltIn() {
  static const WorkloadCatalog& catalog = *[] {
    auto loaded = Load({});
    // Definitions compiled in are checked by catalog_test; a broken one is our own bug.
    return new WorkloadCatalog(*std::move(loaded));
  }();
  return catalog;
}

absl::StatusOr<WorkloadCatalog> WorkloadCatalog::Load(absl::Span<const fs::path> directories) {
  WorkloadCatalog catalog;
  for (const absl::string_view json : BuiltInDefinitionJson()) RETURN_IF_ERROR(catalog.Add(json, {}));
  for (const fs::path& directory : directories) RETURN_IF_ERROR(catalog.LoadDirectory(directory));
  return catalog;
}

absl::Status WorkloadCatalog::LoadDirectory(const fs::path& directory) {
  std::error_code error;
  if (!fs::is_directory(directory, error)) {
    return absl::NotFoundError(
        absl::StrCat("there is no folder ", directory.string(), "; expected one with workload definitions (*.json)."));
  }
  std::vector<fs::path> files;
  for (auto entry = fs::recursive_directory_iterator(directory, error); entry != fs::end(entry) && !error;
       entry.increment(error)) {
    if (entry->path().extension() == ".json" && entry->is_regular_file(error)) files.push_back(entry->path());
    if (files.size() > kMaxDefinitionFiles) {
      return absl::ResourceExhaustedError(
          absl::StrCat("workload directory ", directory.string(), " has more than ", kMaxDefinitionFiles, " files"));
    }
  }
  if (error) return absl::InternalError(absl::StrCat("reading ", directory.string(), ": ", error.message()));
  std::sort(files.begin(), files.end());
  for (const fs::path& file : files) {
    ASSIGN_OR_RETURN(const std::string json, ReadFile(file, 1 << 20));
    if (const absl::Status status = Add(json, file.parent_path()); !status.ok()) {
      return absl::Status(status.code(), absl::StrCat(file.string(), ": ", status.message()));
    }
  }
  return absl::OkStatus();
}

absl::Status WorkloadCatalog::Add(absl::string_view json, const fs::path& directory) {
  ASSIGN_OR_RETURN(Definition definition, ParseDefinition(json));
  if (definition.reference_kind == ReferenceKind::kGolden) {
    const fs::path golden = directory / definition.reference_name;
    ASSIGN_OR_RETURN(const std::string content, ReadFile(golden, uint64_t{4} << 30));
    definition.sha256 = Sha256(absl::StrCat(definition.sha256, Sha256(content)));
  }
  const std::string name = definition.name;
  if (!definitions_.emplace(name, std::move(definition)).second) {
    return absl::AlreadyExistsError(absl::StrCat("a definition named ", name, " exists already"));
  }
  directories_.emplace(name, directory);
  return absl::OkStatus();
}

const Definition* WorkloadCatalog::FindDefinition(absl::string_view name) const {
  const auto found = definitions_.find(std::string(name));
  return found == definitions_.end() ? nullptr : &found->second;
}

fs::path WorkloadCatalog::GoldenPath(const Definition& definition) const {
  const auto directory = directories_.find(definition.name);
  if (definition.reference_kind != ReferenceKind::kGolden || directory == directories_.end()) return {};
  return directory->second / definition.reference_name;
}

absl::Status WorkloadCatalog::UnknownDefinition(absl::string_view name) const {
  std::vector<std::string> names;
  for (const auto& [known, definition] : definitions_) names.push_back(known);
  std::string near;
  if (!names.empty() && name.size() <= 128) {
    near = *std::min_element(names.begin(), names.end(), [&](const std::string& a, const std::string& b) {
      return EditDistance(name, a) < EditDistance(name, b);
    });
    if (EditDistance(name, near) > std::max<size_t>(3, name.size() / 3)) near.clear();
  }
  const size_t more = names.size() - std::min(names.size(), kMaxNamesInMessage);
  names.resize(names.size() - more);
  return absl::NotFoundError(absl::StrCat("no workload definition is called \"", name.substr(0, 128), "\".",
                                          near.empty() ? "" : absl::StrCat(" Did you mean \"", near, "\"?"),
                                          " There are: ", absl::StrJoin(names, ", "),
                                          more > 0 ? absl::StrCat(" and ", more, " more.") : "."));
}

absl::StatusOr<v1::Workload> WorkloadCatalog::Resolve(absl::string_view untrusted_name) const {
  ASSIGN_OR_RETURN(const WorkloadName name, ParseWorkloadName(untrusted_name));
  const Definition* definition = FindDefinition(name.definition);
  if (definition == nullptr) return UnknownDefinition(name.definition);
  return MakeWorkload(*definition, name.axes);
}

std::vector<v1::Workload> WorkloadCatalog::List() const {
  std::vector<v1::Workload> workloads;
  for (const auto& [name, definition] : definitions_) {
    std::vector<std::map<std::string, int64_t>> suggestions = definition.suggested_axes;
    if (suggestions.empty()) suggestions.emplace_back();
    for (const auto& axes : suggestions) {
      if (auto workload = MakeWorkload(definition, axes); workload.ok()) workloads.push_back(*std::move(workload));
    }
  }
  return workloads;
}

absl::optional<v1::Workload> SanitizeShape(const Definition& definition, const v1::Workload& workload) {
  std::map<std::string, int64_t> axes;
  for (const std::string& axis : workload.variable_axes()) axes[axis] = workload.axes().at(axis);
  for (const auto& [axis, value] : definition.sanitize_axes) axes[axis] = value;
  auto shape = MakeWorkload(definition, axes);
  if (!shape.ok() || shape->name() == workload.name()) return absl::nullopt;
  return *std::move(shape);
}

}  // namespace sassay
