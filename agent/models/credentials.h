// Which key goes to which server.
#ifndef SASSAY_AGENT_MODELS_CREDENTIALS_H_
#define SASSAY_AGENT_MODELS_CREDENTIALS_H_

#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "agent/config/settings.h"
#include "agent/models/http/endpoint.h"
#include "agent/models/http/secret.h"

namespace sassay::agent {

// The key for `endpoint`: --api-key-file; else SASSAY_API_KEY; else the variable of the provider whose host it is
// (OPENAI_API_KEY for api.openai.com, ANTHROPIC_API_KEY for api.anthropic.com, OPENROUTER_API_KEY for openrouter.ai):
// a provider's key goes to that provider alone. Empty where there is none and the server may need none.
//
// FAILED_PRECONDITION: a provider that needs a key and none is set; a file that others may read or that holds no key; a
// key that would go through a network in plain text. No message holds a key.
absl::StatusOr<Secret> FindKey(const Settings& settings, const std::map<std::string, std::string>& environment,
                               const Endpoint& endpoint);

// Whether a key may go to `endpoint` though only a folder, which may be somebody else's, names it: this machine, and
// the providers above by TLS.
bool IsKnownServer(const Endpoint& endpoint);

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_MODELS_CREDENTIALS_H_
