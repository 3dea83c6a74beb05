// The monitor's word on every GPU, said as soon as it changes.
#ifndef SASSAY_MONITOR_ACTIONS_HEALTH_REPORTER_H_
#define SASSAY_MONITOR_ACTIONS_HEALTH_REPORTER_H_

#include <functional>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "sassay/v1/control.pb.h"

namespace sassay::monitor {

// Makes one ReportHealth call.
using ReportHealth = std::function<absl::Status(const v1::ReportHealthRequest&)>;

// Life cycle: a thread sends each report that was Set, at once; one that says what the last one said only when that was
// a second ago; and the newest only, where they come faster than every 100 ms or than the service answers. An engine
// that does not step any more Sets nothing, so nothing is said. Failures are tried again with the next one. Threads:
// thread-safe.
class HealthReporter {
 public:
  // `instance` is put into each report.
  HealthReporter(std::string instance, ReportHealth report);
  ~HealthReporter();

  void Set(v1::ReportHealthRequest report) ABSL_LOCKS_EXCLUDED(mutex_);
  // Of the last call; OK before the first.
  absl::Status last() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  void Run() ABSL_LOCKS_EXCLUDED(mutex_);

  const std::string instance_;
  const ReportHealth report_;
  mutable absl::Mutex mutex_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  bool set_ ABSL_GUARDED_BY(mutex_) = false;  // since the last call
  v1::ReportHealthRequest newest_ ABSL_GUARDED_BY(mutex_);
  absl::Status last_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace sassay::monitor

#endif  // SASSAY_MONITOR_ACTIONS_HEALTH_REPORTER_H_
