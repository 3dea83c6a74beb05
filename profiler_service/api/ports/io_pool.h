// Threads for what asks a disk or a database: gRPC has two threads of its own on a small machine, and as long as a
// database that does not answer held those, no connection was made, and no client heard that the service is there.
#ifndef SASSAY_PROFILER_SERVICE_API_PORTS_IO_POOL_H_
#define SASSAY_PROFILER_SERVICE_API_PORTS_IO_POOL_H_

#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "profiler_service/api/ports/tenant_turns.h"

namespace sassay::api {

// Runs posted work on a fixed number of threads: tenants in turn, of one tenant first come first served, so that two
// thousand uploads of one tenant delay another's by one chunk. Destruction runs what was posted. Thread-safe.
class IoPool {
 public:
  explicit IoPool(int threads);
  ~IoPool();
  void Post(const std::string& tenant, std::function<void()> work) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  void Loop();
  bool SomethingToDo() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return stopping_ || !work_.empty(); }

  absl::Mutex mutex_;
  TenantTurns<std::function<void()>> work_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;
};

}  // namespace sassay::api

#endif  // SASSAY_PROFILER_SERVICE_API_PORTS_IO_POOL_H_
