// What a provider says when it does not answer, and what that means.
#ifndef SASSAY_AGENT_MODELS_PROVIDERS_API_ERROR_H_
#define SASSAY_AGENT_MODELS_PROVIDERS_API_ERROR_H_

#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "agent/models/backend.h"
#include "nlohmann/json_fwd.hpp"

namespace sassay::agent {

// An error in the form that OpenAI, Anthropic and those who follow them share. Texts are one printable line, shortened.
struct ApiError {
  // As HTTP has it; for an error inside a stream the nearest one.
  int status = 0;
  std::string type;
  std::string code;
  // The parameter that is wrong.
  std::string param;
  std::string message;
};

// Reads the body of an answer with an HTTP error. Whatever the body is, there is a message.
ApiError ReadApiError(int status, absl::string_view untrusted_body);

// Reads an error inside a stream: {"error": {…}}, {"object": "error", …} or any object in an event of type "error".
// Nothing if the event is none.
absl::optional<ApiError> ReadStreamedError(const nlohmann::ordered_json& event, absl::string_view event_type = "");

// What the error means, as the table in docs/models.md has it. `where` begins the message.
Failure Classify(const ApiError& error, absl::string_view where, absl::optional<absl::Duration> retry_after);

// Whether the server does not know this request field at all (and not merely this value of it).
bool DoesNotKnow(const ApiError& error, absl::string_view field);

// "429 Too Many Requests".
std::string StatusText(int status);

// `text` on one line, printable, at most `limit` bytes.
std::string ShortLine(absl::string_view untrusted, size_t limit);

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_MODELS_PROVIDERS_API_ERROR_H_
