// Anthropic's messages.
#ifndef SASSAY_AGENT_MODELS_PROVIDERS_ANTHROPIC_H_
#define SASSAY_AGENT_MODELS_PROVIDERS_ANTHROPIC_H_

#include <memory>
#include <string>

#include "agent/models/providers/dialect.h"

namespace sassay::agent {

// Tokens of an answer where the settings name no limit: this provider wants one.
inline constexpr uint32_t kAnthropicMaxTokens = 32000;

// The dialect. The system prompt and the first message, which all turns of a task share, are marked for the provider's
// cache. Sampling.reasoning_effort: a number is a budget of thinking tokens; a word ("low", "high", …) is the effort of
// models that decide for themselves, and for older ones a budget that stands for it. Seeds are not sent: there are
// none.
std::unique_ptr<Dialect> NewAnthropicDialect(const std::string& model);

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_MODELS_PROVIDERS_ANTHROPIC_H_
