#include "profiler_service/telemetry/hub.h"

#include <utility>

#include "absl/time/clock.h"
#include "common/base/proto_time.h"

namespace sassay::telemetry {

Watcher::Watcher(size_t backlog, std::function<void()> on_ready) : backlog_(backlog), on_ready_(std::move(on_ready)) {}

absl::optional<sassay::v1::Telemetry> Watcher::Take() {
  absl::MutexLock lock(&mutex_);
  if (waiting_.empty()) return absl::nullopt;
  sassay::v1::Telemetry oldest = std::move(waiting_.front());
  waiting_.pop_front();
  return oldest;
}

bool Watcher::waiting() const {
  absl::MutexLock lock(&mutex_);
  return !waiting_.empty();
}

void Watcher::Offer(const sassay::v1::Telemetry& message) {
  {
    absl::MutexLock lock(&mutex_);
    if (waiting_.size() == backlog_) waiting_.pop_front();
    waiting_.push_back(message);
    waiting_.back().set_sequence(++sequence_);
    if (waiting_.size() > 1) return;
  }
  on_ready_();
}

void Hub::Publish(sassay::v1::Telemetry message) {
  std::vector<std::shared_ptr<Watcher>> watchers;
  {
    absl::MutexLock lock(&mutex_);
    for (auto watcher = watchers_.begin(); watcher != watchers_.end();) {
      std::shared_ptr<Watcher> alive = watcher->lock();
      watcher = alive == nullptr ? watchers_.erase(watcher) : watcher + 1;
      if (alive != nullptr) watchers.push_back(std::move(alive));
    }
  }
  if (watchers.empty()) return;
  if (!message.has_at()) SetTimestamp(absl::Now(), *message.mutable_at());
  for (const std::shared_ptr<Watcher>& watcher : watchers) watcher->Offer(message);
}

std::shared_ptr<Watcher> Hub::Watch(size_t backlog, std::function<void()> on_ready) {
  auto watcher = std::make_shared<Watcher>(backlog, std::move(on_ready));
  absl::MutexLock lock(&mutex_);
  watchers_.push_back(watcher);
  return watcher;
}

size_t Hub::watchers() const {
  absl::MutexLock lock(&mutex_);
  size_t alive = 0;
  for (const std::weak_ptr<Watcher>& watcher : watchers_) alive += watcher.expired() ? 0 : 1;
  return alive;
}

}  // namespace sassay::telemetry
