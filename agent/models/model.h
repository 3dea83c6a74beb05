// A language model as the rollout loop sees it: messages in, one answer out.
#ifndef SASSAY_AGENT_MODELS_MODEL_H_
#define SASSAY_AGENT_MODELS_MODEL_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/rpc/stopper.h"
#include "sassay/v1/trajectory.pb.h"

namespace sassay::agent {

// One message of a conversation. Texts are shared: many conversations begin with the same one.
struct ChatMessage {
  enum class Role { kSystem, kUser, kAssistant };
  Role role;
  std::shared_ptr<const std::string> text;
};

// What is asked of a model.
struct GenerationRequest {
  std::vector<ChatMessage> messages;
  v1::Sampling sampling;
  // The same key means the same answer is wanted: a provider that knows such keys answers a repeated call from memory.
  std::string idempotency_key;
  // Which turn this is, for models that answer from recordings.
  std::string trajectory_id;
  uint32_t turn = 0;
  // Once it is stopped nothing is asked again: what arrives may arrive, waits and further tries end with CANCELLED. Who
  // stops the call itself stops this one, too. Null: only the call's own stopper ends its waits.
  Stopper* tries = nullptr;
};

// Called while an answer arrives, from a thread of the model's own; must not block.
struct GenerationListener {
  // Characters of text and of reasoning that have arrived so far.
  std::function<void(uint64_t text_bytes, uint64_t reasoning_bytes)> on_progress = [](uint64_t, uint64_t) {};
  // "429 Too Many Requests, trying again in 7 s".
  std::function<void(absl::string_view)> on_note = [](absl::string_view) {};
};

// Gives answers.
//
// Life cycle: one object for a run, shared by all trajectories. Threads: Generate from any number of threads at once;
// it blocks until the answer is whole, and keeps rate limits and limits on concurrent calls by itself. Failure: what
// may pass (429, 5xx, a cut stream, a time-out) is retried inside, with the server's Retry-After; what reaches the
// caller is UNAVAILABLE after the policy's patience; UNAUTHENTICATED, PERMISSION_DENIED (no access, no credit),
// NOT_FOUND (no such model, address or program) and FAILED_PRECONDITION (a certificate that is not trusted), each of
// which ends the whole run; INVALID_ARGUMENT and RESOURCE_EXHAUSTED (this conversation cannot go on: its context is too
// long, the provider refuses it); CANCELLED by the stopper. No message holds a credential.
class Model {
 public:
  virtual ~Model() = default;
  // The answer, with turn, text, reasoning, usage and times filled in.
  virtual absl::StatusOr<v1::Answered> Generate(const GenerationRequest& request, const GenerationListener& listener,
                                                Stopper& stopper) = 0;
};

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_MODELS_MODEL_H_
