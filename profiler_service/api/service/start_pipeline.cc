#include "profiler_service/api/service/start_pipeline.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/sandbox/sandbox.h"
#include "profiler_service/api/service/machine.h"
#include "spdlog/spdlog.h"

namespace sassay::api {

std::vector<std::filesystem::path> WorkloadFolders(const ServiceOptions& options) {
  if (options.workloads.empty()) return {};
  return {options.workloads};
}

absl::StatusOr<std::unique_ptr<pipeline::ServicePipeline>> StartPipeline(const ServiceOptions& options,
                                                                         const WorkloadCatalog& catalog,
                                                                         telemetry::Hub* telemetry) {
  pipeline::ServicePipelineOptions parts;
  ASSIGN_OR_RETURN(parts.devices, ParseDevices(options.device));
  if (options.role == ServiceRole::kNode) parts.emulated_suffix = absl::StrCat("@", options.join.node_name);
  parts.state = options.state;
  parts.workloads = WorkloadFolders(options);
  parts.catalog = &catalog;
  parts.telemetry = telemetry;
  parts.cuda_home = options.cuda_home;
  parts.sanitize = options.sanitize;
  parts.usual_run_deadline = options.queue.default_run_deadline;
  parts.device_deadline = options.device_deadline;
  parts.timing_budget = options.timing_budget;
  parts.jobs_per_device = options.jobs_per_device;
  parts.spares = options.spare_runners;
  parts.exclusive = options.exclusive;
  parts.judge_cache_share = options.judge_cache_share;
  if (!ProbeSandbox().Complete()) {
    if (!options.allow_unsandboxed) {
      return absl::FailedPreconditionError(absl::StrCat("candidates cannot be sandboxed here: ", ProbeSandbox().missing,
                                                        "; to mend it: ", ProbeSandbox().remedy,
                                                        "; --allow-unsandboxed goes on all the same"));
    }
    spdlog::warn("running candidates without a sandbox: {}", ProbeSandbox().missing);
    parts.allow_unsandboxed = AllowUnsandboxed{"--allow-unsandboxed"};
  }
  return pipeline::ServicePipeline::Start(parts);
}

}  // namespace sassay::api
