// From the operator's options to judges, runners and lanes that are ready: what serving and --check do alike.
#ifndef SASSAY_PROFILER_SERVICE_API_SERVICE_START_PIPELINE_H_
#define SASSAY_PROFILER_SERVICE_API_SERVICE_START_PIPELINE_H_

#include <filesystem>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "common/workload/catalog.h"
#include "profiler_service/api/service/options.h"
#include "profiler_service/pipeline/service_pipeline.h"

namespace sassay::api {

// Where definitions of the operator's own lie.
std::vector<std::filesystem::path> WorkloadFolders(const ServiceOptions& options);

// `options.state` must exist; `catalog` and `telemetry` (who watches; may be null) outlive the pipeline.
// FAILED_PRECONDITION where candidates cannot be sandboxed and the operator has not allowed to go on; others as
// ServicePipeline::Start's.
absl::StatusOr<std::unique_ptr<pipeline::ServicePipeline>> StartPipeline(const ServiceOptions& options,
                                                                         const WorkloadCatalog& catalog,
                                                                         telemetry::Hub* telemetry = nullptr);

}  // namespace sassay::api

#endif  // SASSAY_PROFILER_SERVICE_API_SERVICE_START_PIPELINE_H_
