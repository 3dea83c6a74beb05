#include "profiler_service/device/cuda/driver.h"

#include <dlfcn.h>
#include <stdlib.h>

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/files.h"
#include "common/base/status_macros.h"

namespace sassay::device::cuda {
namespace {

#define SASSAY_CUDA_STRING(name) #name

template <typename Function>
absl::Status Resolve(void* library, const char* symbol, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, symbol));
  if (function != nullptr) return absl::OkStatus();
  return absl::UnavailableError(
      absl::StrCat("the NVIDIA driver is too old: libcuda.so.1 has no ", symbol, "; install a driver for CUDA 13"));
}

absl::StatusOr<Driver> Load() {
  // A module that loads lazily would load inside a measurement.
  setenv("CUDA_MODULE_LOADING", "EAGER", 1);
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return absl::UnavailableError(absl::StrCat("no NVIDIA driver: ", dlerror()));
  Driver driver;
#define SASSAY_CUDA_RESOLVE(name) RETURN_IF_ERROR(Resolve(library, SASSAY_CUDA_STRING(name), driver.name));
  SASSAY_CUDA_FUNCTIONS(SASSAY_CUDA_RESOLVE)
#undef SASSAY_CUDA_RESOLVE
  const CUresult started = driver.cuInit(0);
  if (started != CUDA_SUCCESS) return absl::UnavailableError(absl::StrCat("cuInit: ", driver.Describe(started)));
  return driver;
}

absl::StatusCode CodeFor(CUresult result) {
  switch (result) {
    case CUDA_ERROR_OUT_OF_MEMORY:
      return absl::StatusCode::kResourceExhausted;
    case CUDA_ERROR_NOT_FOUND:
      return absl::StatusCode::kNotFound;
    case CUDA_ERROR_NO_DEVICE:
    case CUDA_ERROR_DEVICE_UNAVAILABLE:
    case CUDA_ERROR_SYSTEM_NOT_READY:
    case CUDA_ERROR_ECC_UNCORRECTABLE:
      return absl::StatusCode::kUnavailable;
    default:
      return absl::StatusCode::kInternal;
  }
}

}  // namespace

absl::StatusOr<const Driver*> Driver::Get() {
  static const absl::StatusOr<Driver>* const driver = new absl::StatusOr<Driver>(Load());
  if (!driver->ok()) return driver->status();
  return &**driver;
}

std::string Driver::Describe(CUresult result) const {
  const char* name = nullptr;
  const char* text = nullptr;
  if (cuGetErrorName(result, &name) != CUDA_SUCCESS) name = "CUDA error";
  if (cuGetErrorString(result, &text) != CUDA_SUCCESS) text = "unknown to this driver";
  return absl::StrCat(name, " (", static_cast<int>(result), "): ", text);
}

absl::Status Driver::Check(CUresult result, absl::string_view doing) const {
  if (result == CUDA_SUCCESS) return absl::OkStatus();
  return absl::Status(CodeFor(result), absl::StrCat(doing, ": ", Describe(result)));
}

// "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.159.03  Tue …"
std::string DisplayDriverVersion() {
  const auto text = ReadFile("/proc/driver/nvidia/version", 1 << 16);
  if (!text.ok()) return "";
  const std::vector<std::string> words = absl::StrSplit(*text, absl::ByAnyChar(" \n\t"), absl::SkipEmpty());
  for (const std::string& word : words) {
    const bool numeric = word.find_first_not_of("0123456789.") == std::string::npos;
    if (numeric && word.find('.') != std::string::npos) return word;
  }
  return "";
}

}  // namespace sassay::device::cuda
