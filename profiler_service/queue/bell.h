// Tells whoever listens that there is something new to read.
#ifndef SASSAY_PROFILER_SERVICE_QUEUE_BELL_H_
#define SASSAY_PROFILER_SERVICE_QUEUE_BELL_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace sassay::queue {

// Carries no content: listeners read where the content is kept, from where they were, at their own pace, and cost
// nothing meanwhile. Thread-safe.
class Bell {
 public:
  // One listener; dropping the last reference ends it.
  class Ear {
   public:
    explicit Ear(std::function<void()> on_ring) : on_ring_(std::move(on_ring)) {}
    // How often it has rung: whoever read before it rang once more has to read again.
    uint64_t rings() const { return rings_; }

   private:
    friend class Bell;
    const std::function<void()> on_ring_;
    std::atomic<uint64_t> rings_ = 0;
  };

  // `on_ring` is called from the thread that rings, without locks held; quick.
  std::shared_ptr<Ear> Listen(std::function<void()> on_ring) ABSL_LOCKS_EXCLUDED(mutex_);
  // Call after the news can be read.
  void Ring() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  absl::Mutex mutex_;
  std::vector<std::weak_ptr<Ear>> ears_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace sassay::queue

#endif  // SASSAY_PROFILER_SERVICE_QUEUE_BELL_H_
