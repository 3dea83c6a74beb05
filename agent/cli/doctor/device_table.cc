#include "agent/cli/doctor/device_table.h"

#include <cuda.h>
#include <dlfcn.h>

#include <memory>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "nlohmann/json.hpp"

namespace sassay::agent {
namespace {

// Attributes are asked for one by one up to here; drivers answer those that they know.
constexpr int kMaxAttribute = 255;

// The few driver functions that are needed, found at run time.
class Driver {
 public:
  static absl::StatusOr<std::unique_ptr<Driver>> Open(const std::string& library) {
    auto driver = std::unique_ptr<Driver>(new Driver);
    driver->handle_ = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (driver->handle_ == nullptr)
      return absl::NotFoundError(absl::StrCat("there is no NVIDIA driver here (", library, " cannot be loaded)."));
    const bool found =
        driver->Find("cuInit", driver->init) && driver->Find("cuDriverGetVersion", driver->driver_version) &&
        driver->Find("cuDeviceGetCount", driver->count) && driver->Find("cuDeviceGet", driver->get) &&
        driver->Find("cuDeviceGetName", driver->name) && driver->Find("cuDeviceTotalMem_v2", driver->total_memory) &&
        driver->Find("cuDeviceGetAttribute", driver->attribute);
    if (!found)
      return absl::NotFoundError(absl::StrCat(library, " is no NVIDIA driver: it lacks functions of the driver API."));
    RETURN_IF_ERROR(driver->Check(driver->init(0), "cuInit"));
    return driver;
  }
  ~Driver() {
    if (handle_ != nullptr) dlclose(handle_);
  }

  absl::Status Check(CUresult result, const char* call) const {
    if (result == CUDA_SUCCESS) return absl::OkStatus();
    return absl::NotFoundError(
        absl::StrCat("the NVIDIA driver has no usable GPU (", call, " returned ", static_cast<int>(result), ")."));
  }

  decltype(&cuInit) init = nullptr;
  decltype(&cuDriverGetVersion) driver_version = nullptr;
  decltype(&cuDeviceGetCount) count = nullptr;
  decltype(&cuDeviceGet) get = nullptr;
  decltype(&cuDeviceGetName) name = nullptr;
  decltype(&cuDeviceTotalMem) total_memory = nullptr;
  decltype(&cuDeviceGetAttribute) attribute = nullptr;

 private:
  Driver() = default;
  template <typename Function>
  bool Find(const char* symbol, Function& function) {
    function = reinterpret_cast<Function>(dlsym(handle_, symbol));
    return function != nullptr;
  }
  void* handle_ = nullptr;
};

struct Gpu {
  CUdevice device = 0;
  std::string name;
  int driver_version = 0;
  int count = 0;
};

absl::StatusOr<Gpu> FirstGpu(const Driver& driver) {
  Gpu gpu;
  RETURN_IF_ERROR(driver.Check(driver.count(&gpu.count), "cuDeviceGetCount"));
  if (gpu.count == 0) return absl::NotFoundError("the NVIDIA driver sees no GPU.");
  RETURN_IF_ERROR(driver.Check(driver.get(&gpu.device, 0), "cuDeviceGet"));
  char name[256] = {};
  RETURN_IF_ERROR(driver.Check(driver.name(name, sizeof name, gpu.device), "cuDeviceGetName"));
  gpu.name = name;
  RETURN_IF_ERROR(driver.Check(driver.driver_version(&gpu.driver_version), "cuDriverGetVersion"));
  return gpu;
}

std::string VersionText(int version) { return absl::StrCat(version / 1000, ".", version % 1000 / 10); }

}  // namespace

absl::StatusOr<std::string> DescribeGpu(const std::string& driver_library) {
  ASSIGN_OR_RETURN(const auto driver, Driver::Open(driver_library));
  ASSIGN_OR_RETURN(const Gpu gpu, FirstGpu(*driver));
  return absl::StrCat(gpu.name, ", driver API ", VersionText(gpu.driver_version), ", ", gpu.count,
                      gpu.count == 1 ? " GPU" : " GPUs");
}

absl::StatusOr<std::string> DumpDeviceTable(const std::string& driver_library) {
  ASSIGN_OR_RETURN(const auto driver, Driver::Open(driver_library));
  ASSIGN_OR_RETURN(const Gpu gpu, FirstGpu(*driver));
  size_t memory_bytes = 0;
  RETURN_IF_ERROR(driver->Check(driver->total_memory(&memory_bytes, gpu.device), "cuDeviceTotalMem"));
  nlohmann::ordered_json attributes;
  for (int i = 1; i <= kMaxAttribute; ++i) {
    int value = 0;
    const CUresult result = driver->attribute(&value, static_cast<CUdevice_attribute>(i), gpu.device);
    if (result == CUDA_SUCCESS) attributes[std::to_string(i)] = value;
  }
  nlohmann::ordered_json table = {{"model", gpu.name},
                                  {"read_with", absl::StrCat("driver API ", VersionText(gpu.driver_version))},
                                  {"memory_bytes", memory_bytes}};
  table["attributes"] = std::move(attributes);
  return table.dump(2);
}

}  // namespace sassay::agent
