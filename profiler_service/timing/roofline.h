// The shortest time that a GPU can need for a workload: what is faster has not done the work, or its time is not a
// time.
#ifndef SASSAY_PROFILER_SERVICE_TIMING_ROOFLINE_H_
#define SASSAY_PROFILER_SERVICE_TIMING_ROOFLINE_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "sassay/v1/timing.pb.h"
#include "sassay/v1/workload.pb.h"

namespace sassay::timing {

// Which GPU.
struct GpuModel {
  std::string model;
  uint32_t multiprocessors = 0;
};

// The floor of one call of `workload`, absent for a GPU that gpus.json does not know. It is the larger of
//   compute: flop / (multiprocessors * tensor-core FLOP per clock and multiprocessor * maximum clock), by the type of
//            the first input, at the highest clock that NVML admits (not the datasheet's boost clock); none where that
//            type has no tensor-core rate or the definition names no flop;
//   memory:  (minimum_bytes - L2) / bandwidth: inputs are read from a cold cache, but as many bytes of the output as
//   the
//            L2 holds may still lie there when the call ends.
// Every number is an upper bound of the hardware, so that no honest kernel comes near it: the best stay below 80 % of
// the compute peak.
absl::optional<sassay::v1::RooflineFloor> FloorOf(const sassay::v1::Workload& workload, const GpuModel& gpu);

// One line with both numbers if a call cannot have taken `ns`; empty if it can.
std::string FasterThanPhysics(double ns, const sassay::v1::RooflineFloor& floor);

// The table, as published (gpus.json).
absl::string_view GpuPeaksJson();

}  // namespace sassay::timing

#endif  // SASSAY_PROFILER_SERVICE_TIMING_ROOFLINE_H_
