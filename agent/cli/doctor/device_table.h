// Reads from the driver what capture must answer when host code asks about the GPU.
#ifndef SASSAY_AGENT_CLI_DOCTOR_DEVICE_TABLE_H_
#define SASSAY_AGENT_CLI_DOCTOR_DEVICE_TABLE_H_

#include <string>

#include "absl/status/statusor.h"

namespace sassay::agent {

// What the driver says in one line ("NVIDIA H200, driver 13.0, 1 GPU"). NOT_FOUND without a driver or a GPU.
absl::StatusOr<std::string> DescribeGpu(const std::string& driver_library);

// JSON for the `device_table` setting, of the first GPU. Same failures. The driver is opened by name at run time, so
// that this program starts where there is none.
absl::StatusOr<std::string> DumpDeviceTable(const std::string& driver_library);

// The driver's usual name.
inline constexpr char kDriverLibrary[] = "libcuda.so.1";

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_CLI_DOCTOR_DEVICE_TABLE_H_
