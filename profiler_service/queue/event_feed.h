// Live events without polling: whoever watches a submission is told the moment an event is durable.
#ifndef SASSAY_PROFILER_SERVICE_QUEUE_EVENT_FEED_H_
#define SASSAY_PROFILER_SERVICE_QUEUE_EVENT_FEED_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/optional.h"
#include "profiler_service/store/store.h"
#include "sassay/v1/events.pb.h"

namespace sassay::queue {

class EventFeed;

// One watcher's position in one submission's events. The watcher pulls; the feed only says that there is more. So a
// slow client holds back nobody and costs a few events of memory: what does not fit is read from the store later.
//
// Life cycle: made by EventFeed::Subscribe; dropping the last reference ends it. Threads: thread-safe, one puller.
class Subscription {
 public:
  Subscription(store::Store& store, std::string id, uint64_t after, std::function<void()> on_ready)
      : store_(store), id_(std::move(id)), next_(after + 1), on_ready_(std::move(on_ready)) {}

  // The next event, in order and without gaps; nothing if it has not happened yet, and then on_ready is called when it
  // has. Errors: those of Store::Events.
  absl::StatusOr<absl::optional<sassay::v1::Event>> TryNext() ABSL_LOCKS_EXCLUDED(mutex_);

  // True after TryNext has returned an event that is the last one.
  bool ended() const ABSL_LOCKS_EXCLUDED(mutex_);

  // Whether TryNext would return an event that was published after the subscription began.
  bool ready() const ABSL_LOCKS_EXCLUDED(mutex_);

  // For a watcher who has seen the last event already.
  void End() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  friend class EventFeed;
  using EventPtr = std::shared_ptr<const sassay::v1::Event>;

  void Offer(const EventPtr& event) ABSL_LOCKS_EXCLUDED(mutex_);
  // Says that the store may hold events up to `sequence`.
  void Expect(uint64_t sequence) ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status Refill() ABSL_LOCKS_EXCLUDED(mutex_);
  absl::optional<sassay::v1::Event> Take() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  store::Store& store_;
  const std::string id_;
  mutable absl::Mutex mutex_;
  uint64_t next_ ABSL_GUARDED_BY(mutex_);
  uint64_t known_ ABSL_GUARDED_BY(mutex_) = 0;    // the store may hold events up to here
  uint64_t offered_ ABSL_GUARDED_BY(mutex_) = 0;  // the store does hold events up to here
  std::deque<EventPtr> buffer_ ABSL_GUARDED_BY(mutex_);
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
  const std::function<void()> on_ready_;
};

// Connects who writes events with who watches. Thread-safe.
class EventFeed {
 public:
  explicit EventFeed(store::Store& store) : store_(store) {}

  // Watches from `after` on. `on_ready` is called from the thread that publishes, without locks held; it must be quick
  // and may be called once more while the subscription is being dropped.
  std::shared_ptr<Subscription> Subscribe(const std::string& id, uint64_t after, std::function<void()> on_ready)
      ABSL_LOCKS_EXCLUDED(mutex_);

  // For a submission that has ended: everything is in the store, nobody would take the watcher off the list.
  void Unsubscribe(const std::string& id, const Subscription& subscription) ABSL_LOCKS_EXCLUDED(mutex_);

  // How many are on the list.
  size_t watchers() const ABSL_LOCKS_EXCLUDED(mutex_);

  // Tells the watchers. Call after the event is durable, in the order of the sequence.
  void Publish(const sassay::v1::Event& event) ABSL_LOCKS_EXCLUDED(mutex_);

  // Tells the watchers what other processes have written about those of `ids` that are watched, or about all that is.
  // Errors: those of Store::Events and Store::Progress; whoever calls again finds the rest.
  absl::Status Look(const std::vector<std::string>& ids) ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status LookAtAll() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  // A submission that is watched.
  struct Watched {
    std::vector<std::weak_ptr<Subscription>> watchers;
    uint64_t told = 0;  // the last event that they were told of, or that the first of them knew
  };

  std::vector<std::shared_ptr<Subscription>> WatchersOf(const sassay::v1::Event& event) ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status LookAt(const std::string& id) ABSL_LOCKS_EXCLUDED(mutex_);
  // The last event that its watchers were told of; nothing if it has none.
  absl::optional<uint64_t> ToldOf(const std::string& id) const ABSL_LOCKS_EXCLUDED(mutex_);
  std::vector<std::string> WatchedIds() ABSL_LOCKS_EXCLUDED(mutex_);

  store::Store& store_;
  mutable absl::Mutex mutex_;
  std::unordered_map<std::string, Watched> watched_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace sassay::queue

#endif  // SASSAY_PROFILER_SERVICE_QUEUE_EVENT_FEED_H_
