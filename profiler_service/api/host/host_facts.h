// What is there on this host, looked at once: the part of `profiler-service --check` that touches the machine. What it
// means is said by host_report.h, so that the saying can be tested for hosts that nobody has.
#ifndef SASSAY_PROFILER_SERVICE_API_HOST_HOST_FACTS_H_
#define SASSAY_PROFILER_SERVICE_API_HOST_HOST_FACTS_H_

#include <filesystem>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/sandbox/sandbox.h"
#include "common/toolchain/toolchain.h"
#include "common/toolchain/vendor_libraries.h"
#include "profiler_service/admission/vendor_kernels.h"
#include "profiler_service/api/service/options.h"
#include "profiler_service/cluster/join_trial.h"
#include "profiler_service/wire/gpu_nodes.h"

namespace sassay::api {

// Who may read the GPU's counters, as the kernel module has been told (RmProfilingAdminOnly).
enum class Profiling { kUnknown, kEveryone, kAdminOnly };

// libcuda as this process finds it.
struct CudaDriver {
  std::string path;
  // The newest CUDA that it serves: "13.0".
  std::string cuda_version;
};

// What came of starting the judge and a runner beside it, as the service would.
struct Trial {
  absl::Status status;
  absl::Duration took;
  // What ran: "NVIDIA H200 GPU-…".
  std::vector<std::string> lanes;
};

struct HostFacts {
  // Of the kernel module; empty where there is none.
  std::string kernel_driver;
  absl::StatusOr<CudaDriver> cuda_driver = absl::UnavailableError("not looked for");
  std::vector<wire::GpuNode> gpus;
  Profiling profiling = Profiling::kUnknown;
  std::vector<VendorFinding> vendor;
  absl::StatusOr<Toolchain> toolchain = absl::NotFoundError("not looked for");
  SandboxSupport sandbox;
  std::string bubblewrap_version;
  // --device, spelled out.
  absl::StatusOr<std::vector<std::string>> devices = absl::NotFoundError("not looked for");
  // Why nothing can be written into --state; OK if it can, or if it can be made.
  absl::Status state;
  // Of vendor kernels that admission refuses; or which list cannot be read, so that the service does not start.
  absl::StatusOr<std::vector<admission::VendorList>> vendor_lists = std::vector<admission::VendorList>();
  Trial trial;
  // At a node: what came of asking each front end whether it would take it in.
  std::vector<cluster::JoinTrial> joins;
};

// Loads NVIDIA's libraries, starts tools for their versions, and a judge and runners on every device: a few seconds.
// Leaves nothing behind, and no folder at options.state.
HostFacts GatherHostFacts(const ServiceOptions& options);

// Parts of it, for tests: `root` stands for "/".
Profiling ReadProfiling(const std::filesystem::path& root);
// OK if `state` or the nearest folder above it that exists can be written to.
absl::Status CheckStateFolder(const std::filesystem::path& state);

}  // namespace sassay::api

#endif  // SASSAY_PROFILER_SERVICE_API_HOST_HOST_FACTS_H_
