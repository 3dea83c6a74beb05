#include "agent/interop/flashinfer/trace_export.h"

#include <cmath>
#include <map>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "common/base/files.h"
#include "common/base/proto_json.h"
#include "common/base/sha256.h"
#include "common/base/status_macros.h"
#include "common/base/utf8.h"
#include "nlohmann/json.hpp"

namespace sassay::agent {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

// A name of ours for a folder or file, whatever a model is called.
std::string PathWord(absl::string_view text) {
  std::string word;
  for (const char c : text.substr(0, 120)) {
    const bool plain = absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_' || c == '.';
    word += plain ? c : '_';
  }
  return word.empty() || word[0] == '.' ? absl::StrCat("_", word) : word;
}

// Shaped as a UUID and made of what it stands for, so that the same workload has the same one everywhere.
std::string UuidOf(const v1::Workload& workload) {
  const std::string hex = Sha256Hex(absl::StrCat(workload.name(), "\n", Sha256Hex(workload.definition_json())));
  return absl::StrCat(hex.substr(0, 8), "-", hex.substr(8, 4), "-8", hex.substr(13, 3), "-a", hex.substr(17, 3), "-",
                      hex.substr(20, 12));
}

std::string Dump(const Json& json, int indent = -1) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

Json WorkloadJson(const v1::Workload& workload) {
  Json axes = Json::object();
  for (const std::string& axis : workload.variable_axes()) axes[axis] = workload.axes().at(axis);
  Json inputs = Json::object();
  for (const v1::TensorSpec& input : workload.inputs()) {
    inputs[input.name()] = {{"type", input.scalar() ? "scalar" : "random"}};
    if (input.scalar()) inputs[input.name()]["value"] = ScalarValue(workload, input).value_or(1);
  }
  return {{"uuid", UuidOf(workload)}, {"axes", axes}, {"inputs", inputs}};
}

const char* StatusWord(v1::VerdictStatus status) {
  switch (status) {
    case v1::VERDICT_STATUS_CORRECT:
      return "PASSED";
    case v1::VERDICT_STATUS_COMPILE_ERROR:
      return "COMPILE_ERROR";
    case v1::VERDICT_STATUS_TIMEOUT:
      return "TIMEOUT";
    case v1::VERDICT_STATUS_INCORRECT_NUMERICAL:
      return "INCORRECT_NUMERICAL";
    default:
      return "RUNTIME_ERROR";
  }
}

// JSON has no NaN; the schema takes the word.
Json Number(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  return value;
}

// What is not known of one output is not known of all.
double Worse(double a, double b) { return std::isnan(a) || std::isnan(b) ? std::nan("") : std::max(a, b); }

Json CorrectnessJson(const v1::Numerics& numerics) {
  double absolute = numerics.outputs().empty() ? std::nan("") : 0, relative = absolute;
  Json outputs = Json::object();
  for (const v1::OutputComparison& output : numerics.outputs()) {
    absolute = Worse(absolute, output.max_abs_error());
    relative = Worse(relative, output.has_max_relative_error() ? output.max_relative_error() : std::nan(""));
    outputs[output.output()] = {{"wrong", output.wrong()},
                                {"elements", output.elements()},
                                {"relative_rms_error", Number(output.relative_rms_error())},
                                {"allowed_relative_rms_error", Number(output.allowed_relative_rms_error())}};
  }
  return {{"max_relative_error", Number(relative)},
          {"max_absolute_error", Number(absolute)},
          {"extra", {{"outputs", outputs}}}};
}

Json PerformanceJson(const v1::Timing& timing) {
  return {{"latency_ms", timing.candidate().median_ns() / 1e6},
          {"reference_latency_ms", timing.baseline().median_ns() / 1e6},
          {"speedup_factor", timing.speedup()}};
}

Json EnvironmentJson(const v1::Versions& versions) {
  std::map<std::string, std::string> libraries(versions.libraries().begin(), versions.libraries().end());
  libraries["sassay"] = versions.sassay();
  libraries["sassay_rules"] = versions.rules();
  libraries["cuda"] = versions.toolkit();
  if (!versions.driver().empty()) libraries["driver"] = versions.driver();
  return {{"hardware", versions.device().empty() ? "none" : versions.device()}, {"libs", libraries}};
}

std::string LogText(const v1::Verdict& verdict) {
  std::string text = absl::StrCat("sassay: ", EnumName(verdict.status()), " ", EnumName(verdict.code()), ", ",
                                  verdict.scorable() ? "scorable" : "not scorable");
  if (!verdict.reason().empty()) absl::StrAppend(&text, ": ", verdict.reason());
  return ToUtf8(text);
}

Json EvaluationJson(const v1::Verdict& verdict) {
  const absl::Time at = absl::FromUnixSeconds(verdict.decided_at().seconds());
  Json json = {{"status", StatusWord(verdict.status())},
               {"environment", EnvironmentJson(verdict.versions())},
               {"timestamp", absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", at, absl::UTCTimeZone())},
               {"log", LogText(verdict)}};
  const bool passed = verdict.status() == v1::VERDICT_STATUS_CORRECT;
  if (passed || verdict.status() == v1::VERDICT_STATUS_INCORRECT_NUMERICAL)
    json["correctness"] = CorrectnessJson(verdict.numerics());
  if (passed) json["performance"] = PerformanceJson(verdict.timing());
  return json;
}

bool IsNobodysFault(const v1::Verdict& verdict) {
  return verdict.has_excluded() || verdict.status() == v1::VERDICT_STATUS_INFRA_ERROR ||
         verdict.status() == v1::VERDICT_STATUS_CANCELLED || verdict.status() == v1::VERDICT_STATUS_UNSPECIFIED;
}

bool HasTime(const v1::Timing& timing) {
  const double candidate_ns = timing.candidate().median_ns(), baseline_ns = timing.baseline().median_ns();
  return (timing.status() == v1::Timing::MEASURED || timing.status() == v1::Timing::PROVISIONAL) && candidate_ns > 0 &&
         baseline_ns >= 0 && timing.speedup() >= 0 && std::isfinite(candidate_ns + baseline_ns + timing.speedup());
}

Json SolutionJson(const std::string& name, const Run& run, const v1::Workload& workload, const std::string& source) {
  const bool triton = run.manifest.language() == "triton";
  const std::string file = triton ? "kernel.py" : "kernel.cu";
  Json spec = {{"language", triton ? "triton" : "cuda"},
               {"target_hardware", {run.manifest.arch()}},
               {"entry_point", absl::StrCat(file, "::run")},
               {"dependencies", Json::array()},
               {"destination_passing_style", true}};
  const bool tvm_ffi = absl::StrContains(source, "TVM_FFI_DLL_EXPORT_TYPED_FUNC");
  if (tvm_ffi) spec["binding"] = "tvm-ffi";
  Json json = {{"name", name},
               {"definition", workload.definition()},
               {"author", run.manifest.model()},
               {"spec", spec},
               {"sources", {{{"path", file}, {"content", source}}}}};
  if (!triton && !tvm_ffi)
    json["description"] = "Sassay's C entry point: tensors as pointers, then variable axes, then the stream.";
  return json;
}

// Collects a data set in memory, then writes it.
class TraceSet {
 public:
  explicit TraceSet(const WorkloadCatalog& catalog) : catalog_(catalog) {}

  absl::Status Add(const Run& run) {
    if (!runs_.insert(run.manifest.run_id()).second) return absl::OkStatus();
    for (const Trajectory& trajectory : run.trajectories)
      for (const Turn& turn : trajectory.turns) RETURN_IF_ERROR(AddTurn(run, trajectory, turn));
    return absl::OkStatus();
  }

  absl::StatusOr<v1::TraceExportReport> Write(const fs::path& output) {
    for (const auto& [path, content] : files_) {
      std::error_code error;
      fs::create_directories((output / path).parent_path(), error);
      if (error) return absl::UnavailableError(absl::StrCat((output / path).string(), ": ", error.message()));
      RETURN_IF_ERROR(WriteFileAtomically(output / path, content));
    }
    report_.set_path(output.string());
    return report_;
  }

 private:
  absl::Status AddTurn(const Run& run, const Trajectory& trajectory, const Turn& turn) {
    if (!turn.judged.has_value()) return absl::OkStatus();
    const v1::Verdict& verdict = turn.judged->verdict();
    if (IsNobodysFault(verdict)) return report_.set_turns_left_out(report_.turns_left_out() + 1), absl::OkStatus();
    ASSIGN_OR_RETURN(const v1::Workload workload, Resolve(trajectory.began.workload()));
    ASSIGN_OR_RETURN(const std::string source, ReadSource(run.folder, trajectory, turn));
    const fs::path folder =
        fs::path(PathWord(run.manifest.model())) / OpType(workload) / PathWord(workload.definition());
    const std::string name = AddSolution(run, workload, source, folder);
    if (verdict.status() == v1::VERDICT_STATUS_CORRECT && !HasTime(verdict.timing()))
      return report_.set_turns_without_time(report_.turns_without_time() + 1), absl::OkStatus();
    const Json trace = {{"definition", workload.definition()},
                        {"workload", WorkloadJson(workload)},
                        {"solution", name},
                        {"evaluation", EvaluationJson(verdict)}};
    absl::StrAppend(&files_[fs::path("traces") / (folder.string() + ".jsonl")], Dump(trace), "\n");
    report_.set_traces(report_.traces() + 1);
    return absl::OkStatus();
  }

  absl::StatusOr<v1::Workload> Resolve(const std::string& name) {
    absl::StatusOr<v1::Workload> workload = catalog_.Resolve(name);
    if (!workload.ok())
      return absl::FailedPreconditionError(absl::StrCat("the run's workload ", name, " is not known here (",
                                                        workload.status().message(),
                                                        "); name its folder with --definitions"));
    const fs::path below = fs::path(OpType(*workload)) / PathWord(workload->definition());
    files_.try_emplace(fs::path("definitions") / (below.string() + ".json"), workload->definition_json() + "\n");
    if (workloads_.insert(workload->name()).second) {
      const Json line = {{"definition", workload->definition()}, {"workload", WorkloadJson(*workload)}};
      absl::StrAppend(&files_[fs::path("workloads") / (below.string() + ".jsonl")], Dump(line), "\n");
    }
    return workload;
  }

  std::string OpType(const v1::Workload& workload) const {
    const Definition* definition = catalog_.FindDefinition(workload.definition());
    return PathWord(definition == nullptr || definition->op_type.empty() ? "other" : definition->op_type);
  }

  // By content: the same source is the same solution.
  std::string AddSolution(const Run& run, const v1::Workload& workload, const std::string& source,
                          const fs::path& folder) {
    const std::string name =
        absl::StrCat(PathWord(run.manifest.model()), "_", workload.definition(), "_", Sha256Hex(source).substr(0, 12));
    const auto [file, fresh] = files_.try_emplace(fs::path("solutions") / folder / (PathWord(name) + ".json"));
    if (fresh) {
      file->second = absl::StrCat(Dump(SolutionJson(name, run, workload, source), 2), "\n");
      report_.set_solutions(report_.solutions() + 1);
    }
    return name;
  }

  const WorkloadCatalog& catalog_;
  std::map<fs::path, std::string> files_;
  std::set<std::string> runs_;
  std::set<std::string> workloads_;
  v1::TraceExportReport report_;
};

}  // namespace

absl::StatusOr<v1::TraceExportReport> ExportFlashInferTrace(absl::Span<const Run> runs, const WorkloadCatalog& catalog,
                                                            const fs::path& output) {
  std::map<std::string, const Run*> ordered;
  for (const Run& run : runs) ordered.emplace(run.manifest.run_id(), &run);
  TraceSet set(catalog);
  for (const auto& [id, run] : ordered) RETURN_IF_ERROR(set.Add(*run));
  return set.Write(output);
}

}  // namespace sassay::agent
