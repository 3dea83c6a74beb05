#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "profiler_service/device/cuda/cuda_device.h"
#include "profiler_service/device/device.h"
#include "profiler_service/emulator/emulated_device.h"
#include "profiler_service/wire/gpu_nodes.h"

namespace sassay::device {

absl::StatusOr<std::unique_ptr<Device>> OpenDevice(absl::string_view specification, sassay::worker::RunMode mode) {
  absl::string_view rest = specification;
  if (absl::ConsumePrefix(&rest, "cuda:")) return cuda::CudaDevice::Open(rest, mode);
  if (absl::ConsumePrefix(&rest, "emulated:")) return emulator::EmulatedDevice::Open(rest, mode);
  return absl::InvalidArgumentError(
      absl::StrCat("expected a device like cuda:0, cuda:GPU-… or emulated:sm_90a, got \"", specification, "\""));
}

std::vector<std::string> DetectDevices() {
  std::vector<std::string> devices;
  for (size_t i = 0; i < wire::ListGpuNodes().size(); ++i) devices.push_back(absl::StrCat("cuda:", i));
  if (devices.empty()) devices.push_back("emulated:sm_90a");
  return devices;
}

}  // namespace sassay::device
