#include "profiler_service/api/host/host_facts.h"

#include <dlfcn.h>
#include <unistd.h>

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/files.h"
#include "common/base/status_macros.h"
#include "common/base/steady_time.h"
#include "common/process/subprocess.h"
#include "profiler_service/api/service/machine.h"
#include "profiler_service/api/service/start_pipeline.h"
#include "profiler_service/device/cuda/driver.h"
#include "profiler_service/pipeline/service_pipeline.h"

namespace sassay::api {
namespace {

namespace fs = std::filesystem;

constexpr absl::Duration kProbe = absl::Seconds(30);

absl::StatusOr<CudaDriver> FindCudaDriver() {
  ASSIGN_OR_RETURN(const device::cuda::Driver* const driver, device::cuda::Driver::Get());
  CudaDriver found;
  int version = 0;
  if (driver->cuDriverGetVersion(&version) == CUDA_SUCCESS) {
    found.cuda_version = absl::StrCat(version / 1000, ".", version % 1000 / 10);
  }
  Dl_info info = {};
  if (dladdr(reinterpret_cast<void*>(driver->cuInit), &info) == 0 || info.dli_fname == nullptr) return found;
  std::error_code error;
  const fs::path real = fs::canonical(info.dli_fname, error);
  found.path = error ? info.dli_fname : real.string();
  return found;
}

// "bubblewrap 0.8.0".
std::string BubblewrapVersion(const std::string& path) {
  Command command;
  command.argv = {path, "--version"};
  const auto report = path.empty() ? absl::NotFoundError("") : RunToCompletion(command, kProbe, 1 << 12);
  if (!report.ok() || !report->Succeeded()) return "";
  const std::vector<std::string> words = absl::StrSplit(report->stdout_text, absl::ByAnyChar(" \n"), absl::SkipEmpty());
  return words.empty() ? "" : words.back();
}

absl::Status StartEverything(const ServiceOptions& options, Trial& trial) {
  ASSIGN_OR_RETURN(const TemporaryDirectory state, TemporaryDirectory::Create("sassay_check"));
  ASSIGN_OR_RETURN(const WorkloadCatalog catalog, WorkloadCatalog::Load(WorkloadFolders(options)));
  ServiceOptions elsewhere = options;
  elsewhere.state = state.path().string();
  ASSIGN_OR_RETURN(const auto service, StartPipeline(elsewhere, catalog));
  pipeline::Lanes& lanes = service->pipeline().lanes();
  for (size_t index = 0; index < lanes.size(); ++index) {
    RETURN_IF_ERROR(lanes.lane(index).Probe(SteadyNow() + kProbe, nullptr));
    trial.lanes.push_back(lanes.lane(index).label());
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<admission::VendorList>> VendorLists(const fs::path& state) {
  admission::VendorKernels known;
  RETURN_IF_ERROR(pipeline::AddVendorKernels(state, known));
  return known.lists();
}

Trial Try(const ServiceOptions& options) {
  Trial trial;
  const absl::Time begin = SteadyNow();
  trial.status = StartEverything(options, trial);
  trial.took = SteadyNow() - begin;
  return trial;
}

}  // namespace

Profiling ReadProfiling(const fs::path& root) {
  const auto parameters = ReadFile(root / "proc/driver/nvidia/params", 1 << 16);
  if (!parameters.ok()) return Profiling::kUnknown;
  for (const absl::string_view line : absl::StrSplit(*parameters, '\n')) {
    const std::pair<absl::string_view, absl::string_view> field = absl::StrSplit(line, absl::MaxSplits(": ", 1));
    if (field.first == "RmProfilingAdminOnly")
      return field.second == "0" ? Profiling::kEveryone : Profiling::kAdminOnly;
  }
  return Profiling::kUnknown;
}

absl::Status CheckStateFolder(const fs::path& state) {
  std::error_code error;
  fs::path folder = fs::absolute(state, error);
  while (!fs::exists(folder, error) && folder.has_relative_path()) folder = folder.parent_path();
  if (fs::is_directory(folder, error) && access(folder.c_str(), W_OK | X_OK) == 0) return absl::OkStatus();
  return absl::PermissionDeniedError(
      absl::StrCat("--state ", state.string(), ": ", folder.string(), " is no folder that this user can write to"));
}

HostFacts GatherHostFacts(const ServiceOptions& options) {
  HostFacts facts;
  facts.kernel_driver = device::cuda::DisplayDriverVersion();
  facts.cuda_driver = FindCudaDriver();
  facts.gpus = wire::ListGpuNodes();
  facts.profiling = ReadProfiling("/");
  facts.vendor = FindVendorLibraries();
  ToolchainSearch search;
  search.cuda_home = options.cuda_home;
  facts.toolchain = FindToolchain(search);
  facts.sandbox = ProbeSandbox();
  facts.bubblewrap_version = BubblewrapVersion(facts.sandbox.bubblewrap_path);
  facts.devices = ParseDevices(options.device);
  facts.state = CheckStateFolder(options.state);
  facts.vendor_lists = VendorLists(options.state);
  facts.trial = Try(options);
  return facts;
}

}  // namespace sassay::api
