// Which holds this monitor ended itself, so that one that an operator ended is known as his doing.
#ifndef SASSAY_MONITOR_SOURCES_SERVICE_HOLD_LEDGER_H_
#define SASSAY_MONITOR_SOURCES_SERVICE_HOLD_LEDGER_H_

#include <map>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "common/base/steady_time.h"

namespace sassay::monitor {

// Written by who carries decisions out, before he asks; read by who lists GPUs. Thread-safe.
class HoldLedger {
 public:
  // This monitor ends its hold of `gpu` (empty: of all) now.
  void Resuming(const std::string& gpu) ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    resumed_[gpu] = SteadyNow();
  }
  bool ResumedSince(const std::string& gpu, absl::Time when) const ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    for (const std::string& name : {gpu, std::string()}) {
      const auto found = resumed_.find(name);
      if (found != resumed_.end() && found->second >= when) return true;
    }
    return false;
  }

 private:
  mutable absl::Mutex mutex_;
  std::map<std::string, absl::Time> resumed_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace sassay::monitor

#endif  // SASSAY_MONITOR_SOURCES_SERVICE_HOLD_LEDGER_H_
