#include "profiler_service/api/builder/places.h"

#include <optional>
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
    while (!waiting_.empty()) waiting.push_back(waiting_.Take().build);
  }
  for (const std::function<void()>& build : waiting) build();
  absl::MutexLock lock(&mutex_);
  mutex_.AwaitWithDeadline(absl::Condition(this, &Places::Quiet), deadline);
}

uint64_t Places::Post(const std::string& tenant, std::function<void()> build) {
  absl::MutexLock lock(&mutex_);
  waiting_.Push(tenant, {++last_ticket_, std::move(build)});
  return last_ticket_;
}

void Places::Forget(const std::string& tenant, uint64_t ticket) {
  std::optional<Waiting> forgotten;  // destroyed without the lock
  absl::MutexLock lock(&mutex_);
  forgotten = waiting_.Remove(tenant, [&](const Waiting& build) { return build.ticket == ticket; });
}

void Places::Loop() {
  for (;;) {
    std::function<void()> build;
    {
      absl::MutexLock lock(&mutex_);
      mutex_.Await(absl::Condition(this, &Places::SomethingToDo));
      if (stopping_) return;
      build = waiting_.Take().build;
      ++running_;
    }
    build();
    build = nullptr;
    absl::MutexLock lock(&mutex_);
    --running_;
  }
}

}  // namespace sassay::api
