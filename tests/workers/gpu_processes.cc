#include "tests/workers/gpu_processes.h"

#include <array>
#include <filesystem>
#include <fstream>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/toolchain/vendor_libraries.h"

namespace sassay::runner {
namespace {

// nvmlProcessInfo_t of nvmlDeviceGetComputeRunningProcesses_v3.
struct ProcessInfo {
  unsigned pid;
  unsigned long long used_gpu_memory;
  unsigned gpu_instance, compute_instance;
};

absl::Status Check(int result, const char* call) {
  return result == 0 ? absl::OkStatus() : absl::UnavailableError(absl::StrCat(call, ": NVML error ", result));
}

}  // namespace

absl::StatusOr<std::set<pid_t>> GpuProcesses(const std::string& uuid) {
  ASSIGN_OR_RETURN(const LoadedLibrary nvml, LoadVendorLibrary(VendorLibrary::kNvml));
  ASSIGN_OR_RETURN(const auto init, nvml.Symbol<int (*)()>("nvmlInit_v2"));
  ASSIGN_OR_RETURN(const auto by_uuid, nvml.Symbol<int (*)(const char*, void**)>("nvmlDeviceGetHandleByUUID"));
  ASSIGN_OR_RETURN(const auto list,
                   nvml.Symbol<int (*)(void*, unsigned*, ProcessInfo*)>("nvmlDeviceGetComputeRunningProcesses_v3"));
  RETURN_IF_ERROR(Check(init(), "nvmlInit"));
  void* device = nullptr;
  RETURN_IF_ERROR(Check(by_uuid(uuid.c_str(), &device), "nvmlDeviceGetHandleByUUID"));
  std::array<ProcessInfo, 256> processes;
  unsigned count = processes.size();
  RETURN_IF_ERROR(Check(list(device, &count, processes.data()), "nvmlDeviceGetComputeRunningProcesses"));
  std::set<pid_t> pids;
  for (unsigned i = 0; i < count; ++i) pids.insert(static_cast<pid_t>(processes[i].pid));
  return pids;
}

std::set<pid_t> WithDescendants(pid_t pid) {
  std::set<pid_t> found = {pid};
  std::error_code error;
  for (const auto& thread : std::filesystem::directory_iterator(absl::StrCat("/proc/", pid, "/task"), error)) {
    std::ifstream children(thread.path() / "children");
    for (pid_t child; children >> child;) found.merge(WithDescendants(child));
  }
  return found;
}

}  // namespace sassay::runner
