// How long an emulated run takes, before it is begun: a GPU's workload can be a day's work for a CPU, and a refusal at
// once that names a size that fits is worth more than a time-out.
#ifndef SASSAY_PROFILER_SERVICE_PIPELINE_ESTIMATE_H_
#define SASSAY_PROFILER_SERVICE_PIPELINE_ESTIMATE_H_

#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "common/workload/catalog.h"
#include "profiler_service/verdict/observations.h"
#include "sassay/v1/workload.pb.h"

namespace sassay::pipeline {

// Floating-point operations that the emulator makes in a second on all cores together. Measured on two loaded cores,
// built without optimisation: naive GEMM 64 M, tiled GEMM 150 M, mma.sync 300 M. A careful half of the lowest: a run
// that is let in must end.
struct EmulatorSpeed {
  double scalar_flops = 30e6;
  double tensor_flops = 150e6;
};

// Time of one call. `ptx` tells whether the candidate uses matrix instructions. Zero for workloads that state no flop.
absl::Duration EstimateCall(const sassay::v1::Workload& workload, absl::string_view ptx,
                            const EmulatorSpeed& speed = {});

// The largest suggested workload whose call fits into `limit`, or an empty string.
std::string SizeThatFits(const sassay::v1::Workload& workload, const WorkloadCatalog& catalog, absl::string_view ptx,
                         absl::Duration limit, const EmulatorSpeed& speed = {});

// How long an emulated run would take, and how long it may.
struct EmulatedRun {
  absl::Duration call;
  // A call may take so long, and the run has so much left; one that asks for nothing would be given `usual`.
  absl::Duration longest_call, left, usual;
};

// Why a run that cannot end in time is not begun: with a size that fits, or, where it is only that this submission has
// little time, asking for more. Absent if it can.
absl::optional<verdict::Failure> RefuseSlowRun(const EmulatedRun& run, const sassay::v1::Workload& workload,
                                               const WorkloadCatalog& catalog, absl::string_view ptx,
                                               absl::string_view device, const EmulatorSpeed& speed = {});

// "90 s", "3 min": as much as an estimate is worth.
std::string Rough(absl::Duration duration);

}  // namespace sassay::pipeline

#endif  // SASSAY_PROFILER_SERVICE_PIPELINE_ESTIMATE_H_
