#include "agent/models/providers/anthropic.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "agent/models/providers/json_members.h"
#include "common/base/status_macros.h"

namespace sassay::agent {
namespace {

constexpr char kVersion[] = "2023-06-01";
constexpr char kCacheMark[] = ",\"cache_control\":{\"type\":\"ephemeral\"}";

std::string FinishReason(const std::string& reason) {
  if (reason == "end_turn" || reason == "stop_sequence") return "stop";
  if (reason == "max_tokens" || reason == "model_context_window_exceeded") return "length";
  return ShortLine(reason, 100);
}

class AnthropicDecoder : public AnswerDecoder {
 public:
  absl::Status TakeEvent(absl::string_view, absl::string_view untrusted_data, AnswerDraft& draft) override {
    ASSIGN_OR_RETURN(const OrderedJson json, ReadAnswerJson(untrusted_data));
    const std::string type = TextMember(json, "type");
    if ((draft.error = ReadStreamedError(json))) return absl::OkStatus();
    if (type == "message_start") {
      if (const OrderedJson* message = ObjectMember(json, "message")) TakeEnvelope(*message, draft);
    } else if (type == "content_block_start") {
      if (const OrderedJson* block = ObjectMember(json, "content_block")) return TakeContent(*block, draft);
    } else if (type == "content_block_delta") {
      if (const OrderedJson* delta = ObjectMember(json, "delta")) return TakeContent(*delta, draft);
    } else if (type == "message_delta") {
      if (const OrderedJson* usage = ObjectMember(json, "usage")) TakeUsage(*usage, draft);
      if (const OrderedJson* delta = ObjectMember(json, "delta")) TakeStopReason(*delta, draft);
    } else if (type == "message_stop") {
      draft.ended = true;
    }
    return absl::OkStatus();
  }

  absl::Status TakeWhole(absl::string_view untrusted_body, AnswerDraft& draft) override {
    ASSIGN_OR_RETURN(const OrderedJson json, ReadAnswerJson(untrusted_body));
    if ((draft.error = ReadStreamedError(json))) return absl::OkStatus();
    const auto content = json.find("content");
    if (content == json.end() || !content->is_array()) return absl::DataLossError("the answer holds no content");
    TakeEnvelope(json, draft);
    TakeStopReason(json, draft);
    for (const OrderedJson& block : *content) {
      if (block.is_object()) RETURN_IF_ERROR(TakeContent(block, draft));
    }
    draft.ended = true;
    return absl::OkStatus();
  }

 private:
  // A block or a delta of one. Signatures, tool calls and what is still to come are passed over.
  static absl::Status TakeContent(const OrderedJson& content, AnswerDraft& draft) {
    const std::string type = TextMember(content, "type");
    if (absl::StartsWith(type, "text")) return draft.AppendText(TextMember(content, "text"));
    if (absl::StartsWith(type, "thinking")) return draft.AppendReasoning(TextMember(content, "thinking"));
    ++draft.pieces;
    return absl::OkStatus();
  }

  static void TakeEnvelope(const OrderedJson& message, AnswerDraft& draft) {
    TakeName(message, "id", *draft.answered.mutable_response_id());
    TakeName(message, "model", *draft.answered.mutable_model());
    if (const OrderedJson* usage = ObjectMember(message, "usage")) TakeUsage(*usage, draft);
  }

  static void TakeStopReason(const OrderedJson& holder, AnswerDraft& draft) {
    const std::string reason = TextMember(holder, "stop_reason");
    if (reason.empty()) return;
    draft.finished = true;
    draft.answered.set_finish_reason(FinishReason(reason));
  }

  // Counts are for the whole answer so far; what is read from or written to the cache is counted apart from the rest.
  static void TakeUsage(const OrderedJson& json, AnswerDraft& draft) {
    draft.has_usage = true;
    v1::Usage& usage = *draft.answered.mutable_usage();
    if (const auto input = CountMember(json, "input_tokens")) {
      const uint64_t cached = CountMember(json, "cache_read_input_tokens").value_or(usage.cached_prompt_tokens());
      const uint64_t written =
          CountMember(json, "cache_creation_input_tokens").value_or(usage.cache_written_prompt_tokens());
      usage.set_cached_prompt_tokens(cached);
      usage.set_cache_written_prompt_tokens(written);
      usage.set_prompt_tokens(*input + cached + written);
    }
    usage.set_completion_tokens(CountMember(json, "output_tokens").value_or(usage.completion_tokens()));
    if (const OrderedJson* details = ObjectMember(json, "output_tokens_details")) {
      usage.set_reasoning_tokens(CountMember(*details, "thinking_tokens").value_or(0));
    }
  }
};

// Thinking tokens that stand for an effort, for models that want a number.
uint32_t BudgetOf(absl::string_view effort) {
  if (effort == "low") return 4096;
  return effort == "medium" ? 12288 : 24576;
}

class AnthropicDialect : public Dialect {
 public:
  explicit AnthropicDialect(std::string model) : model_(std::move(model)) {}

