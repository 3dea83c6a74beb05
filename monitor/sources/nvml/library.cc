#include "monitor/sources/nvml/library.h"

#include <dlfcn.h>

#include "absl/strings/str_cat.h"

namespace sassay::monitor::nvml {
namespace {

template <typename Function>
bool Resolve(void* library, const char* symbol, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, symbol));
  return function != nullptr;
}

bool ResolveRequired(void* library, Library& nvml) {
  return Resolve(library, "nvmlInit_v2", nvml.Init) && Resolve(library, "nvmlDeviceGetCount_v2", nvml.DeviceGetCount) &&
         Resolve(library, "nvmlDeviceGetHandleByIndex_v2", nvml.DeviceGetHandleByIndex) &&
         Resolve(library, "nvmlDeviceGetUUID", nvml.DeviceGetUuid) &&
         Resolve(library, "nvmlDeviceGetName", nvml.DeviceGetName) &&
         Resolve(library, "nvmlDeviceGetClockInfo", nvml.DeviceGetClockInfo) &&
         Resolve(library, "nvmlDeviceGetTemperature", nvml.DeviceGetTemperature) &&
         Resolve(library, "nvmlDeviceGetPowerUsage", nvml.DeviceGetPowerUsage);
}

void ResolveOptional(void* library, Library& nvml) {
  Resolve(library, "nvmlErrorString", nvml.ErrorString);
  Resolve(library, "nvmlDeviceGetPciInfo_v3", nvml.DeviceGetPciInfo);
  if (!Resolve(library, "nvmlDeviceGetCurrentClocksEventReasons", nvml.DeviceGetClocksEventReasons)) {
    Resolve(library, "nvmlDeviceGetCurrentClocksThrottleReasons", nvml.DeviceGetClocksEventReasons);
  }
  Resolve(library, "nvmlDeviceGetFieldValues", nvml.DeviceGetFieldValues);
  Resolve(library, "nvmlDeviceGetMarginTemperature", nvml.DeviceGetMarginTemperature);
  Resolve(library, "nvmlDeviceGetTemperatureThreshold", nvml.DeviceGetTemperatureThreshold);
  Resolve(library, "nvmlDeviceGetEnforcedPowerLimit", nvml.DeviceGetEnforcedPowerLimit);
  Resolve(library, "nvmlDeviceGetTotalEccErrors", nvml.DeviceGetTotalEccErrors);
  Resolve(library, "nvmlDeviceGetRemappedRows", nvml.DeviceGetRemappedRows);
  Resolve(library, "nvmlDeviceGetPcieReplayCounter", nvml.DeviceGetPcieReplayCounter);
  Resolve(library, "nvmlDeviceGetUtilizationRates", nvml.DeviceGetUtilizationRates);
  Resolve(library, "nvmlDeviceGetComputeRunningProcesses_v3", nvml.DeviceGetComputeRunningProcesses);
  Resolve(library, "nvmlEventSetCreate", nvml.EventSetCreate);
  Resolve(library, "nvmlDeviceRegisterEvents", nvml.DeviceRegisterEvents);
  Resolve(library, "nvmlEventSetWait_v2", nvml.EventSetWait);
}

}  // namespace

absl::StatusOr<Library> Library::Load(const char* file) {
  void* library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return absl::UnavailableError(absl::StrCat("no NVML: ", dlerror()));
  Library nvml;
  if (ResolveRequired(library, nvml)) {
    ResolveOptional(library, nvml);
    return nvml;
  }
  return absl::UnavailableError(absl::StrCat(file, " lacks a function that the monitor needs; install a newer driver"));
}

std::string Library::Describe(int result) const {
  const char* text = ErrorString == nullptr ? "NVML error" : ErrorString(result);
  return absl::StrCat(text == nullptr ? "NVML error" : text, " (", result, ")");
}

}  // namespace sassay::monitor::nvml
