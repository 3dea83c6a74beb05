// One Xid is told twice, by the kernel log and by NVML; it counts once.
#ifndef SASSAY_MONITOR_SOURCES_XID_FILTER_H_
#define SASSAY_MONITOR_SOURCES_XID_FILTER_H_

#include <deque>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace sassay::monitor {

// Thread-safe.
class XidFilter {
 public:
  // Whether no *other* teller has told of this code on this GPU within the last two seconds; if so, the first unmatched
  // such report is used up. Two reports of one teller are two Xids.
  bool IsNew(absl::string_view gpu, int code, absl::string_view teller, absl::Time at) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Report {
    std::string gpu;
    int code;
    std::string teller;
    absl::Time at;
  };
  absl::Mutex mutex_;
  std::deque<Report> unmatched_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace sassay::monitor

#endif  // SASSAY_MONITOR_SOURCES_XID_FILTER_H_
