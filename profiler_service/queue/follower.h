// Looks where other processes have changed the store that they share with this one.
#ifndef SASSAY_PROFILER_SERVICE_QUEUE_FOLLOWER_H_
#define SASSAY_PROFILER_SERVICE_QUEUE_FOLLOWER_H_

#include <functional>
#include <memory>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "profiler_service/store/store.h"

namespace sassay::queue {

// Why a thread of its own: whoever looks reads and sometimes writes, and the store's own thread, which tells of
// changes, must do neither for long. What changes while it looks is gathered into one next look.
//
// Life cycle: from its construction on nothing is missed; its first look is at everything. Destruction waits for a look
// under way. `store` outlives it.
class Follower {
 public:
  // Called on the follower's thread, one call after the other.
  using Look = std::function<void(const store::Changes&)>;
  Follower(store::Store& store, Look look);
  ~Follower();

 private:
  void Loop() ABSL_LOCKS_EXCLUDED(mutex_);
  bool SomethingToDo() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return stopping_ || !pending_.empty(); }

  const Look look_;
  absl::Mutex mutex_;
  store::Changes pending_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::unique_ptr<store::Watch> watch_;
  std::thread thread_;
};

}  // namespace sassay::queue

#endif  // SASSAY_PROFILER_SERVICE_QUEUE_FOLLOWER_H_
