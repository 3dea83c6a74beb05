// How long to wait before the connection is tried again.
#ifndef SASSAY_AGENT_SUBMIT_RETRY_H_
#define SASSAY_AGENT_SUBMIT_RETRY_H_

#include "absl/time/time.h"
#include "common/rpc/stopper.h"

namespace sassay::agent {

// Exponential, with jitter, so that a restarted service is not met by all its clients in one moment.
struct RetryPolicy {
  absl::Duration first_wait = absl::Milliseconds(200);
  absl::Duration longest_wait = absl::Seconds(10);
  // Time without any success after which to give up.
  absl::Duration give_up_after = absl::Minutes(5);
  // How long one call that sends a blob may take; one that sent something is then made again for the rest.
  absl::Duration write_timeout = absl::Minutes(10);
};

// The waits of one conversation. Thread-compatible.
class Backoff {
 public:
  Backoff(const RetryPolicy& policy, const Stopper& stopper);

  // Waits, longer each time. False if it is time to give up or the stopper stopped.
  bool Wait();
  // Something worked: begin again with the shortest wait.
  void Reset();

 private:
  const RetryPolicy policy_;
  const Stopper& stopper_;
  absl::Duration next_;
  absl::Time last_success_;
};

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_SUBMIT_RETRY_H_
