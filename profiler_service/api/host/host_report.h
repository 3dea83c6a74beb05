// `profiler-service --check`: what this host has, what is missing, what that costs, and the command that mends it.
#ifndef SASSAY_PROFILER_SERVICE_API_HOST_HOST_REPORT_H_
#define SASSAY_PROFILER_SERVICE_API_HOST_HOST_REPORT_H_

#include <string>

#include "profiler_service/api/host/host_facts.h"
#include "sassay/v1/host.pb.h"

namespace sassay::api {

// Pure. A host without a GPU can judge: candidates run on the emulated device there.
sassay::v1::HostReport ReportOnHost(const ServiceOptions& options, const HostFacts& facts);

// For people: a line per check, and below it what is lost and what mends it.
std::string RenderHostReport(const sassay::v1::HostReport& report);

}  // namespace sassay::api

#endif  // SASSAY_PROFILER_SERVICE_API_HOST_HOST_REPORT_H_
