// NVML as this process uses it: loaded, initialised and listed once, for all sources.
//
// Why one: nvmlInit writes zeros over 13.5 MB of tables, a third of what the whole monitor may take. They are handed
// back right after it, which is safe as long as nobody else uses the library: whoever comes later waits here.
#ifndef SASSAY_MONITOR_SOURCES_NVML_SESSION_H_
#define SASSAY_MONITOR_SOURCES_NVML_SESSION_H_

#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "monitor/sources/nvml/gpus.h"
#include "monitor/sources/nvml/library.h"

namespace sassay::monitor::nvml {

// Life cycle: Open until it succeeds; what it found stays as it is from then on. Open may hang in the driver, and then
// keeps everybody who calls it. Threads: thread-safe; one per process, where others use NVML meanwhile.
class Session {
 public:
  // Loads, initialises and lists unless that succeeded before. UNAVAILABLE: no driver, or no GPU; it is tried again by
  // who calls a second later.
  absl::Status Open() ABSL_LOCKS_EXCLUDED(mutex_);
  // After Open has succeeded.
  const Library& library() const ABSL_NO_THREAD_SAFETY_ANALYSIS { return library_; }
  const std::vector<Gpu>& gpus() const ABSL_NO_THREAD_SAFETY_ANALYSIS { return gpus_; }

 private:
  absl::Status TryOpen() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  absl::Mutex mutex_;
  bool open_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status last_ ABSL_GUARDED_BY(mutex_);  // what came of the last try
  absl::Time tried_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
  Library library_ ABSL_GUARDED_BY(mutex_);  // constant once it is open
  std::vector<Gpu> gpus_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace sassay::monitor::nvml

#endif  // SASSAY_MONITOR_SOURCES_NVML_SESSION_H_
