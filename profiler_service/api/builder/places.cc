#include "profiler_service/api/builder/places.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace sassay::api {

Places::Places(PlaceLimits limits) : limits_(limits) {
  for (uint32_t i = 0; i < limits_.places; ++i) threads_.emplace_back([this] { Loop(); });
}

Places::~Places() {
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  for (std::thread& thread : threads_) thread.join();
}

absl::Status Places::Admit(const std::string& tenant) {
  absl::MutexLock lock(&mutex_);
  if (admitted_ >= limits_.builds) {
    return absl::ResourceExhaustedError(
        absl::StrCat(admitted_, " builds wait or run; this builder takes no more (--max-builds)"));
  }
  uint64_t& own = admitted_of_[tenant];
  if (own >= limits_.builds_of_tenant) {
    return absl::ResourceExhaustedError(
        absl::StrCat(own, " builds of this tenant wait or run; it may have no more (--max-builds-per-tenant)"));
  }
  ++own;
  ++admitted_;
  return absl::OkStatus();
}

void Places::Leave(const std::string& tenant) {
  absl::MutexLock lock(&mutex_);
  --admitted_;
  const auto own = admitted_of_.find(tenant);
  if (--own->second == 0) admitted_of_.erase(own);
}

void Places::Drain(absl::Time deadline) {
  std::vector<std::function<void()>> waiting;
  {
    absl::MutexLock lock(&mutex_);
    draining_ = true;
    while (!turns_.empty()) waiting.push_back(Take());
  }
  for (const std::function<void()>& build : waiting) build();
  absl::MutexLock lock(&mutex_);
  mutex_.AwaitWithDeadline(absl::Condition(this, &Places::Quiet), deadline);
}

uint64_t Places::Post(const std::string& tenant, std::function<void()> build) {
  absl::MutexLock lock(&mutex_);
  std::deque<Waiting>& own = waiting_[tenant];
  if (own.empty()) turns_.push_back(tenant);
  own.push_back({++last_ticket_, std::move(build)});
  return last_ticket_;
}

void Places::Forget(const std::string& tenant, uint64_t ticket) {
  std::function<void()> forgotten;  // destroyed without the lock
  absl::MutexLock lock(&mutex_);
  const auto own = waiting_.find(tenant);
  if (own == waiting_.end()) return;
  std::deque<Waiting>& builds = own->second;
  const auto found =
      std::find_if(builds.begin(), builds.end(), [&](const Waiting& build) { return build.ticket == ticket; });
  if (found == builds.end()) return;
  forgotten = std::move(found->build);
  builds.erase(found);
  if (!builds.empty()) return;
  waiting_.erase(own);
  turns_.erase(std::find(turns_.begin(), turns_.end(), tenant));
}

std::function<void()> Places::Take() {
  const std::string tenant = std::move(turns_.front());
  turns_.pop_front();
  const auto own = waiting_.find(tenant);
  std::function<void()> build = std::move(own->second.front().build);
  own->second.pop_front();
  if (own->second.empty()) {
    waiting_.erase(own);
  } else {
    turns_.push_back(tenant);
  }
  return build;
}

void Places::Loop() {
  for (;;) {
    std::function<void()> build;
    {
      absl::MutexLock lock(&mutex_);
      mutex_.Await(absl::Condition(this, &Places::SomethingToDo));
      if (stopping_) return;
      build = Take();
      ++running_;
    }
    build();
    build = nullptr;
    absl::MutexLock lock(&mutex_);
    --running_;
  }
}

}  // namespace sassay::api
