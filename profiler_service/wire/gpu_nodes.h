// Which GPUs this process may use, and which device nodes belong to each: read from the kernel module's own files,
// without loading the driver library. The service holds no CUDA context, and libcuda costs tens of megabytes.
#ifndef SASSAY_PROFILER_SERVICE_WIRE_GPU_NODES_H_
#define SASSAY_PROFILER_SERVICE_WIRE_GPU_NODES_H_

#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/optional.h"

namespace sassay::wire {

// One GPU that can be opened.
struct GpuNode {
  std::string bus_id;  // "0000:1b:00.0"
  std::string uuid;    // "GPU-…"
  std::string model;   // "NVIDIA H200"
  std::string node;    // "/dev/nvidia3"
};

// In PCI order, so that the position is the index in "cuda:N" (CUDA_DEVICE_ORDER=PCI_BUS_ID). A GPU whose node cannot
// be opened (another job's, by cgroup or container) is left out, as the driver leaves it out. `root` is "/" but in
// tests.
std::vector<GpuNode> ListGpuNodes(const std::filesystem::path& root = "/");

// The GPU that "cuda:N" or "cuda:GPU-…" stands for; absent if there is none.
// By UUID no other GPU's node is touched: opening one that is lost may hang.
absl::optional<GpuNode> FindGpu(absl::string_view device, const std::filesystem::path& root = "/");

// "cuda:GPU-…" for "cuda:N": what means the same GPU inside a sandbox that shows one only, and after another one has
// fallen off the bus. Any other specification, and a GPU that is not there, as it came.
std::string StableName(absl::string_view device, const std::filesystem::path& root = "/");

}  // namespace sassay::wire

#endif  // SASSAY_PROFILER_SERVICE_WIRE_GPU_NODES_H_
