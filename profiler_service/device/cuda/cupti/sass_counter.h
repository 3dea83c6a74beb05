// Counting executed machine instructions, as the cuda device needs it. Apart from CUPTI, so that the device builds
// where CUPTI's headers are not there.
#ifndef SASSAY_PROFILER_SERVICE_DEVICE_CUDA_CUPTI_SASS_COUNTER_H_
#define SASSAY_PROFILER_SERVICE_DEVICE_CUDA_CUPTI_SASS_COUNTER_H_

#include <cuda.h>

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "profiler_service/wire/worker.pb.h"

namespace sassay::device::cuda {

// Counts what the kernels of one module execute, launch by launch.
//
// Life cycle: made before the driver is started (a context that is older than the counter is not counted in); Attach
// when the context is there and no module is; CubinCrc; then for every launch Arm before it and Take once it has ended;
// Finish at last. Destruction calls nobody: after a hang CUPTI would block. Threads: one; from Attach on the context is
// current, and idle at every call. Failure: a Status says why nothing is counted, in words for a verdict; after one the
// counter is given up. Never the candidate's fault.
class SassCounter {
 public:
  virtual ~SassCounter() = default;

  // `device_index` is the GPU's in the driver's order.
  virtual absl::Status Attach(CUcontext context, uint32_t device_index) = 0;
  // By which CUPTI knows the cubin. It is no checksum: some bytes of a file do not count.
  virtual absl::StatusOr<uint64_t> CubinCrc(absl::string_view cubin) = 0;
  // The next launch is counted.
  virtual absl::Status Arm(absl::string_view kernel) = 0;
  // It has ended.
  virtual absl::Status Take() = 0;
  // Ends counting; valid once.
  virtual absl::StatusOr<sassay::worker::SassCounts> Finish() = 0;
};

// One at a time in a process. UNAVAILABLE with the reason and what would mend it: built without CUPTI, no library,
// another tool in the process. What the GPU or its permissions have against it, Attach says.
absl::StatusOr<std::unique_ptr<SassCounter>> OpenSassCounter();

}  // namespace sassay::device::cuda

#endif  // SASSAY_PROFILER_SERVICE_DEVICE_CUDA_CUPTI_SASS_COUNTER_H_
