// Samples of calls on a device, taken one way for whoever takes them: the runner its candidate's, the judge its
// baseline's. What differs between the two would be measured as a difference between candidate and baseline.
#ifndef SASSAY_PROFILER_SERVICE_DEVICE_SAMPLER_H_
#define SASSAY_PROFILER_SERVICE_DEVICE_SAMPLER_H_

#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "profiler_service/device/device.h"

namespace sassay::device {

// What one block of samples gave.
struct SampledBlock {
  Execution execution;
  // One for each call, in order; empty if the execution did not end well.
  std::vector<double> samples_ns;
  // SM clock across the block; 0 if unknown.
  double clock_mhz = 0;
  // The host was too slow to enqueue a call behind its hold: the block is worth nothing.
  bool late = false;
};

// Calls back to back.
struct Stretch {
  Execution execution;
  int calls = 0;
  double clock_mhz = 0;
  // Host time to launch one small kernel of ours, at least: a clock's probe.
  double enqueue_ns = 0;
};

// Enqueues the n-th call, or what must be done before it (which is not measured). An Execution is not OK where the
// device was waited for and a launch turned out to have gone wrong.
using EnqueueCall = absl::FunctionRef<absl::StatusOr<Execution>(int call)>;

// `samples` calls: for each one `prepare`, a flush of the L2, a hold (if `hold`), a mark, the call, a mark, the
// release; then the device is waited for. Calls that wait for the device themselves (more launches than fit into its
// queue) must not be held. A Status is as Device's; the stream has been released then.
absl::StatusOr<SampledBlock> SampleBlock(Device& device, int samples, bool hold, absl::Time deadline,
                                         EnqueueCall prepare, EnqueueCall call);

// How long a stretch is: `calls` calls, more where they take less than `at_least`, fewer where they would take longer
// than `at_most`; at least one. `batch` calls fit into the device's queue together; fewer are enqueued together where
// they are slow.
struct StretchLength {
  int calls = 1;
  absl::Duration at_least;
  absl::Duration at_most = absl::Seconds(1);
  int batch = 32;
};

// Nothing is prepared, flushed or held.
absl::StatusOr<Stretch> RunStretch(Device& device, const StretchLength& length, absl::Time deadline, EnqueueCall call);

}  // namespace sassay::device

#endif  // SASSAY_PROFILER_SERVICE_DEVICE_SAMPLER_H_
