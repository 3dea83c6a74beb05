// What --device means on this machine.
#ifndef SASSAY_PROFILER_SERVICE_API_SERVICE_MACHINE_H_
#define SASSAY_PROFILER_SERVICE_API_SERVICE_MACHINE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace sassay::api {

// --device as a list: "cuda:0,1" -> {"cuda:0", "cuda:1"}; "auto" asks the machine. INVALID_ARGUMENT says what is
// understood.
absl::StatusOr<std::vector<std::string>> ParseDevices(absl::string_view text);

}  // namespace sassay::api

#endif  // SASSAY_PROFILER_SERVICE_API_SERVICE_MACHINE_H_
