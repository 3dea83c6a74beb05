// The dispatcher: as many workers as the runner can take, each in a loop of lease, run, conclude.
#ifndef SASSAY_PROFILER_SERVICE_QUEUE_DISPATCHER_H_
#define SASSAY_PROFILER_SERVICE_QUEUE_DISPATCHER_H_

#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "profiler_service/pipeline/job.h"
#include "profiler_service/queue/queue.h"

namespace sassay::queue {

// Reads the bundle of a lease that is held, and notes that it is in use.
using BundleReader = std::function<absl::StatusOr<std::string>(const store::Lease& lease)>;

// Keeps a file that belongs to the verdict of such a lease, as its tenant's; answers its SHA-256.
using ArtifactKeeper = std::function<absl::StatusOr<std::string>(const store::Lease& lease, absl::string_view bytes)>;

// Life cycle: the constructor starts the workers; Drain ends them. `queue` and `runner` outlive it.
// Thread-compatible.
class Dispatcher {
 public:
  Dispatcher(Queue& queue, JobRunner& runner, BundleReader read_bundle, ArtifactKeeper keep_artifact = {});
  // Drains without patience.
  ~Dispatcher();

  // Stops the queue's hand-out, lets running attempts go on for `patience`, then interrupts them; their submissions go
  // back to the queue. Returns when every worker has ended.
  void Drain(absl::Duration patience);

 private:
  void Work();
  sassay::v1::Verdict Run(RunningJob& job);

  Queue& queue_;
  JobRunner& runner_;
  const BundleReader read_bundle_;
  const ArtifactKeeper keep_artifact_;
  absl::Mutex mutex_;
  int working_ ABSL_GUARDED_BY(mutex_) = 0;
  std::vector<std::thread> workers_;
};

}  // namespace sassay::queue

#endif  // SASSAY_PROFILER_SERVICE_QUEUE_DISPATCHER_H_
