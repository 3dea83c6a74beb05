#include "monitor/rules/state/restart_backoff.h"

#include <algorithm>

namespace sassay::monitor {

absl::Duration RestartBackoff::Pause(absl::Time now) const {
  double pause = policy_.first_delay_s();
  for (size_t i = 1; i < restarts_.size(); ++i) {
    if (now - restarts_[i - 1] > absl::Seconds(policy_.forget_after_s())) continue;
    pause = std::min(pause * policy_.factor(), policy_.max_delay_s());
  }
  return absl::Seconds(std::min(pause, policy_.max_delay_s()));
}

bool RestartBackoff::Allowed(absl::Time now) const {
  if (restarts_.empty()) return true;
  if (now - restarts_.back() > absl::Seconds(policy_.forget_after_s())) return true;
  return !Storm(now) && now - restarts_.back() >= Pause(now);
}

void RestartBackoff::Made(absl::Time now) {
  restarts_.push_back(now);
  while (restarts_.size() > policy_.limit()) restarts_.pop_front();
}

bool RestartBackoff::Storm(absl::Time now) const {
  return restarts_.size() >= policy_.limit() && now - restarts_.front() <= absl::Seconds(policy_.limit_within_s());
}

}  // namespace sassay::monitor
