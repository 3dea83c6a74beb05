// Patience: what may pass is tried again, for all providers alike.
#ifndef SASSAY_AGENT_MODELS_RETRYING_MODEL_H_
#define SASSAY_AGENT_MODELS_RETRYING_MODEL_H_

#include <memory>

#include "agent/models/backend.h"
#include "agent/models/throttle.h"

namespace sassay::agent {

// How long to go on.
struct Patience {
  absl::Duration first_wait = absl::Seconds(1);
  absl::Duration longest_wait = absl::Minutes(1);
  // Time of one answer spent waiting and being turned away. What a try took that began to answer does not count: it may
  // be longer than this.
  absl::Duration give_up_after = absl::Minutes(15);
  // Tries of one answer that began and broke, each of which may have cost its tokens.
  uint32_t broken_tries = 8;
};

// A backend that is asked again: exponential waits with jitter, the server's own wish where it has one, and one
// throttle for all callers.
//
// Failure: as Model says; messages name how often and for how long it was tried.
class RetryingModel : public Model {
 public:
  // `limit`: calls at once; 0 for any number.
  RetryingModel(std::unique_ptr<Backend> backend, const Patience& patience, uint32_t limit);
  absl::StatusOr<v1::Answered> Generate(const GenerationRequest& request, const GenerationListener& listener,
                                        Stopper& stopper) override;

 private:
  const std::unique_ptr<Backend> backend_;
  const Patience patience_;
  Throttle throttle_;
};

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_MODELS_RETRYING_MODEL_H_
