// Launch-side functions that runtime and driver API share; defined in launch.cc.
#ifndef SASSAY_AGENT_CAPTURE_RUNTIME_API_SHARED_API_H_
#define SASSAY_AGENT_CAPTURE_RUNTIME_API_SHARED_API_H_

#include <cstddef>

#include "agent/capture/runtime/launch.h"

namespace sassay::capture {

// cudaFuncAttribute and CUfunction_attribute share their numbers.
int SetFunctionAttribute(const char* function, const void* handle, int attribute, int value);
// `attributes` are cudaLaunchAttribute or CUlaunchAttribute: one layout, one numbering.
int LaunchWithAttributes(const char* function, LaunchRequest& request, const void* attributes, unsigned count);

}  // namespace sassay::capture

#endif  // SASSAY_AGENT_CAPTURE_RUNTIME_API_SHARED_API_H_
