#include "monitor/sources/stakes.h"

namespace sassay::monitor {

void Stakes::Set(const std::string& gpu, bool works, absl::Time now) {
  absl::MutexLock lock(&mutex_);
  absl::Time& until = until_.try_emplace(gpu, absl::InfinitePast()).first->second;
  if (works) {
    until = absl::InfiniteFuture();
  } else if (until == absl::InfiniteFuture()) {
    until = now + kLinger;
  }
}

bool Stakes::Any(absl::string_view gpu, absl::Time now) const {
  absl::MutexLock lock(&mutex_);
  const auto found = until_.find(gpu);
  return found != until_.end() && now < found->second;
}

}  // namespace sassay::monitor
