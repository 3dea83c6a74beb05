// CUPTI reached by dlopen: libcupti.so.13 lies in toolkits and Python wheels, and most machines have none.
#ifndef SASSAY_PROFILER_SERVICE_DEVICE_CUDA_CUPTI_CUPTI_H_
#define SASSAY_PROFILER_SERVICE_DEVICE_CUDA_CUPTI_CUPTI_H_

#include <cuda.h>
// CUPTI's headers do not include what they need, so their order matters.
#include <cupti_result.h>
//
#include <cupti_callbacks.h>
#include <cupti_pcsampling.h>
#include <cupti_profiler_target.h>
#include <cupti_sass_metrics.h>
#include <cupti_target.h>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace sassay::device::cuda {

// Every function of CUPTI that we call.
#define SASSAY_CUPTI_FUNCTIONS(X)      \
  X(cuptiGetResultString)              \
  X(cuptiSubscribe)                    \
  X(cuptiUnsubscribe)                  \
  X(cuptiEnableDomain)                 \
  X(cuptiGetCubinCrc)                  \
  X(cuptiDeviceGetChipName)            \
  X(cuptiProfilerInitialize)           \
  X(cuptiSassMetricsGetProperties)     \
  X(cuptiSassMetricsSetConfig)         \
  X(cuptiSassMetricsUnsetConfig)       \
  X(cuptiSassMetricsEnable)            \
  X(cuptiSassMetricsDisable)           \
  X(cuptiSassMetricsGetDataProperties) \
  X(cuptiSassMetricsFlushData)

// The functions, resolved. Immutable once loaded; thread-safe.
struct Cupti {
#define SASSAY_CUPTI_MEMBER(name) decltype(&::name) name = nullptr;
  SASSAY_CUPTI_FUNCTIONS(SASSAY_CUPTI_MEMBER)
#undef SASSAY_CUPTI_MEMBER

  // Loads once per process. UNAVAILABLE with what mends it where there is none.
  static absl::StatusOr<const Cupti*> Get();

  // OK, or UNAVAILABLE: `doing` names the call, then comes CUPTI's own reason. Where it is a matter of permission or of
  // another tool in the same process, what mends it.
  absl::Status Check(CUptiResult result, absl::string_view doing) const;
};

// Why CUPTI refuses a process without privileges, and what mends it. `params` is /proc/driver/nvidia/params, empty if
// it cannot be read.
std::string PermissionReason(absl::string_view params);

}  // namespace sassay::device::cuda

#endif  // SASSAY_PROFILER_SERVICE_DEVICE_CUDA_CUPTI_CUPTI_H_
