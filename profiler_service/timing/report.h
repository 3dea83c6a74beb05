// What a measurement means, as the verdict says it: pure.
#ifndef SASSAY_PROFILER_SERVICE_TIMING_REPORT_H_
#define SASSAY_PROFILER_SERVICE_TIMING_REPORT_H_

#include <string>

#include "absl/types/optional.h"
#include "profiler_service/timing/conduct.h"
#include "profiler_service/verdict/observations.h"
#include "sassay/v1/timing.pb.h"

namespace sassay::timing {

// What is known besides the measurement.
struct Circumstances {
  // What the candidate was measured against; absent if against nothing.
  absl::optional<sassay::v1::BaselineProgram> baseline;
  // What the baseline took before; absent where nothing is remembered of it.
  absl::optional<sassay::v1::BaselineHistory> baseline_history;
  // Why there was no baseline, where the workload names one or not.
  std::string no_baseline_reason;
  absl::optional<sassay::v1::RooflineFloor> floor;
  // Launches of a call began together.
  bool held = true;
  uint32_t tensor_sets = 0;
  uint32_t renewed_sets = 0;
  uint32_t checked_calls = 0;
  std::string unchecked_reason;
  uint32_t hoisted_allocations = 0;
};

// MEASURED, or UNAVAILABLE with the reason; a failure (FASTER_THAN_PHYSICS) where no GPU could have done the work.
verdict::TimingSeen Report(const Conducted& conducted, const Circumstances& circumstances);

// A Timing without a number.
sassay::v1::Timing Unavailable(std::string reason);

}  // namespace sassay::timing

#endif  // SASSAY_PROFILER_SERVICE_TIMING_REPORT_H_
