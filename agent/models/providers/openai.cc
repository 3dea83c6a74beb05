#include "agent/models/providers/openai.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "agent/models/providers/json_members.h"
#include "common/base/status_macros.h"

namespace sassay::agent {
namespace {

// Dollars; what is beyond is nonsense and counts as not told.
constexpr double kMostCost = 1e6;
constexpr const char* kTokenFields[] = {"max_tokens", "max_completion_tokens"};

const char* RoleName(ChatMessage::Role role) {
  switch (role) {
    case ChatMessage::Role::kSystem:
      return "system";
    case ChatMessage::Role::kUser:
      return "user";
    case ChatMessage::Role::kAssistant:
      return "assistant";
  }
  return "user";
}

std::string FinishReason(const std::string& reason) { return reason == "content_filter" ? "refusal" : reason; }

class OpenAiDecoder : public AnswerDecoder {
 public:
  // `tells_cost`: the server is one that is trusted to say what an answer cost.
  explicit OpenAiDecoder(bool tells_cost) : tells_cost_(tells_cost) {}

  absl::Status TakeEvent(absl::string_view type, absl::string_view untrusted_data, AnswerDraft& draft) override {
    if (untrusted_data == "[DONE]") {
      draft.ended = true;
      return absl::OkStatus();
    }
    return Take(type, untrusted_data, "delta", draft);
  }

  absl::Status TakeWhole(absl::string_view untrusted_body, AnswerDraft& draft) override {
    RETURN_IF_ERROR(Take("", untrusted_body, "message", draft));
    draft.ended = has_choice_;
    if (has_choice_ || draft.error) return absl::OkStatus();
    return absl::DataLossError("the answer holds no choices");
  }

 private:
  absl::Status Take(absl::string_view type, absl::string_view untrusted, const char* what, AnswerDraft& draft) {
    ASSIGN_OR_RETURN(const OrderedJson json, ReadAnswerJson(untrusted));
    if ((draft.error = ReadStreamedError(json, type))) return absl::OkStatus();
    TakeName(json, "id", *draft.answered.mutable_response_id());
    TakeName(json, "model", *draft.answered.mutable_model());
    if (const OrderedJson* usage = ObjectMember(json, "usage")) TakeUsage(*usage, draft);
    const OrderedJson* choice = FirstChoice(json);
    if (choice == nullptr) return absl::OkStatus();
    has_choice_ = true;
    if (const OrderedJson* content = ObjectMember(*choice, what)) RETURN_IF_ERROR(TakeContent(*content, draft));
    const std::string reason = TextMember(*choice, "finish_reason");
    if (reason.empty()) return absl::OkStatus();
    draft.finished = true;
    if (draft.answered.finish_reason() != "refusal")
      draft.answered.set_finish_reason(FinishReason(ShortLine(reason, 100)));
    return absl::OkStatus();
  }

  static const OrderedJson* FirstChoice(const OrderedJson& json) {
    const auto choices = json.find("choices");
    if (choices == json.end() || !choices->is_array() || choices->empty() || !choices->front().is_object())
      return nullptr;
    return &choices->front();
  }

  static absl::Status TakeContent(const OrderedJson& content, AnswerDraft& draft) {
    std::string reasoning = TextMember(content, "reasoning_content");
    if (reasoning.empty()) reasoning = TextMember(content, "reasoning");
    RETURN_IF_ERROR(draft.AppendReasoning(reasoning));
    RETURN_IF_ERROR(draft.AppendText(TextMember(content, "content")));
    const std::string refusal = TextMember(content, "refusal");
    if (refusal.empty()) return absl::OkStatus();
    draft.answered.set_finish_reason("refusal");
    return draft.AppendText(refusal);
  }

  void TakeUsage(const OrderedJson& json, AnswerDraft& draft) const {
    draft.has_usage = true;
    v1::Usage& usage = *draft.answered.mutable_usage();
    usage.set_prompt_tokens(CountMember(json, "prompt_tokens").value_or(usage.prompt_tokens()));
    usage.set_completion_tokens(CountMember(json, "completion_tokens").value_or(usage.completion_tokens()));
    if (const OrderedJson* details = ObjectMember(json, "prompt_tokens_details")) {
      usage.set_cached_prompt_tokens(CountMember(*details, "cached_tokens").value_or(0));
    }
    if (const OrderedJson* details = ObjectMember(json, "completion_tokens_details")) {
      usage.set_reasoning_tokens(CountMember(*details, "reasoning_tokens").value_or(0));
    }
    const absl::optional<double> cost = NumberMember(json, "cost");
    if (tells_cost_ && cost && *cost <= kMostCost) usage.set_cost_usd(*cost);
  }

  const bool tells_cost_;
  bool has_choice_ = false;
};

class OpenAiDialect : public Dialect {
 public:
  explicit OpenAiDialect(const OpenAiOptions& options)
      : options_(options), max_completion_tokens_(options.max_completion_tokens) {}

  std::vector<std::pair<std::string, std::string>> Headers() const override { return {}; }
  std::pair<std::string, std::string> KeyHeader() const override { return {"Authorization", "Bearer "}; }
  std::unique_ptr<AnswerDecoder> NewDecoder() const override {
    return std::make_unique<OpenAiDecoder>(options_.asks_for_cost);
  }

  RequestBody Body(const GenerationRequest& request) const override {
    RequestBody body;
    const std::string parameters = Parameters(request).dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
    body.Append(parameters.substr(0, parameters.size() - 1));
    body.Append(",\"messages\":[");
    const char* before = "";
    for (const ChatMessage& message : request.messages) {
      body.Append(absl::StrCat(before, "{\"role\":\"", RoleName(message.role), "\",\"content\":"));
      body.AppendString(message.text);
      body.Append("}");
      before = ",";
    }
    body.Append("]}");
    return body;
  }

  bool Adjust(const ApiError& error) override {
    if (DoesNotKnow(error, "stream_options")) {
      stream_options_ = false;
      return true;
    }
    // A complaint about one name may mention the other as the remedy: `param`, or what was sent, tells which is meant.
    const bool used = max_completion_tokens_;
    for (const bool completion : {false, true}) {
      if (error.param != kTokenFields[completion] && completion != used) continue;
      if (!DoesNotKnow(error, kTokenFields[completion])) continue;
      max_completion_tokens_ = !completion;
      return true;
    }
    return false;
  }

 private:
  OrderedJson Parameters(const GenerationRequest& request) const {
    const v1::Sampling& sampling = request.sampling;
    OrderedJson json = {{"model", options_.model}, {"stream", true}};
    if (stream_options_) json["stream_options"] = {{"include_usage", true}};
    if (options_.asks_for_cost) json["usage"] = {{"include", true}};
    if (sampling.has_temperature()) json["temperature"] = sampling.temperature();
    if (sampling.has_top_p()) json["top_p"] = sampling.top_p();
    if (sampling.max_tokens() > 0) json[kTokenFields[max_completion_tokens_]] = sampling.max_tokens();
    if (sampling.has_seed()) json["seed"] = SeedOf(request);
    if (!sampling.reasoning_effort().empty()) json["reasoning_effort"] = sampling.reasoning_effort();
    return json;
  }

  const OpenAiOptions options_;
  std::atomic<bool> max_completion_tokens_;
  std::atomic<bool> stream_options_ = true;
};

}  // namespace

std::unique_ptr<Dialect> NewOpenAiDialect(const OpenAiOptions& options) {
  return std::make_unique<OpenAiDialect>(options);
}

}  // namespace sassay::agent
