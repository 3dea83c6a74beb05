#include "agent/interop/flashinfer/import.h"

#include <algorithm>
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "agent/interop/flashinfer/golden.h"
#include "agent/interop/flashinfer/workload_line.h"
#include "common/base/files.h"
#include "common/base/status_macros.h"
#include "common/workload/catalog.h"
#include "common/workload/json_text.h"

namespace sassay::agent {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMostBytes = uint64_t{64} << 20;

std::vector<fs::path> FilesBelow(const fs::path& folder, const char* extension) {
  std::vector<fs::path> files;
  std::error_code error;
  for (auto entry = fs::recursive_directory_iterator(folder, error); entry != fs::recursive_directory_iterator();
       entry.increment(error)) {
    if (error) break;
    if (entry->is_regular_file(error) && entry->path().extension() == extension) files.push_back(entry->path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

// What decides whether a candidate for one can be judged by the other.
bool SameInterface(const Definition& a, const Definition& b) {
  const auto interface = [](const Definition& definition) {
    std::string text;
    for (const AxisDefinition& axis : definition.axes)
      absl::StrAppend(&text, axis.name, axis.value.has_value() ? absl::StrCat("=", *axis.value) : "", ";");
    for (const auto* tensors : {&definition.inputs, &definition.outputs}) {
      for (const TensorDefinition& tensor : *tensors)
        absl::StrAppend(&text, tensor.name, ":", DTypeName(tensor.dtype), absl::StrJoin(tensor.shape, ","), ";");
      text += '|';
    }
    return text;
  };
  return interface(a) == interface(b);
}

// One definition of the data set with what the data set says about it.
struct Imported {
  fs::path path;
  std::string json;
  Definition definition;
  v1::ImportedDefinition report;
};

class Import {
 public:
  Import(const fs::path& root, const fs::path& output) : root_(root), output_(output) {}

  absl::StatusOr<v1::ImportReport> Run() {
    std::error_code error;
    if (!fs::is_directory(root_ / "definitions", error))
      return absl::NotFoundError(
          absl::StrCat(root_.string(), " is no FlashInfer-Trace data set: it has no folder definitions/."));
    // Also where nothing needs to be kept: the next command may name it.
    fs::create_directories(output_, error);
    if (error) return absl::UnavailableError(absl::StrCat(output_.string(), ": ", error.message(), "."));
    for (const fs::path& path : FilesBelow(root_ / "definitions", ".json")) RETURN_IF_ERROR(ReadDefinition(path));
    for (const fs::path& path : FilesBelow(root_ / "workloads", ".jsonl")) RETURN_IF_ERROR(ReadWorkloads(path));
    for (const fs::path& path : FilesBelow(root_ / "solutions", ".json")) ReadSolution(path);
    for (auto& [name, imported] : definitions_) *report_.add_definitions() = std::move(imported.report);
    return std::move(report_);
  }

 private:
  void Refuse(const fs::path& path, absl::string_view why) {
    v1::ImportRefusal* refusal = report_.add_refused();
    refusal->set_path(path.lexically_relative(root_).string());
    refusal->set_reason(std::string(why));
  }

  absl::Status ReadDefinition(const fs::path& path) {
    const absl::StatusOr<std::string> json = ReadUntrustedFile(path, kMostBytes);
    absl::StatusOr<Definition> definition = json.ok() ? ParseDefinition(*json) : json.status();
    if (!definition.ok()) return Refuse(path, definition.status().message()), absl::OkStatus();
    if (definitions_.count(definition->name) > 0)
      return Refuse(path, absl::StrCat("a second definition named ", definition->name)), absl::OkStatus();
    Imported imported = {path, *json, *std::move(definition), {}};
    imported.report.set_name(imported.definition.name);
    const Definition* shipped = WorkloadCatalog::BuiltIn().FindDefinition(imported.definition.name);
    if (shipped != nullptr && !SameInterface(*shipped, imported.definition))
      return Refuse(path, absl::StrCat("differs from the definition of that name that ships here; rename it")),
             absl::OkStatus();
    RETURN_IF_ERROR(Keep(shipped, imported));
    const std::string name = imported.definition.name;
    definitions_.emplace(name, std::move(imported));
    return absl::OkStatus();
  }

  absl::Status Keep(const Definition* shipped, Imported& imported) {
    if (shipped != nullptr) {
      imported.report.set_judged_by(shipped->reference);
      imported.definition = *shipped;
      return absl::OkStatus();
    }
    imported.report.set_judged_by(imported.definition.reference);
    const fs::path path = output_ / imported.definition.op_type / absl::StrCat(imported.definition.name, ".json");
    imported.report.set_path(path.string());
    return Write(path, imported.json);
  }

  absl::Status Write(const fs::path& path, absl::string_view content) {
    std::error_code error;
    fs::create_directories(path.parent_path(), error);
    if (error) return absl::UnavailableError(absl::StrCat(path.parent_path().string(), ": ", error.message()));
    return WriteFileAtomically(path, content);
  }

  absl::Status ReadWorkloads(const fs::path& path) {
    const absl::StatusOr<std::string> text = ReadUntrustedFile(path, kMostBytes);
    if (!text.ok()) return Refuse(path, text.status().message()), absl::OkStatus();
    uint64_t number = 0;
    for (const absl::string_view line : absl::StrSplit(*text, '\n')) {
      ++number;
      if (line.find_first_not_of(" \t\r") == absl::string_view::npos) continue;
      const absl::Status status = ReadWorkload(line);
      if (absl::IsUnavailable(status)) return status;
      if (!status.ok()) Refuse(path, absl::StrCat("line ", number, ": ", status.message()));
    }
    return absl::OkStatus();
  }

  absl::Status ReadWorkload(absl::string_view untrusted_line) {
    ASSIGN_OR_RETURN(const WorkloadLine line, ParseWorkloadLine(untrusted_line));
    const auto found = definitions_.find(line.definition);
    if (found == definitions_.end())
      return absl::NotFoundError(absl::StrCat("no definition ", line.definition, " in the data set"));
    Imported& imported = found->second;
    ASSIGN_OR_RETURN(const v1::Workload workload, MakeWorkload(imported.definition, line.axes));
    if (names_.insert(workload.name()).second) imported.report.add_workloads(workload.name());
    if (!imported.report.judged_by().empty() || !HasAnswers(imported.definition, line)) return absl::OkStatus();
    return AddGolden(imported, line);
  }

  absl::Status AddGolden(Imported& imported, const WorkloadLine& line) {
    ASSIGN_OR_RETURN(const GoldenDefinition golden, MakeGolden(root_, imported.definition, imported.json, line));
    if (definitions_.count(golden.name) > 0 || !golden_names_.insert(golden.name).second)
      return absl::AlreadyExistsError(absl::StrCat("a second definition would be called ", golden.name));
    const fs::path folder = output_ / imported.definition.op_type;
    RETURN_IF_ERROR(Write(folder / absl::StrCat(golden.name, ".safetensors"), golden.tensors));
    RETURN_IF_ERROR(Write(folder / absl::StrCat(golden.name, ".json"), golden.json));
    imported.report.add_golden(golden.name);
    return absl::OkStatus();
  }

  void ReadSolution(const fs::path& path) {
    const absl::StatusOr<std::string> text = ReadUntrustedFile(path, kMostBytes);
    const absl::StatusOr<OrderedJson> json = text.ok() ? ParseJsonObject(*text, kMostBytes) : text.status();
    if (!json.ok()) return Refuse(path, json.status().message());
    const auto text_of = [](const OrderedJson& object, const char* name) {
      const bool there = object.is_object() && object.contains(name) && object[name].is_string();
      return there ? object[name].get<std::string>() : std::string();
    };
    const std::string definition = text_of(*json, "definition");
    if (definition.empty()) return Refuse(path, "is no solution: it names no definition");
    v1::ImportedSolution* solution = report_.add_solutions();
    solution->set_path(path.string());
    solution->set_definition(definition);
    if (json->contains("spec")) solution->set_language(text_of((*json)["spec"], "language"));
  }

  const fs::path& root_;
  const fs::path& output_;
  std::map<std::string, Imported> definitions_;
  std::set<std::string> names_;
  std::set<std::string> golden_names_;
  v1::ImportReport report_;
};

}  // namespace

absl::StatusOr<v1::ImportReport> ImportFlashInferTrace(const fs::path& root, const fs::path& output) {
  return Import(root, output).Run();
}

}  // namespace sassay::agent
