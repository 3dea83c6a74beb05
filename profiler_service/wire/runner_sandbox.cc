#include "profiler_service/wire/runner_sandbox.h"

#include <unistd.h>

#include <algorithm>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/types/optional.h"
#include "profiler_service/wire/gpu_nodes.h"

namespace sassay::wire {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kProcesses = 4096;

// AddressSanitizer and ThreadSanitizer reserve terabytes.
#if defined(__SANITIZE_ADDRESS__) || defined(SASSAY_SANITIZE_THREAD)
constexpr bool kLimitEmulator = false;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
constexpr bool kLimitEmulator = false;
#else
constexpr bool kLimitEmulator = true;
#endif
#else
constexpr bool kLimitEmulator = true;
#endif

// The emulator keeps a shadow beside the memory it emulates, so all of the machine's is not too much to map; more than
// that could only be swapped.
uint64_t EmulatorAddressSpace() {
  if (!kLimitEmulator) return 0;
  const auto physical = static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGE_SIZE));
  return std::min(physical, uint64_t{32} << 30);
}

bool Exists(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

void ShowReadOnly(SandboxPolicy& policy, const fs::path& path) {
  const std::pair<std::string, std::string> entry(path.string(), path.string());
  const bool known = std::find(policy.read_only.begin(), policy.read_only.end(), entry) != policy.read_only.end();
  if (!known && Exists(path)) policy.read_only.push_back(entry);
}

// The installed layout is bin/ beside lib/ (rpath $ORIGIN/../lib).
void ShowProgram(SandboxPolicy& policy, const fs::path& program) {
  ShowReadOnly(policy, program.parent_path());
  const fs::path libraries = program.parent_path().parent_path() / "lib";
  if (libraries != "/lib" && libraries != "/usr/lib") ShowReadOnly(policy, libraries);
}

void ShowGpu(SandboxPolicy& policy, const GpuNode& gpu, const fs::path& root) {
  policy.devices.push_back(gpu.node);
  for (const char* name : {"nvidiactl", "nvidia-uvm", "nvidia-uvm-tools"}) {
    const fs::path node = root / "dev" / name;
    if (Exists(node)) policy.devices.push_back(node.string());
  }
  ShowReadOnly(policy, "/usr/local/nvidia");
}

}  // namespace

SandboxPolicy RunnerSandbox(absl::string_view device, const fs::path& program,
                            const std::vector<fs::path>& extra_programs, const fs::path& root) {
  SandboxPolicy policy;
  ShowProgram(policy, program);
  for (const fs::path& extra : extra_programs) ShowReadOnly(policy, extra.parent_path().parent_path());
  // A toolkit's bin/ncu only starts what lies there.
  if (!extra_programs.empty()) ShowReadOnly(policy, "/opt/nvidia");
  // Threads count, too: the emulator's (one per core), the driver's, the tool's; and on old kernels those of all
  // runners.
  policy.processes = kProcesses;
  if (absl::StartsWith(device, "cuda:")) {
    const absl::optional<GpuNode> gpu = FindGpu(device, root);
    if (gpu.has_value()) ShowGpu(policy, *gpu, root);
    policy.open_files = 1024;
  } else {
    policy.address_space_bytes = EmulatorAddressSpace();
  }
  return policy;
}

}  // namespace sassay::wire
