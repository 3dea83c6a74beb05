// Puts the real pipeline together: devices, judges, runners, provenance, seeds. What profiler-service's main calls.
#ifndef SASSAY_PROFILER_SERVICE_PIPELINE_SERVICE_PIPELINE_H_
#define SASSAY_PROFILER_SERVICE_PIPELINE_SERVICE_PIPELINE_H_

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "common/sandbox/sandbox.h"
#include "common/workload/catalog.h"
#include "profiler_service/admission/vendor_kernels.h"
#include "profiler_service/pipeline/lanes/lane_gpus.h"
#include "profiler_service/pipeline/pipeline.h"
#include "profiler_service/wire/runner_pool.h"
#include "sassay/v1/profiler.pb.h"

namespace sassay::pipeline {

class JudgeSupervisor;
struct LaneTools;

struct ServicePipelineOptions {
  // "cuda:0", "emulated:sm_90a"; what device::DetectDevices gives for "auto". At least one.
  std::vector<std::string> devices;
  // Goes behind the names of emulated devices, as those of several nodes must differ: "@NAME". Mostly empty.
  std::string emulated_suffix;
  // Where profiler-judge and profiler-runner lie; empty for the folder of the running program.
  std::filesystem::path programs;
  // Holds the seed secret and the list of barred digests; must exist.
  std::filesystem::path state;
  // Folders with definitions; DIR/bundles/<sha256>.bundle are approved reference kernels.
  std::vector<std::filesystem::path> workloads;
  // Outlives the pipeline; loaded from `workloads`.
  const WorkloadCatalog* catalog = nullptr;
  // --cuda-home; empty to look for it.
  std::string cuda_home;
  // What a submission gets that asks for nothing.
  sassay::v1::SanitizePolicy sanitize = sassay::v1::SANITIZE_POLICY_FAST;
  // Set where the operator allowed a machine without sandbox.
  absl::optional<AllowUnsandboxed> allow_unsandboxed;
  // Longest CPU reference.
  double reference_seconds = 60;
  // Of a GPU's memory, for what its judge keeps (--judge-cache-share).
  double judge_cache_share = 0.25;
  // What a submission that asks for nothing is given (--default-run-deadline).
  absl::Duration usual_run_deadline = absl::Minutes(10);
  // Runners kept ready per device.
  uint32_t spares = 1;
  // Jobs at once on one device; 0 for 4 on a GPU and 2 on an emulated device.
  uint32_t jobs_per_device = 0;
  // As PipelineParts has them.
  absl::Duration device_deadline = absl::Seconds(10);
  absl::Duration timing_budget = timing::Rules().budget;
  bool exclusive = false;
  // Who watches; outlives the pipeline. May be null.
  telemetry::Hub* telemetry = nullptr;
};

// Life cycle: Start returns when every judge is ready; destruction ends judges and runners. Thread-safe as Pipeline.
class ServicePipeline {
 public:
  // UNAVAILABLE or INVALID_ARGUMENT names the device that is not there; NOT_FOUND a program that is missing.
  static absl::StatusOr<std::unique_ptr<ServicePipeline>> Start(const ServicePipelineOptions& options);
  ~ServicePipeline();

  JobRunner& runner() { return *pipeline_; }
  Pipeline& pipeline() { return *pipeline_; }
  // For Control; its ids are the GPUs' names everywhere.
  Gpus& gpus() { return *gpus_; }
  // For GetCapabilities; constant.
  const std::vector<sassay::v1::DeviceCapability>& devices() const { return devices_; }
  // Release of the ptxas that establishes provenance; empty if there is none.
  const std::string& provenance_toolkit() const { return provenance_->toolkit_version(); }
  // Of the programs, and of what the operator has set that has a say in verdicts, in hex: the default of the sanitizer,
  // its tool, lists of vendor kernels. Where it is the same, the same candidate is judged alike.
  const std::string& settings_sha256() const { return settings_sha256_; }
  // Workers that ended without being told to, or could not start; for metrics.
  uint64_t judge_deaths() const;
  // Cases of judges whose inputs and right outputs were KEPT from an earlier one, or MADE.
  uint64_t judge_states(sassay::worker::StateOrigin origin) const;
  uint64_t runner_deaths() const { return pool_->deaths(); }
  // Processes that opened a device to run something there, by mode.
  const wire::StartedRunners& started_runners() const { return pool_->started(); }

 private:
  ServicePipeline() = default;
  absl::Status AddLanes(const ServicePipelineOptions& options, const LaneTools& tools, PipelineParts& parts);
  void Describe(const Lane& lane, const LaneTools& tools);

  std::unique_ptr<wire::RunnerPool> pool_;
  std::unique_ptr<admission::ProvenanceChecker> provenance_;
  admission::VendorKernels vendor_kernels_;
  std::unique_ptr<Pipeline> pipeline_;
  std::unique_ptr<LaneGpus> gpus_;
  std::vector<sassay::v1::DeviceCapability> devices_;
  std::string settings_sha256_;
  std::vector<const JudgeSupervisor*> judges_;  // the lanes own them
};

// Adds the lists of vendor kernels that came with the package, and those that the operator made of this host's
// libraries: STATE/vendor_kernels. Failures as VendorKernels::AddFolder's.
absl::Status AddVendorKernels(const std::filesystem::path& state, admission::VendorKernels& known);

}  // namespace sassay::pipeline

#endif  // SASSAY_PROFILER_SERVICE_PIPELINE_SERVICE_PIPELINE_H_
