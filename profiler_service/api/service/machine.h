// What this machine has to offer: devices, tools, sandbox.
#ifndef SASSAY_PROFILER_SERVICE_API_SERVICE_MACHINE_H_
#define SASSAY_PROFILER_SERVICE_API_SERVICE_MACHINE_H_

#include <ostream>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "profiler_service/api/service/options.h"

namespace sassay::api {

// --device as a list: "cuda:0,1" -> {"cuda:0", "cuda:1"}; "auto" asks the machine. INVALID_ARGUMENT says what is
// understood.
absl::StatusOr<std::vector<std::string>> ParseDevices(absl::string_view text);

// --check: prints what was found and what is missing, for people. True if the service can start.
bool CheckMachine(const ServiceOptions& options, std::ostream& out);

}  // namespace sassay::api

#endif  // SASSAY_PROFILER_SERVICE_API_SERVICE_MACHINE_H_
