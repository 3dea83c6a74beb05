#include "agent/rollout/conversation.h"

#include <numeric>
#include <optional>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/base/sha256.h"

namespace sassay::agent {
namespace {

std::optional<uint32_t> BestTurn(absl::Span<const Turn> turns) {
  std::optional<uint32_t> best;
  double best_speedup = -1;
  for (const Turn& turn : turns) {
    const double speedup = SpeedupOf(turn).value_or(0);
    if (!IsCorrect(turn) || speedup <= best_speedup) continue;
    best = turn.number;
    best_speedup = speedup;
  }
  return best;
}

std::shared_ptr<const std::string> EmptyAnswer() {
  static const auto& text = *new std::shared_ptr<const std::string>(new std::string("(an empty answer)"));
  return text;
}

}  // namespace

std::vector<uint32_t> TurnsToShow(v1::ContextPolicy policy, absl::Span<const Turn> earlier) {
  if (earlier.empty()) return {};
  const uint32_t last = earlier.back().number;
  if (policy == v1::CONTEXT_POLICY_LATEST) return {last};
  if (policy == v1::CONTEXT_POLICY_BEST) {
    const std::optional<uint32_t> best = BestTurn(earlier);
    return best.has_value() && *best != last ? std::vector<uint32_t>{*best, last} : std::vector<uint32_t>{last};
  }
  std::vector<uint32_t> all(earlier.size());
  std::iota(all.begin(), all.end(), 0);
  return all;
}

std::vector<ChatMessage> MessagesOf(std::shared_ptr<const std::string> system, std::shared_ptr<const std::string> user,
                                    absl::Span<const ToldTurn> told, absl::Span<const uint32_t> shown) {
  std::vector<ChatMessage> messages;
  if (!system->empty()) messages.push_back({ChatMessage::Role::kSystem, std::move(system)});
  messages.push_back({ChatMessage::Role::kUser, std::move(user)});
  for (const uint32_t number : shown) {
    const ToldTurn& turn = told[number];
    messages.push_back({ChatMessage::Role::kAssistant, turn.answer->empty() ? EmptyAnswer() : turn.answer});
    messages.push_back({ChatMessage::Role::kUser, turn.feedback});
  }
  return messages;
}

std::string MessagesDigest(const std::vector<ChatMessage>& messages) {
  Sha256Stream digest;
  for (const ChatMessage& message : messages) {
    digest.Update(absl::StrCat(static_cast<int>(message.role), " ", message.text->size(), "\n"));
    digest.Update(*message.text);
  }
  return absl::BytesToHexString(digest.Finish());
}

}  // namespace sassay::agent
