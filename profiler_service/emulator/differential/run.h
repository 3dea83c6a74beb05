// A drawn kernel on a device.
#ifndef SASSAY_PROFILER_SERVICE_EMULATOR_DIFFERENTIAL_RUN_H_
#define SASSAY_PROFILER_SERVICE_EMULATOR_DIFFERENTIAL_RUN_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "profiler_service/device/device.h"
#include "profiler_service/emulator/differential/case.h"

namespace sassay::emulator {

// The output of `drawn`, whose kernel is in the module that `device` has loaded. ABORTED with the outcome if the kernel
// did not end well, or if a checked run found something.
absl::StatusOr<std::vector<uint32_t>> RunCase(device::Device& device, const Case& drawn);

}  // namespace sassay::emulator

#endif  // SASSAY_PROFILER_SERVICE_EMULATOR_DIFFERENTIAL_RUN_H_
