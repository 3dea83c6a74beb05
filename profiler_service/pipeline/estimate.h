// How long an emulated run takes, before it is begun: a GPU's workload can be a day's work for a CPU, and a refusal at
// once that names a size that fits is worth more than a time-out.
#ifndef SASSAY_PROFILER_SERVICE_PIPELINE_ESTIMATE_H_
#define SASSAY_PROFILER_SERVICE_PIPELINE_ESTIMATE_H_

#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/workload/catalog.h"
#include "sassay/v1/workload.pb.h"

namespace sassay::pipeline {

// Floating-point operations that the emulator makes in a second on all cores together, measured on the examples: scalar
// code spends some six thread-instructions on a multiply-add, one mma.sync instruction makes 4,096 operations.
struct EmulatorSpeed {
  double scalar_flops = 15e6;
  double tensor_flops = 150e6;
};

// Time of one call. `ptx` tells whether the candidate uses matrix instructions. Zero for workloads that state no flop.
absl::Duration EstimateCall(const sassay::v1::Workload& workload, absl::string_view ptx,
                            const EmulatorSpeed& speed = {});

// The largest suggested workload whose call fits into `limit`, or an empty string.
std::string SizeThatFits(const sassay::v1::Workload& workload, const WorkloadCatalog& catalog, absl::string_view ptx,
                         absl::Duration limit, const EmulatorSpeed& speed = {});

}  // namespace sassay::pipeline

#endif  // SASSAY_PROFILER_SERVICE_PIPELINE_ESTIMATE_H_
