// libcuda.so.1 reached by dlopen, so that one binary starts with and without a GPU.
#ifndef SASSAY_PROFILER_SERVICE_DEVICE_CUDA_DRIVER_H_
#define SASSAY_PROFILER_SERVICE_DEVICE_CUDA_DRIVER_H_

#include <cuda.h>

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace sassay::device::cuda {

// Every driver function that we call. The header's macros append the version suffix to member and symbol alike.
#define SASSAY_CUDA_FUNCTIONS(X)    \
  X(cuInit)                         \
  X(cuDriverGetVersion)             \
  X(cuGetErrorName)                 \
  X(cuGetErrorString)               \
  X(cuDeviceGetCount)               \
  X(cuDeviceGet)                    \
  X(cuDeviceGetName)                \
  X(cuDeviceGetUuid)                \
  X(cuDeviceGetAttribute)           \
  X(cuDeviceTotalMem)               \
  X(cuDevicePrimaryCtxRetain)       \
  X(cuDevicePrimaryCtxRelease)      \
  X(cuCtxSetCurrent)                \
  X(cuCtxResetPersistingL2Cache)    \
  X(cuStreamCreate)                 \
  X(cuStreamQuery)                  \
  X(cuStreamSynchronize)            \
  X(cuStreamDestroy)                \
  X(cuEventCreate)                  \
  X(cuEventRecord)                  \
  X(cuEventElapsedTime)             \
  X(cuEventDestroy)                 \
  X(cuMemAlloc)                     \
  X(cuMemFree)                      \
  X(cuMemHostAlloc)                 \
  X(cuMemFreeHost)                  \
  X(cuMemcpyHtoDAsync)              \
  X(cuMemcpyDtoHAsync)              \
  X(cuMemcpyDtoDAsync)              \
  X(cuMemsetD8Async)                \
  X(cuMemsetD16Async)               \
  X(cuMemsetD32Async)               \
  X(cuMemCreate)                    \
  X(cuMemRelease)                   \
  X(cuMemMap)                       \
  X(cuMemUnmap)                     \
  X(cuMemSetAccess)                 \
  X(cuMemAddressReserve)            \
  X(cuMemAddressFree)               \
  X(cuMemGetAllocationGranularity)  \
  X(cuMemExportToShareableHandle)   \
  X(cuMemImportFromShareableHandle) \
  X(cuModuleLoadDataEx)             \
  X(cuModuleUnload)                 \
  X(cuModuleGetFunction)            \
  X(cuModuleGetGlobal)              \
  X(cuFuncSetAttribute)             \
  X(cuFuncGetParamInfo)             \
  X(cuLaunchKernelEx)               \
  X(cuTensorMapEncodeTiled)

// The functions, resolved. Immutable once loaded; thread-safe.
struct Driver {
#define SASSAY_CUDA_MEMBER(name) decltype(&::name) name = nullptr;
  SASSAY_CUDA_FUNCTIONS(SASSAY_CUDA_MEMBER)
#undef SASSAY_CUDA_MEMBER

  // Loads once per process and calls cuInit. UNAVAILABLE says what is missing: the library, a function (driver too
  // old), or a device.
  static absl::StatusOr<const Driver*> Get();

  // "CUDA_ERROR_ILLEGAL_ADDRESS (700): an illegal memory access was encountered".
  std::string Describe(CUresult result) const;

  // OK, or the Status for a call that failed through no fault of the candidate: `doing` names call and object. Never
  // INVALID_ARGUMENT, which a runner reads as a refusal: who asks the driver about something of the candidate's looks
  // at IsRefusal (fault.h) first.
  absl::Status Check(CUresult result, absl::string_view doing) const;
};

// Version of the display driver ("580.159.03") as the kernel module tells it; empty where there is none.
std::string DisplayDriverVersion();

}  // namespace sassay::device::cuda

#endif  // SASSAY_PROFILER_SERVICE_DEVICE_CUDA_DRIVER_H_
