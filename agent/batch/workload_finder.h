// Workloads by name for a program that meets the same few of them many times.
#ifndef SASSAY_AGENT_BATCH_WORKLOAD_FINDER_H_
#define SASSAY_AGENT_BATCH_WORKLOAD_FINDER_H_

#include <map>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "agent/submit/connection.h"
#include "common/workload/catalog.h"
#include "sassay/v1/workload.pb.h"

namespace sassay::agent {

// Looks in the local catalogue, and asks the service, once for each name: for operators that only it was taught, and
// whether both mean the same.
//
// Threads: safe. Failure: NOT_FOUND with the nearest name, INVALID_ARGUMENT for a malformed one; FAILED_PRECONDITION if
// the service knows another definition of that name. These are remembered; a service that cannot be asked is not.
class WorkloadFinder {
 public:
  WorkloadFinder(WorkloadCatalog catalog, Connection& connection)
      : catalog_(std::move(catalog)), connection_(connection) {}

  absl::StatusOr<v1::Workload> Find(const std::string& name) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  absl::StatusOr<v1::Workload> Ask(const std::string& name) const;

  const WorkloadCatalog catalog_;
  Connection& connection_;
  absl::Mutex mutex_;
  std::map<std::string, absl::StatusOr<v1::Workload>> known_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_BATCH_WORKLOAD_FINDER_H_
