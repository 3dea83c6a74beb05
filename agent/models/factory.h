// From settings to a model: `--model ID --endpoint URL --provider auto|openai|anthropic`, `--model replay:DIR`,
// `--model command:CMD`.
#ifndef SASSAY_AGENT_MODELS_FACTORY_H_
#define SASSAY_AGENT_MODELS_FACTORY_H_

#include <map>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "agent/config/settings.h"
#include "agent/models/model.h"

namespace sassay::agent {

// Which model the settings mean, as a run's manifest keeps it.
struct ModelIdentity {
  // As the provider calls it; for replay and command what follows the colon.
  std::string model;
  // "openai", "anthropic", "replay", "command".
  std::string provider;
  // Where requests are posted to; empty for replay and command.
  std::string endpoint;
};

// INVALID_ARGUMENT says what is missing and gives an example. Reads no key and asks no server.
absl::StatusOr<ModelIdentity> IdentifyModel(const Settings& settings);

// The model. FAILED_PRECONDITION for keys and certificates that cannot be used, NOT_FOUND for a replay that is none; no
// server is asked yet.
absl::StatusOr<std::unique_ptr<Model>> OpenModel(const Settings& settings,
                                                 const std::map<std::string, std::string>& environment);

// temperature, top_p, max_tokens, seed and reasoning_effort. INVALID_ARGUMENT for numbers out of range.
absl::StatusOr<v1::Sampling> SamplingFrom(const Settings& settings);

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_MODELS_FACTORY_H_
