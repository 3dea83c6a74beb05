// Threads for what blocks on the disk, so that gRPC's own never do.
#ifndef SASSAY_PROFILER_SERVICE_API_PORTS_IO_POOL_H_
#define SASSAY_PROFILER_SERVICE_API_PORTS_IO_POOL_H_

#include <deque>
#include <functional>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace sassay::api {

// Runs posted work on a fixed number of threads, first come first served. Destruction runs what was posted.
// Thread-safe.
class IoPool {
 public:
  explicit IoPool(int threads);
  ~IoPool();
  void Post(std::function<void()> work) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  void Loop();
  bool SomethingToDo() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return stopping_ || !work_.empty(); }

  absl::Mutex mutex_;
  std::deque<std::function<void()>> work_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;
};

}  // namespace sassay::api

#endif  // SASSAY_PROFILER_SERVICE_API_PORTS_IO_POOL_H_
