// One try at an answer, as the layer above tries again.
#ifndef SASSAY_AGENT_MODELS_BACKEND_H_
#define SASSAY_AGENT_MODELS_BACKEND_H_

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "agent/models/model.h"

namespace sassay::agent {

// Why a try gave no answer, and what that means for the next one.
struct Failure {
  enum class Kind {
    kFinal,        // another try would end the same
    kBusy,         // turned away before it began: everybody slows down
    kUnreachable,  // nobody there
    kBroken,       // it began, and broke; it may have cost tokens
    kAdjusted,     // the backend knows better now: again, at once
  };
  Kind kind = Kind::kFinal;
  // As Model::Generate returns it, if this was the last try. Holds no credential.
  absl::Status status;
  // What the server asks for.
  absl::optional<absl::Duration> retry_after;
};

// Gives answers, or says why not. Threads: as Model.
class Backend {
 public:
  virtual ~Backend() = default;
  // Nothing if `answer` was filled in: text, reasoning, usage, finish_reason, response_id, model and first_token. The
  // layer above adds turn, wall and retries.
  virtual absl::optional<Failure> Try(const GenerationRequest& request, const GenerationListener& listener,
                                      Stopper& stopper, v1::Answered& answer) = 0;
};

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_MODELS_BACKEND_H_
