// Admission where there are several devices: which of them take a bundle.
#ifndef SASSAY_PROFILER_SERVICE_PIPELINE_ADMIT_ON_LANES_H_
#define SASSAY_PROFILER_SERVICE_PIPELINE_ADMIT_ON_LANES_H_

#include <cstddef>
#include <map>

#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "profiler_service/admission/admission.h"
#include "profiler_service/pipeline/lanes/lanes.h"
#include "profiler_service/verdict/observations.h"
#include "sassay/v1/workload.pb.h"

namespace sassay::pipeline {

struct AdmittedOnLanes {
  // By the lane's index.
  std::map<size_t, admission::AdmittedBundle> admitted;
  // Of several refusals, that of a device of the bundle's architecture counts; absent if every lane takes it. A driver
  // that is too old for the bundle's toolkit is an infrastructure failure: elsewhere there may be a newer one.
  absl::optional<verdict::Failure> refusal;
};

// Asks admission once for each kind of device. `bundle_bytes` are hostile; `driver_cuda` is the newest CUDA that this
// host's driver runs, empty where it is not known.
AdmittedOnLanes AdmitOnLanes(const Lanes& lanes, absl::string_view bundle_bytes, const sassay::v1::Workload& workload,
                             const admission::Limits& limits, absl::string_view driver_cuda);

}  // namespace sassay::pipeline

#endif  // SASSAY_PROFILER_SERVICE_PIPELINE_ADMIT_ON_LANES_H_
