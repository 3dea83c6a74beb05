// Which of its earlier turns a model is shown, and the messages that show them.
#ifndef SASSAY_AGENT_ROLLOUT_CONVERSATION_H_
#define SASSAY_AGENT_ROLLOUT_CONVERSATION_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "agent/models/model.h"
#include "agent/trajectory/trajectory.h"

namespace sassay::agent {

// The earlier turns that the policy shows, in order. The best one is the fastest correct one, or the first correct one
// where nothing was timed; where none is correct there is no best one, and the last one is shown alone.
std::vector<uint32_t> TurnsToShow(v1::ContextPolicy policy, absl::Span<const Turn> earlier);

// What one turn adds to a conversation. The texts are shared with the messages that show them: a request of hundreds of
// kilobytes costs no second copy.
struct ToldTurn {
  std::shared_ptr<const std::string> answer;
  std::shared_ptr<const std::string> feedback;
};

// System prompt, task, and answer and feedback of each turn shown. An empty answer is shown as words that say so:
// providers refuse empty messages.
std::vector<ChatMessage> MessagesOf(std::shared_ptr<const std::string> system, std::shared_ptr<const std::string> user,
                                    absl::Span<const ToldTurn> told, absl::Span<const uint32_t> shown);

// SHA-256 over roles, lengths and texts, lower-case hex.
std::string MessagesDigest(const std::vector<ChatMessage>& messages);

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_ROLLOUT_CONVERSATION_H_
