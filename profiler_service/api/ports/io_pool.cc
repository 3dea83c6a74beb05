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
  work_.Push(tenant, std::move(work));
}

void IoPool::Loop() {
  for (;;) {
    std::function<void()> work;
    {
      absl::MutexLock lock(&mutex_, absl::Condition(this, &IoPool::SomethingToDo));
      if (work_.empty()) return;
      work = work_.Take();
    }
    work();
  }
}

}  // namespace sassay::api
