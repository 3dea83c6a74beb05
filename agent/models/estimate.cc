#include "agent/models/estimate.h"

namespace sassay::agent {
namespace {

constexpr uint64_t kBytesPerToken = 4;

}  // namespace

void EstimateUsage(const GenerationRequest& request, v1::Answered& answer) {
  uint64_t prompt_bytes = 0;
  for (const ChatMessage& message : request.messages) prompt_bytes += message.text->size();
  v1::Usage& usage = *answer.mutable_usage();
  usage.set_prompt_tokens(prompt_bytes / kBytesPerToken);
  usage.set_completion_tokens((answer.text().size() + answer.reasoning().size()) / kBytesPerToken);
  usage.set_reasoning_tokens(answer.reasoning().size() / kBytesPerToken);
  usage.set_estimated(true);
}

}  // namespace sassay::agent
