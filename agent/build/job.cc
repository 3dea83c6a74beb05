#include "agent/build/job.h"

#include "absl/strings/str_cat.h"
#include "agent/build/compile_result.h"
#include "agent/build/local_builder.h"
#include "agent/compile/sources.h"
#include "agent/submit/rpc_error.h"
#include "common/base/status_macros.h"
#include "common/workload/catalog.h"
#include "common/workload/definition.h"

namespace sassay::agent {
namespace {

std::map<std::string, std::string> Flags(const v1::BuildSettings& settings) {
  std::map<std::string, std::string> flags;
  for (const auto& [key, value] : {std::pair("arch", settings.arch()), std::pair("abi", settings.abi()),
                                   std::pair("profile", settings.profile()), std::pair("device", settings.device())}) {
    if (!value.empty()) flags[key] = value;
  }
  flags["autotune_config"] = absl::StrCat(settings.autotune_config());
  if (settings.has_compile_deadline()) {
    const google::protobuf::Duration& deadline = settings.compile_deadline();
    flags["compile_deadline"] =
        absl::FormatDuration(absl::Seconds(deadline.seconds()) + absl::Nanoseconds(deadline.nanos()));
  }
  return flags;
}

absl::StatusOr<v1::Workload> ResolveDefined(const v1::DefinedWorkload& untrusted) {
  ASSIGN_OR_RETURN(const Definition definition, ParseDefinition(untrusted.definition_json()));
  ASSIGN_OR_RETURN(const WorkloadName name, ParseWorkloadName(untrusted.name()));
  if (name.definition != definition.name) {
    return absl::InvalidArgumentError(
        absl::StrCat("the workload ", untrusted.name(), " came with the definition of ", definition.name));
  }
  ASSIGN_OR_RETURN(v1::Workload workload, MakeWorkload(definition, name.axes));
  if (!untrusted.definition_sha256().empty()) workload.set_definition_sha256(untrusted.definition_sha256());
  return workload;
}

absl::StatusOr<std::vector<v1::Workload>> ResolveAll(
    const google::protobuf::RepeatedPtrField<v1::DefinedWorkload>& untrusted) {
  std::vector<v1::Workload> workloads;
  for (const v1::DefinedWorkload& defined : untrusted) {
    ASSIGN_OR_RETURN(v1::Workload workload, ResolveDefined(defined));
    workloads.push_back(std::move(workload));
  }
  return workloads;
}

absl::StatusOr<BuildOutcome> Build(const v1::BuildJob& job, const SettingsSources& sources) {
  ASSIGN_OR_RETURN(const Settings settings, Settings::Resolve(sources));
  BuildInput input;
  input.sources.assign(job.sources().begin(), job.sources().end());
  RETURN_IF_ERROR(CheckSources(input.sources));
  input.defines.assign(job.settings().defines().begin(), job.settings().defines().end());
  ASSIGN_OR_RETURN(input.workloads, ResolveAll(job.settings().workloads()));
  ASSIGN_OR_RETURN(input.welcome, ResolveAll(job.settings().welcome()));
  if (input.workloads.empty()) return absl::InvalidArgumentError("a build needs at least one workload");
  ASSIGN_OR_RETURN(const auto builder, LocalBuilder::Make(settings, sources.environment));
  return builder->Build(input);
}

}  // namespace

v1::BuildJobOutcome RunBuildJob(const v1::BuildJob& untrusted_job,
                                const std::map<std::string, std::string>& environment,
                                const std::filesystem::path& working_directory) {
  v1::BuildJobOutcome answer;
  absl::StatusOr<BuildOutcome> outcome =
      Build(untrusted_job, {Flags(untrusted_job.settings()), environment, working_directory});
  if (!outcome.ok()) {
    *answer.mutable_result()->mutable_failure() = FailureOf(outcome.status());
  } else if (auto* verdict = std::get_if<v1::Verdict>(&*outcome)) {
    *answer.mutable_result()->mutable_verdict() = std::move(*verdict);
  } else {
    BuiltBundle& built = std::get<BuiltBundle>(*outcome);
    *answer.mutable_result()->mutable_built() = ResultOf(built);
    answer.set_bundle(std::move(built.bytes));
  }
  return answer;
}

}  // namespace sassay::agent
