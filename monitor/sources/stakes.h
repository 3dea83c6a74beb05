// On which GPUs something is at stake: work that the monitor's readings vouch for.
//
// Why: a reading of a GPU costs the host's CPU a quarter of a millisecond and more, and eight GPUs share one hundredth
// of a core. Where nobody works, a reading every few seconds is enough.
#ifndef SASSAY_MONITOR_SOURCES_STAKES_H_
#define SASSAY_MONITOR_SOURCES_STAKES_H_

#include <map>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace sassay::monitor {

// The service source says who works, at each heartbeat; the NVML sources ask. Thread-safe; times are steady.
class Stakes {
 public:
  // Work has ended: timings that just ended wait for a reading after that.
  static constexpr absl::Duration kLinger = absl::Seconds(3);

  // One heartbeat's word on one GPU.
  void Set(const std::string& gpu, bool works, absl::Time now) ABSL_LOCKS_EXCLUDED(mutex_);
  // A GPU that no heartbeat has named has no work of the service; one that did keeps its last word, also while the
  // service is silent.
  bool Any(absl::string_view gpu, absl::Time now) const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  mutable absl::Mutex mutex_;
  std::map<std::string, absl::Time, std::less<>> until_ ABSL_GUARDED_BY(mutex_);  // by GPU
};

}  // namespace sassay::monitor

#endif  // SASSAY_MONITOR_SOURCES_STAKES_H_
