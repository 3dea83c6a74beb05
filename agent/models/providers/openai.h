// OpenAI's chat completions, as vLLM, SGLang, llama.cpp, OpenRouter and OpenAI speak them.
#ifndef SASSAY_AGENT_MODELS_PROVIDERS_OPENAI_H_
#define SASSAY_AGENT_MODELS_PROVIDERS_OPENAI_H_

#include <atomic>
#include <memory>
#include <string>

#include "agent/models/providers/dialect.h"

namespace sassay::agent {

// How a server's dialect begins; what it refuses is learnt on the way.
struct OpenAiOptions {
  std::string model;
  // Newer models of OpenAI know max_completion_tokens only, older servers max_tokens only.
  bool max_completion_tokens = false;
  // OpenRouter tells the cost if it is asked. Of others it is not believed: a wrong one would get round a budget.
  bool asks_for_cost = false;
};

// The dialect. Reads `reasoning_content` (vLLM, SGLang, llama.cpp, DeepSeek) and `reasoning` (OpenRouter, newer vLLM).
std::unique_ptr<Dialect> NewOpenAiDialect(const OpenAiOptions& options);

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_MODELS_PROVIDERS_OPENAI_H_
