#include "agent/rollout/slots.h"

#include <algorithm>

namespace sassay::agent {

Slots::Place& Slots::Place::operator=(Place&& other) noexcept {
  Release();
  slots_ = std::exchange(other.slots_, nullptr);
  return *this;
}

void Slots::Place::Release() {
  if (slots_ != nullptr) std::exchange(slots_, nullptr)->GiveBack();
}

Slots::Place Slots::Take() {
  absl::MutexLock lock(&mutex_);
  if (closed_) return Place();
  if (free_ > 0) {
    --free_;
    return Place(this);
  }
  Waiter waiter;
  waiting_.push_back(&waiter);
  while (!waiter.given && !closed_) waiter.called.Wait(&mutex_);
  if (waiter.given) return Place(this);
  waiting_.erase(std::find(waiting_.begin(), waiting_.end(), &waiter));
  return Place();
}

void Slots::Close() {
  absl::MutexLock lock(&mutex_);
  closed_ = true;
  for (Waiter* waiter : waiting_) waiter->called.Signal();
}

void Slots::GiveBack() {
  absl::MutexLock lock(&mutex_);
  if (waiting_.empty() || closed_) {
    ++free_;
    return;
  }
  Waiter* const next = waiting_.front();
  waiting_.pop_front();
  next->given = true;
  next->called.Signal();
}

}  // namespace sassay::agent
