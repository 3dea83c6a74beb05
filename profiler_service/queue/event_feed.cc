#include "profiler_service/queue/event_feed.h"

#include <algorithm>
#include <utility>

#include "common/base/status_macros.h"

namespace sassay::queue {
namespace {

constexpr size_t kBufferedEvents = 16;
constexpr size_t kPageEvents = 64;
constexpr size_t kProgressAtOnce = 1000;

void DropExpired(std::vector<std::weak_ptr<Subscription>>& watchers) {
  watchers.erase(
      std::remove_if(watchers.begin(), watchers.end(), [](const auto& watcher) { return watcher.expired(); }),
      watchers.end());
}

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
  Watched& watched = watched_[id];
  DropExpired(watched.watchers);
  if (watched.watchers.empty()) watched.told = after;
  watched.watchers.push_back(subscription);
  return subscription;
}

void EventFeed::Unsubscribe(const std::string& id, const Subscription& subscription) {
  absl::MutexLock lock(&mutex_);
  const auto found = watched_.find(id);
  if (found == watched_.end()) return;
  auto& list = found->second.watchers;
  list.erase(std::remove_if(list.begin(), list.end(),
                            [&](const auto& watcher) {
                              const std::shared_ptr<Subscription> alive = watcher.lock();
                              return alive == nullptr || alive.get() == &subscription;
                            }),
             list.end());
  if (list.empty()) watched_.erase(found);
}

size_t EventFeed::watchers() const {
  size_t count = 0;
  absl::MutexLock lock(&mutex_);
  for (const auto& [id, watched] : watched_) count += watched.watchers.size();
  return count;
}

std::vector<std::shared_ptr<Subscription>> EventFeed::WatchersOf(const sassay::v1::Event& event) {
  std::vector<std::shared_ptr<Subscription>> alive;
  absl::MutexLock lock(&mutex_);
  const auto found = watched_.find(event.submission_id());
  if (found == watched_.end()) return alive;
  for (const std::weak_ptr<Subscription>& watcher : found->second.watchers) {
    if (std::shared_ptr<Subscription> subscription = watcher.lock()) alive.push_back(std::move(subscription));
  }
  found->second.told = std::max(found->second.told, event.sequence());
  if (event.last() || alive.empty()) watched_.erase(found);
  return alive;
}

void EventFeed::Publish(const sassay::v1::Event& event) {
  const auto watchers = WatchersOf(event);
  if (watchers.empty()) return;
  const auto shared = std::make_shared<const sassay::v1::Event>(event);
  for (const std::shared_ptr<Subscription>& watcher : watchers) watcher->Offer(shared);
}

absl::optional<uint64_t> EventFeed::ToldOf(const std::string& id) const {
  absl::MutexLock lock(&mutex_);
  const auto found = watched_.find(id);
  return found == watched_.end() ? absl::nullopt : absl::make_optional(found->second.told);
}

std::vector<std::string> EventFeed::WatchedIds() {
  std::vector<std::string> ids;
  absl::MutexLock lock(&mutex_);
  for (auto watched = watched_.begin(); watched != watched_.end();) {
    DropExpired(watched->second.watchers);
    if (watched->second.watchers.empty()) {
      watched = watched_.erase(watched);
    } else {
      ids.push_back((watched++)->first);
    }
  }
  return ids;
}

absl::Status EventFeed::LookAt(const std::string& id) {
  for (;;) {
    const absl::optional<uint64_t> told = ToldOf(id);
    if (!told.has_value()) return absl::OkStatus();
    ASSIGN_OR_RETURN(const std::vector<sassay::v1::Event> page,
                     store_.Events(id, *told, static_cast<int>(kPageEvents)));
    for (const sassay::v1::Event& event : page) Publish(event);
    if (page.size() < kPageEvents) return absl::OkStatus();
  }
}

absl::Status EventFeed::Look(const std::vector<std::string>& ids) {
  for (const std::string& id : ids) RETURN_IF_ERROR(LookAt(id));
  return absl::OkStatus();
}

absl::Status EventFeed::LookAtAll() {
  const std::vector<std::string> ids = WatchedIds();
  for (size_t begin = 0; begin < ids.size(); begin += kProgressAtOnce) {
    const std::vector<std::string> some(
        ids.begin() + static_cast<std::ptrdiff_t>(begin),
        ids.begin() + static_cast<std::ptrdiff_t>(std::min(begin + kProgressAtOnce, ids.size())));
    ASSIGN_OR_RETURN(const std::vector<store::ProgressOf> progress, store_.Progress(some));
    for (const store::ProgressOf& each : progress) {
      if (each.last_sequence > ToldOf(each.id).value_or(each.last_sequence)) RETURN_IF_ERROR(LookAt(each.id));
    }
  }
  return absl::OkStatus();
}

}  // namespace sassay::queue
