#include "agent/submit/retry.h"

#include <algorithm>

#include "common/base/steady_time.h"
#include "common/rpc/jitter.h"

namespace sassay::agent {

Backoff::Backoff(const RetryPolicy& policy, const Stopper& stopper) : policy_(policy), stopper_(stopper) { Reset(); }

void Backoff::Reset() {
  next_ = policy_.first_wait;
  last_success_ = SteadyNow();
}

bool Backoff::Wait() {
  if (SteadyNow() - last_success_ >= policy_.give_up_after) return false;
  const absl::Duration wait = WithJitter(next_);
  next_ = std::min(next_ * 2, policy_.longest_wait);
  return stopper_.Sleep(wait);
}

}  // namespace sassay::agent
