#include "profiler_service/api/ports/io_pool.h"

#include <utility>

namespace sassay::api {

IoPool::IoPool(int threads) {
  for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { Loop(); });
}

IoPool::~IoPool() {
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  for (std::thread& thread : threads_) thread.join();
}

void IoPool::Post(const std::string& tenant, std::function<void()> work) {
  absl::MutexLock lock(&mutex_);
  Works& works = work_[tenant];
  if (works.empty()) turns_.push_back(tenant);
  works.push_back(std::move(work));
}

std::function<void()> IoPool::Take() {
  const std::string tenant = std::move(turns_.front());
  turns_.pop_front();
  const auto works = work_.find(tenant);
  std::function<void()> work = std::move(works->second.front());
  works->second.pop_front();
  if (works->second.empty()) {
    work_.erase(works);
  } else {
    turns_.push_back(tenant);
  }
  return work;
}

void IoPool::Loop() {
  for (;;) {
    std::function<void()> work;
    {
      absl::MutexLock lock(&mutex_, absl::Condition(this, &IoPool::SomethingToDo));
      if (turns_.empty()) return;
      work = Take();
    }
    work();
  }
}

}  // namespace sassay::api
