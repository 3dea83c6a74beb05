#include "profiler_service/store/sql/echo_announcer.h"

#include <algorithm>
#include <string>
#include <utility>

namespace sassay::store::sql {

// Its mutex is held while it is called: whoever ends the watching waits for that.
struct EchoAnnouncer::Listener {
  explicit Listener(Observer given) : observer(std::move(given)) {}
  absl::Mutex calling;
  Observer observer ABSL_GUARDED_BY(calling);
};

class EchoAnnouncer::Listening : public Watch {
 public:
  Listening(EchoAnnouncer& announcer, std::shared_ptr<Listener> listener)
      : announcer_(announcer), listener_(std::move(listener)) {}
  ~Listening() override {
    others.reset();
    {
      absl::MutexLock lock(&announcer_.mutex_);
      auto& all = announcer_.listeners_;
      all.erase(std::remove(all.begin(), all.end(), listener_), all.end());
    }
    absl::MutexLock lock(&listener_->calling);
    listener_->observer = nullptr;
  }

  std::unique_ptr<Watch> others;

 private:
  EchoAnnouncer& announcer_;
  const std::shared_ptr<Listener> listener_;
};

EchoAnnouncer::EchoAnnouncer(std::unique_ptr<Announcer> others)
    : others_(std::move(others)), thread_([this] { Tell(); }) {}

EchoAnnouncer::~EchoAnnouncer() {
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  thread_.join();
}

void EchoAnnouncer::Announce(const Changes& changes) {
  if (others_ != nullptr) others_->Announce(changes);
  absl::MutexLock lock(&mutex_);
  pending_.Add(changes);
}

std::unique_ptr<Watch> EchoAnnouncer::Observe(Observer observer) {
  auto listener = std::make_shared<Listener>(std::move(observer));
  auto listening = std::make_unique<Listening>(*this, listener);
  const auto call = [listener](const Changes& changes) {
    absl::MutexLock lock(&listener->calling);
    if (listener->observer != nullptr) listener->observer(changes);
  };
  if (others_ != nullptr) listening->others = others_->Observe(call);
  absl::MutexLock lock(&mutex_);
  listeners_.push_back(std::move(listener));
  return listening;
}

void EchoAnnouncer::Tell() {
  for (;;) {
    Changes changes;
    std::vector<std::shared_ptr<Listener>> listeners;
    {
      absl::MutexLock lock(&mutex_, absl::Condition(this, &EchoAnnouncer::SomethingToDo));
      if (stopping_) return;
      changes = std::exchange(pending_, Changes());
      listeners = listeners_;
    }
    std::sort(changes.submissions.begin(), changes.submissions.end());
    for (const std::shared_ptr<Listener>& listener : listeners) {
      absl::MutexLock lock(&listener->calling);
      if (listener->observer != nullptr) listener->observer(changes);
    }
  }
}

}  // namespace sassay::store::sql
