#include "profiler_service/queue/bell.h"

#include <algorithm>

namespace sassay::queue {

std::shared_ptr<Bell::Ear> Bell::Listen(std::function<void()> on_ring) {
  auto ear = std::make_shared<Ear>(std::move(on_ring));
  absl::MutexLock lock(&mutex_);
  ears_.erase(std::remove_if(ears_.begin(), ears_.end(), [](const auto& other) { return other.expired(); }),
              ears_.end());
  ears_.push_back(ear);
  return ear;
}

void Bell::Ring() {
  std::vector<std::shared_ptr<Ear>> listening;
  {
    absl::MutexLock lock(&mutex_);
    for (const std::weak_ptr<Ear>& ear : ears_) {
      if (std::shared_ptr<Ear> alive = ear.lock()) listening.push_back(std::move(alive));
    }
  }
  for (const std::shared_ptr<Ear>& ear : listening) {
    ++ear->rings_;
    ear->on_ring_();
  }
}

}  // namespace sassay::queue
