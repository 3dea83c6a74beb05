// Whether one launch fits its kernel, its architecture and the device. Split from the plan's walk because it knows
// nothing of buffers and the plan's walk nothing of warps.
#ifndef SASSAY_PROFILER_SERVICE_ADMISSION_LAUNCH_CHECKS_H_
#define SASSAY_PROFILER_SERVICE_ADMISSION_LAUNCH_CHECKS_H_

#include <string>

#include "absl/types/optional.h"
#include "common/bundle/cubin.h"
#include "profiler_service/admission/admission.h"
#include "profiler_service/admission/arch_limits.h"
#include "sassay/v1/plan.pb.h"

namespace sassay::admission {

// What is wrong, or nothing.
using Complaint = absl::optional<Rejection>;

// Grid, block, cluster, shared memory, registers, residency. `path` is the launch's own ("plans[0].steady[3].launch").
// Arguments are not looked at.
Complaint CheckLaunchShape(const sassay::v1::KernelLaunch& launch, const CubinKernel& kernel, const ArchLimits& arch,
                           const DeviceFacts& device, const std::string& path);

}  // namespace sassay::admission

#endif  // SASSAY_PROFILER_SERVICE_ADMISSION_LAUNCH_CHECKS_H_
