#include "profiler_service/queue/event_feed.h"

#include <algorithm>
#include <utility>

#include "common/base/status_macros.h"

namespace sassay::queue {
namespace {

constexpr size_t kBufferedEvents = 16;
constexpr size_t kPageEvents = 64;

}  // namespace

absl::optional<sassay::v1::Event> Subscription::Take() {
  while (!buffer_.empty() && buffer_.front()->sequence() < next_) buffer_.pop_front();
  if (buffer_.empty() || buffer_.front()->sequence() != next_) return absl::nullopt;
  sassay::v1::Event event = *buffer_.front();
  buffer_.pop_front();
  ++next_;
  ended_ = event.last();
  return event;
}

absl::StatusOr<absl::optional<sassay::v1::Event>> Subscription::TryNext() {
  for (bool fresh = false;; fresh = true) {
    {
      absl::MutexLock lock(&mutex_);
      if (ended_) return absl::optional<sassay::v1::Event>();
      absl::optional<sassay::v1::Event> event = Take();
      const uint64_t worth_reading_for = fresh ? offered_ : known_;
      if (event.has_value() || worth_reading_for < next_) return event;
    }
    RETURN_IF_ERROR(Refill());
  }
}

absl::Status Subscription::Refill() {
  uint64_t after;
  {
    absl::MutexLock lock(&mutex_);
    after = next_ - 1;
  }
  ASSIGN_OR_RETURN(std::vector<sassay::v1::Event> page, store_.Events(id_, after, static_cast<int>(kPageEvents)));
  absl::MutexLock lock(&mutex_);
  buffer_.clear();
  for (sassay::v1::Event& event : page) {
    known_ = std::max(known_, event.sequence());
    buffer_.push_back(std::make_shared<const sassay::v1::Event>(std::move(event)));
  }
  if (page.size() == kPageEvents) ++known_;  // a full page may not be the last
  return absl::OkStatus();
}

bool Subscription::ended() const {
  absl::MutexLock lock(&mutex_);
  return ended_;
}

bool Subscription::ready() const {
  absl::MutexLock lock(&mutex_);
  return !ended_ && offered_ >= next_;
}

void Subscription::Offer(const EventPtr& event) {
  {
    absl::MutexLock lock(&mutex_);
    known_ = offered_ = std::max(known_, event->sequence());
    const uint64_t follows = buffer_.empty() ? next_ : buffer_.back()->sequence() + 1;
    if (event->sequence() == follows && buffer_.size() < kBufferedEvents) buffer_.push_back(event);
  }
  on_ready_();
}

void Subscription::Expect(uint64_t sequence) {
  absl::MutexLock lock(&mutex_);
  known_ = std::max(known_, sequence);
}

void Subscription::End() {
  absl::MutexLock lock(&mutex_);
  ended_ = true;
}

std::shared_ptr<Subscription> EventFeed::Subscribe(const std::string& id, uint64_t after,
                                                   std::function<void()> on_ready) {
  auto subscription = std::make_shared<Subscription>(store_, id, after, std::move(on_ready));
  // Registered before anything is read: what happens from now on is offered, what happened before is in the store.
  subscription->Expect(after + 1);
  absl::MutexLock lock(&mutex_);
  std::vector<std::weak_ptr<Subscription>>& watchers = watchers_[id];
  watchers.erase(
      std::remove_if(watchers.begin(), watchers.end(), [](const auto& watcher) { return watcher.expired(); }),
      watchers.end());
  watchers.push_back(subscription);
  return subscription;
}

void EventFeed::Unsubscribe(const std::string& id, const Subscription& subscription) {
  absl::MutexLock lock(&mutex_);
  const auto found = watchers_.find(id);
  if (found == watchers_.end()) return;
  auto& list = found->second;
  list.erase(std::remove_if(list.begin(), list.end(),
                            [&](const auto& watcher) {
                              const std::shared_ptr<Subscription> alive = watcher.lock();
                              return alive == nullptr || alive.get() == &subscription;
                            }),
             list.end());
  if (list.empty()) watchers_.erase(found);
}

size_t EventFeed::watchers() const {
  size_t count = 0;
  absl::MutexLock lock(&mutex_);
  for (const auto& [id, list] : watchers_) count += list.size();
  return count;
}

std::vector<std::shared_ptr<Subscription>> EventFeed::WatchersOf(const std::string& id, bool last) {
  std::vector<std::shared_ptr<Subscription>> alive;
  absl::MutexLock lock(&mutex_);
  const auto found = watchers_.find(id);
  if (found == watchers_.end()) return alive;
  for (const std::weak_ptr<Subscription>& watcher : found->second) {
    if (std::shared_ptr<Subscription> subscription = watcher.lock()) alive.push_back(std::move(subscription));
  }
  if (last || alive.empty()) watchers_.erase(found);
  return alive;
}

void EventFeed::Publish(const sassay::v1::Event& event) {
  const auto watchers = WatchersOf(event.submission_id(), event.last());
  if (watchers.empty()) return;
  const auto shared = std::make_shared<const sassay::v1::Event>(event);
  for (const std::shared_ptr<Subscription>& watcher : watchers) watcher->Offer(shared);
}

}  // namespace sassay::queue
