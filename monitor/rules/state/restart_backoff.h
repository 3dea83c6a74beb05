// When workers or a service may be restarted again, so that a restart that does not help is not made for ever.
#ifndef SASSAY_MONITOR_RULES_STATE_RESTART_BACKOFF_H_
#define SASSAY_MONITOR_RULES_STATE_RESTART_BACKOFF_H_

#include <deque>

#include "absl/time/time.h"
#include "sassay/v1/monitor.pb.h"

namespace sassay::monitor {

// Thread-compatible; times are steady; remembers `limit` restarts at most.
class RestartBackoff {
 public:
  // `policy` must outlive it.
  explicit RestartBackoff(const v1::RestartPolicy& policy) : policy_(policy) {}

  // Whether a restart is allowed now: the pause since the last one is over, and it is not a storm.
  bool Allowed(absl::Time now) const;
  // One was made.
  void Made(absl::Time now);
  // As many as the limit within its time: it is a storm until the first of them is old enough.
  bool Storm(absl::Time now) const;

  const std::deque<absl::Time>& restarts() const { return restarts_; }
  void Restore(std::deque<absl::Time> restarts) { restarts_ = std::move(restarts); }

 private:
  absl::Duration Pause(absl::Time now) const;

  const v1::RestartPolicy& policy_;
  std::deque<absl::Time> restarts_;
};

}  // namespace sassay::monitor

#endif  // SASSAY_MONITOR_RULES_STATE_RESTART_BACKOFF_H_
