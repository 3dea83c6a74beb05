// What differs between providers: how a request is spelled, and how an answer is read.
#ifndef SASSAY_AGENT_MODELS_PROVIDERS_DIALECT_H_
#define SASSAY_AGENT_MODELS_PROVIDERS_DIALECT_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "agent/models/http/request_body.h"
#include "agent/models/model.h"
#include "agent/models/providers/api_error.h"

namespace sassay::agent {

// What has arrived of an answer. Bounded: an endless answer is RESOURCE_EXHAUSTED.
struct AnswerDraft {
  absl::Status AppendText(absl::string_view piece) { return Append(piece, *answered.mutable_text()); }
  absl::Status AppendReasoning(absl::string_view piece) { return Append(piece, *answered.mutable_reasoning()); }

  v1::Answered answered;
  bool has_usage = false;
  // The provider has said why it stopped.
  bool finished = false;
  // The last event of a stream has come.
  bool ended = false;
  // Pieces of content so far; keep-alives do not count.
  uint64_t pieces = 0;
  // Instead of an answer.
  absl::optional<ApiError> error;

 private:
  absl::Status Append(absl::string_view piece, std::string& to);
};

// Reads one answer. Texts are hostile. Thread-compatible. Failure: DATA_LOSS for what is no answer in this dialect.
class AnswerDecoder {
 public:
  virtual ~AnswerDecoder() = default;
  virtual absl::Status TakeEvent(absl::string_view type, absl::string_view untrusted_data, AnswerDraft& draft) = 0;
  virtual absl::Status TakeWhole(absl::string_view untrusted_body, AnswerDraft& draft) = 0;
};

// A provider's way to speak. Thread-safe.
class Dialect {
 public:
  virtual ~Dialect() = default;
  virtual std::vector<std::pair<std::string, std::string>> Headers() const = 0;
  // Header and prefix with which the key is sent.
  virtual std::pair<std::string, std::string> KeyHeader() const = 0;
  virtual RequestBody Body(const GenerationRequest& request) const = 0;
  virtual std::unique_ptr<AnswerDecoder> NewDecoder() const = 0;
  // Learns from a refusal. True if the next request will differ in what was refused.
  virtual bool Adjust(const ApiError& error) = 0;
};

// The seed of one turn: the same for the same run seed, trajectory and turn; fits 31 bits, which every server takes.
uint32_t SeedOf(const GenerationRequest& request);

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_MODELS_PROVIDERS_DIALECT_H_
