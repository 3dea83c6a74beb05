// What the service sees, for whoever watches: stages, faults, timings, workers.
//
// Why: the monitor must hear of a fault within a moment, and nothing that serves candidates may wait for the monitor.
#ifndef SASSAY_PROFILER_SERVICE_TELEMETRY_HUB_H_
#define SASSAY_PROFILER_SERVICE_TELEMETRY_HUB_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/optional.h"
#include "sassay/v1/control.pb.h"

namespace sassay::telemetry {

// One watcher's bounded backlog: what it does not take in time is dropped, oldest first, which shows as a gap of the
// sequence. Thread-safe, one taker.
class Watcher {
 public:
  // `on_ready` is called from the thread that publishes, when something has come and nothing was there before; quick.
  Watcher(size_t backlog, std::function<void()> on_ready);
  // The oldest message that is left, with its sequence.
  absl::optional<sassay::v1::Telemetry> Take() ABSL_LOCKS_EXCLUDED(mutex_);
  // Whether Take would give one.
  bool waiting() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  friend class Hub;
  void Offer(const sassay::v1::Telemetry& message) ABSL_LOCKS_EXCLUDED(mutex_);

  const size_t backlog_;
  const std::function<void()> on_ready_;
  mutable absl::Mutex mutex_;
  uint64_t sequence_ ABSL_GUARDED_BY(mutex_) = 0;
  std::deque<sassay::v1::Telemetry> waiting_ ABSL_GUARDED_BY(mutex_);
};

// Thread-safe. Publishing never waits and costs next to nothing while nobody watches.
class Hub {
 public:
  // The time is set where the message has none.
  void Publish(sassay::v1::Telemetry message) ABSL_LOCKS_EXCLUDED(mutex_);
  // Watches until the last reference is dropped.
  std::shared_ptr<Watcher> Watch(size_t backlog, std::function<void()> on_ready) ABSL_LOCKS_EXCLUDED(mutex_);
  size_t watchers() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  mutable absl::Mutex mutex_;
  std::vector<std::weak_ptr<Watcher>> watchers_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace sassay::telemetry

#endif  // SASSAY_PROFILER_SERVICE_TELEMETRY_HUB_H_
