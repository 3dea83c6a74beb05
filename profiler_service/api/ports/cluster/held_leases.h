// Which node runs which submission, as far as this front end has heard.
#ifndef SASSAY_PROFILER_SERVICE_API_PORTS_CLUSTER_HELD_LEASES_H_
#define SASSAY_PROFILER_SERVICE_API_PORTS_CLUSTER_HELD_LEASES_H_

#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace sassay::api {

// Why: a node is told of what concerns its own leases, and of nothing else. For hints alone: after a restart it is
// empty until nodes renew, and nothing is allowed or refused by it. Thread-safe.
class HeldLeases {
 public:
  void Add(const std::string& node, const std::string& id) ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    ids_[node].insert(id);
  }
  void Remove(const std::string& node, const std::string& id) ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    const auto found = ids_.find(node);
    if (found != ids_.end() && found->second.erase(id) > 0 && found->second.empty()) ids_.erase(found);
  }
  void RemoveAll(const std::string& node) ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    ids_.erase(node);
  }
  // Those of `ids` that the node runs.
  std::vector<std::string> Of(const std::string& node, const std::vector<std::string>& ids) const
      ABSL_LOCKS_EXCLUDED(mutex_) {
    std::vector<std::string> held;
    absl::MutexLock lock(&mutex_);
    const auto found = ids_.find(node);
    if (found == ids_.end()) return held;
    for (const std::string& id : ids) {
      if (found->second.count(id) > 0) held.push_back(id);
    }
    return held;
  }

 private:
  mutable absl::Mutex mutex_;
  std::map<std::string, std::set<std::string>> ids_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace sassay::api

#endif  // SASSAY_PROFILER_SERVICE_API_PORTS_CLUSTER_HELD_LEASES_H_
