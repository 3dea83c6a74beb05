// How many runners were started, on which device and for what.
//
// Why: the driver makes and ends the contexts of a whole host one after another, 0.1 s for each process
// (docs/measurements/2026-11-h200-lanes.md). With several GPUs this number decides how many turns an hour there are.
#ifndef SASSAY_PROFILER_SERVICE_WIRE_STARTED_RUNNERS_H_
#define SASSAY_PROFILER_SERVICE_WIRE_STARTED_RUNNERS_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "profiler_service/wire/worker.pb.h"

namespace sassay::wire {

// Thread-safe.
class StartedRunners {
 public:
  // One more process, whatever becomes of it.
  void Add(absl::string_view device, sassay::worker::RunMode mode) ABSL_LOCKS_EXCLUDED(mutex_);
  // On all devices.
  uint64_t Total(sassay::worker::RunMode mode) const ABSL_LOCKS_EXCLUDED(mutex_);
  // "cuda:GPU-…: 71 runners started: 40 PLAIN, 12 CHECKED, 10 COUNTED, 9 TIMED", a line for each device.
  std::string Describe() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  mutable absl::Mutex mutex_;
  std::map<std::pair<std::string, sassay::worker::RunMode>, uint64_t> counts_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace sassay::wire

#endif  // SASSAY_PROFILER_SERVICE_WIRE_STARTED_RUNNERS_H_
