// Which processes on a GPU are ours: the service, and whatever it started.
//
// Why: somebody else's kernel between two of a timing distorts it and shows in nothing else that NVML says.
#ifndef SASSAY_MONITOR_SOURCES_OUR_PROCESSES_H_
#define SASSAY_MONITOR_SOURCES_OUR_PROCESSES_H_

#include <sys/types.h>

#include <filesystem>
#include <set>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace sassay::monitor {

// The service source says whom it knows; the NVML source asks. Thread-safe.
class OurProcesses {
 public:
  enum class Kind {
    kOurs,
    kForeign,
    kUnknown,  // it is not in /proc here: it has ended, or lives in a pid namespace that this process does not see
  };

  explicit OurProcesses(std::filesystem::path proc = "/proc") : proc_(std::move(proc)) {}

  // The service's process and its workers, of one heartbeat.
  void Set(pid_t service, std::set<pid_t> workers) ABSL_LOCKS_EXCLUDED(mutex_);
  // Ours is what Set named, this process, and what descends from any of them.
  Kind Judge(pid_t pid) const ABSL_LOCKS_EXCLUDED(mutex_);
  // "python3"; "?" if unknown.
  std::string NameOf(pid_t pid) const;

 private:
  // 0: none.
  pid_t ParentOf(pid_t pid) const;

  const std::filesystem::path proc_;
  mutable absl::Mutex mutex_;
  std::set<pid_t> ours_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace sassay::monitor

#endif  // SASSAY_MONITOR_SOURCES_OUR_PROCESSES_H_
