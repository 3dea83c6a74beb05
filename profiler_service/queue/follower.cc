#include "profiler_service/queue/follower.h"

#include <utility>

namespace sassay::queue {

Follower::Follower(store::Store& store, Look look) : look_(std::move(look)) {
  {
    absl::MutexLock lock(&mutex_);
    pending_.everything = true;
  }
  watch_ = store.Observe([this](const store::Changes& changes) {
    absl::MutexLock lock(&mutex_);
    pending_.Add(changes);
  });
  thread_ = std::thread([this] { Loop(); });
}

Follower::~Follower() {
  watch_.reset();
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  thread_.join();
}

void Follower::Loop() {
  for (;;) {
    store::Changes changes;
    {
      absl::MutexLock lock(&mutex_, absl::Condition(this, &Follower::SomethingToDo));
      if (stopping_) return;
      changes = std::exchange(pending_, store::Changes());
    }
    look_(changes);
  }
}

}  // namespace sassay::queue
