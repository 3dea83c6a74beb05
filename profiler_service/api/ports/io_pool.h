// Threads for what asks a disk or a database: gRPC has two threads of its own on a small machine, and as long as a
// database that does not answer held those, no connection was made, and no client heard that the service is there.
#ifndef SASSAY_PROFILER_SERVICE_API_PORTS_IO_POOL_H_
#define SASSAY_PROFILER_SERVICE_API_PORTS_IO_POOL_H_

#include <deque>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace sassay::api {

// Runs posted work on a fixed number of threads: tenants in turn, of one tenant first come first served, so that two
// thousand uploads of one tenant delay another's by one chunk. Destruction runs what was posted. Thread-safe.
class IoPool {
 public:
  explicit IoPool(int threads);
  ~IoPool();
  void Post(const std::string& tenant, std::function<void()> work) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  using Works = std::deque<std::function<void()>>;

  void Loop();
  std::function<void()> Take() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool SomethingToDo() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return stopping_ || !turns_.empty(); }

  absl::Mutex mutex_;
  std::map<std::string, Works> work_ ABSL_GUARDED_BY(mutex_);  // of the tenants in `turns_`
  std::deque<std::string> turns_ ABSL_GUARDED_BY(mutex_);      // each tenant that has work, once
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;
};

}  // namespace sassay::api

#endif  // SASSAY_PROFILER_SERVICE_API_PORTS_IO_POOL_H_
