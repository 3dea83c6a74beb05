// The one place where what the driver says about a kernel becomes an Execution.
#ifndef SASSAY_PROFILER_SERVICE_DEVICE_CUDA_FAULT_H_
#define SASSAY_PROFILER_SERVICE_DEVICE_CUDA_FAULT_H_

#include <cuda.h>

#include <string>

#include "absl/strings/string_view.h"
#include "profiler_service/device/device.h"

namespace sassay::device::cuda {

// Whether `result` is a fault that a kernel left behind (sticky: the context is lost), not a complaint about the call.
bool IsKernelFault(CUresult result);

// Whether `result` means that the driver does not accept this launch configuration or image (the candidate's fault).
bool IsRefusal(CUresult result);

// What became of the kernels, given what waiting for them returned. `kernel` is the last one launched, for the message;
// `description` is Driver::Describe(result). OK for CUDA_SUCCESS; RUN_OUTCOME_INFRA with DEVICE_LOST for faults of the
// hardware (ECC, NVLink, device gone) and for what we do not know.
Execution ExecutionFor(CUresult result, absl::string_view kernel, absl::string_view description);

// The kernels did not end until the deadline.
Execution TimeoutExecution(absl::string_view kernel);

}  // namespace sassay::device::cuda

#endif  // SASSAY_PROFILER_SERVICE_DEVICE_CUDA_FAULT_H_