  std::vector<std::pair<std::string, std::string>> Headers() const override {
    return {{"anthropic-version", kVersion}};
  }
  std::pair<std::string, std::string> KeyHeader() const override { return {"x-api-key", ""}; }
  std::unique_ptr<AnswerDecoder> NewDecoder() const override { return std::make_unique<AnthropicDecoder>(); }

  RequestBody Body(const GenerationRequest& request) const override {
    RequestBody body;
    const std::string parameters =
        Parameters(request.sampling).dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
    body.Append(parameters.substr(0, parameters.size() - 1));
    AppendSystem(request.messages, body);
    AppendMessages(request.messages, body);
    body.Append("}");
    return body;
  }

  bool Adjust(const ApiError& error) override {
    if (error.status != 400) return false;
    if (absl::StrContains(error.message, "adaptive") && !budgets_.exchange(true)) return true;
    if (absl::StrContains(error.message, "output_config") && !budgets_.exchange(true)) return true;
    return absl::StrContains(error.message, "display") && !no_display_.exchange(true);
  }

 private:
  OrderedJson Parameters(const v1::Sampling& sampling) const {
    const uint32_t max_tokens = sampling.max_tokens() > 0 ? sampling.max_tokens() : kAnthropicMaxTokens;
    OrderedJson json = {{"model", model_}, {"stream", true}, {"max_tokens", max_tokens}};
    if (sampling.has_temperature()) json["temperature"] = sampling.temperature();
    if (sampling.has_top_p()) json["top_p"] = sampling.top_p();
    AddThinking(sampling.reasoning_effort(), max_tokens, json);
    return json;
  }

  void AddThinking(const std::string& effort, uint32_t max_tokens, OrderedJson& json) const {
    if (effort.empty()) return;
    uint32_t budget = 0;
    if (absl::SimpleAtoi(effort, &budget) || budgets_) {
      if (budget == 0) budget = std::min(BudgetOf(effort), max_tokens * 3 / 4);
      json["thinking"] = {{"type", "enabled"}, {"budget_tokens", budget}};
      return;
    }
    json["thinking"] = {{"type", "adaptive"}};
    if (!no_display_) json["thinking"]["display"] = "summarized";
    json["output_config"] = {{"effort", effort}};
  }

  static void AppendText(const ChatMessage& message, bool cached, RequestBody& body) {
    static const auto* const kNothing =
        new std::shared_ptr<const std::string>(std::make_shared<std::string>("(empty)"));
    body.Append("{\"type\":\"text\",\"text\":");
    body.AppendString(message.text->empty() ? *kNothing : message.text);  // empty texts are refused
    body.Append(absl::StrCat(cached ? kCacheMark : "", "}"));
  }

  static void AppendSystem(const std::vector<ChatMessage>& messages, RequestBody& body) {
    const auto is_system = [](const ChatMessage& message) { return message.role == ChatMessage::Role::kSystem; };
    auto left = std::count_if(messages.begin(), messages.end(), is_system);
    if (left == 0) return;
    body.Append(",\"system\":[");
    for (const ChatMessage& message : messages) {
      if (!is_system(message)) continue;
      AppendText(message, --left == 0, body);
      if (left > 0) body.Append(",");
    }
    body.Append("]");
  }

  static void AppendMessages(const std::vector<ChatMessage>& messages, RequestBody& body) {
    bool first = true;
    body.Append(",\"messages\":[");
    for (const ChatMessage& message : messages) {
      if (message.role == ChatMessage::Role::kSystem) continue;
      const char* role = message.role == ChatMessage::Role::kUser ? "user" : "assistant";
      body.Append(absl::StrCat(first ? "" : ",", "{\"role\":\"", role, "\",\"content\":["));
      AppendText(message, first, body);
      body.Append("]}");
      first = false;
    }
    body.Append("]");
  }

  const std::string model_;
  // What the model's generation does not know.
  std::atomic<bool> budgets_ = false;
  std::atomic<bool> no_display_ = false;
};

}  // namespace

std::unique_ptr<Dialect> NewAnthropicDialect(const std::string& model) {
  return std::make_unique<AnthropicDialect>(model);
}

}  // namespace sassay::agent
