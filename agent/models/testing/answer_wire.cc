#include "agent/models/testing/answer_wire.h"

#include "absl/strings/str_cat.h"

namespace sassay::agent {
namespace {

using Json = nlohmann::json;

std::string Text(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

// Pieces of at least `size` bytes that end between characters.
std::vector<std::string> Split(const std::string& text, size_t size) {
  std::vector<std::string> pieces;
  for (size_t begin = 0; begin < text.size();) {
    size_t end = std::min(text.size(), begin + std::max<size_t>(size, 1));
    while (end < text.size() && (text[end] & 0xC0) == 0x80) ++end;
    pieces.push_back(text.substr(begin, end - begin));
    begin = end;
  }
  return pieces;
}

std::string ModelOf(const AnswerRequest& request) { return request.body.value("model", "scripted"); }

std::string OpenAiEvent(const Json& json) { return absl::StrCat("data: ", Text(json), "\n\n"); }

Json OpenAiChunk(const AnswerRequest& request, const Json& choices) {
  return {{"id", absl::StrCat("chatcmpl-", request.idempotency_key)},
          {"object", "chat.completion.chunk"},
          {"model", ModelOf(request)},
          {"choices", choices}};
}

std::string OpenAiDelta(const AnswerRequest& request, const Json& delta, const Json& finish_reason) {
  return OpenAiEvent(
      OpenAiChunk(request, Json::array({{{"index", 0}, {"delta", delta}, {"finish_reason", finish_reason}}})));
}

Json OpenAiUsage(const ScriptedAnswer& answer) {
  return {{"prompt_tokens", answer.prompt_tokens},
          {"completion_tokens", answer.completion_tokens},
          {"total_tokens", answer.prompt_tokens + answer.completion_tokens},
          {"prompt_tokens_details", {{"cached_tokens", answer.cached_prompt_tokens}}},
          {"completion_tokens_details", {{"reasoning_tokens", answer.reasoning_tokens}}}};
}

WireAnswer SpellOpenAi(const AnswerRequest& request, const ScriptedAnswer& answer) {
  WireAnswer wire;
  wire.begin.push_back(OpenAiDelta(request, {{"role", "assistant"}, {"content", ""}}, nullptr));
  for (const std::string& piece : Split(answer.reasoning, answer.piece_bytes)) {
    wire.pieces.push_back(OpenAiDelta(request, {{answer.reasoning_field, piece}}, nullptr));
  }
  for (const std::string& piece : Split(answer.text, answer.piece_bytes)) {
    wire.pieces.push_back(OpenAiDelta(request, {{"content", piece}}, nullptr));
  }
  wire.end.push_back(OpenAiDelta(request, Json::object(), answer.finish_reason));
  const Json options = request.body.value("stream_options", Json::object());
  if (answer.prompt_tokens > 0 && options.value("include_usage", false)) {
    Json usage = OpenAiChunk(request, Json::array());
    usage["usage"] = OpenAiUsage(answer);
    wire.end.push_back(OpenAiEvent(usage));
  }
  wire.end.push_back("data: [DONE]\n\n");
  Json whole = OpenAiChunk(
      request,
      Json::array(
          {{{"index", 0},
            {"message", {{"role", "assistant"}, {"content", answer.text}, {answer.reasoning_field, answer.reasoning}}},
            {"finish_reason", answer.finish_reason}}}));
  whole["object"] = "chat.completion";
  if (answer.prompt_tokens > 0) whole["usage"] = OpenAiUsage(answer);
  wire.whole = Text(whole);
  wire.error_event = OpenAiEvent({{"error", {{"message", "the engine is gone"}, {"code", 500}}}});
  return wire;
}

std::string AnthropicEvent(const std::string& type, Json json) {
  json["type"] = type;
  return absl::StrCat("event: ", type, "\ndata: ", Text(json), "\n\n");
}

const char* AnthropicStopReason(const std::string& finish_reason) {
  if (finish_reason == "stop") return "end_turn";
  return finish_reason == "length" ? "max_tokens" : "refusal";
}

Json AnthropicUsage(const ScriptedAnswer& answer) {
  return {{"input_tokens", answer.prompt_tokens - answer.cached_prompt_tokens - answer.cache_written_prompt_tokens},
          {"cache_creation_input_tokens", answer.cache_written_prompt_tokens},
          {"cache_read_input_tokens", answer.cached_prompt_tokens},
          {"output_tokens", 1}};
}

void AddAnthropicBlock(const std::string& type, const std::string& field, const std::string& text, int index,
                       size_t piece_bytes, WireAnswer& wire) {
  wire.pieces.push_back(
      AnthropicEvent("content_block_start", {{"index", index}, {"content_block", {{"type", type}, {field, ""}}}}));
  for (const std::string& piece : Split(text, piece_bytes)) {
    wire.pieces.push_back(
        AnthropicEvent("content_block_delta",
                       {{"index", index}, {"delta", {{"type", absl::StrCat(field, "_delta")}, {field, piece}}}}));
  }
  wire.pieces.push_back(AnthropicEvent("content_block_stop", {{"index", index}}));
}

WireAnswer SpellAnthropic(const AnswerRequest& request, const ScriptedAnswer& answer) {
  WireAnswer wire;
  Json message = {{"id", absl::StrCat("msg_", request.idempotency_key)},
                  {"type", "message"},
                  {"role", "assistant"},
                  {"model", ModelOf(request)},
                  {"content", Json::array()},
                  {"stop_reason", nullptr}};
  if (answer.prompt_tokens > 0) message["usage"] = AnthropicUsage(answer);
  wire.begin.push_back(AnthropicEvent("message_start", {{"message", message}}));
  wire.begin.push_back(AnthropicEvent("ping", Json::object()));
  if (!answer.reasoning.empty()) {
    AddAnthropicBlock("thinking", "thinking", answer.reasoning, 0, answer.piece_bytes, wire);
    message["content"].push_back({{"type", "thinking"}, {"thinking", answer.reasoning}, {"signature", "x"}});
  }
  AddAnthropicBlock("text", "text", answer.text, answer.reasoning.empty() ? 0 : 1, answer.piece_bytes, wire);
  message["content"].push_back({{"type", "text"}, {"text", answer.text}});
  message["stop_reason"] = AnthropicStopReason(answer.finish_reason);
  Json delta = {{"delta", {{"stop_reason", message["stop_reason"]}, {"stop_sequence", nullptr}}}};
  if (answer.prompt_tokens > 0) {
    delta["usage"] = {{"output_tokens", answer.completion_tokens}};
    message["usage"]["output_tokens"] = answer.completion_tokens;
  }
  wire.end.push_back(AnthropicEvent("message_delta", delta));
  wire.end.push_back(AnthropicEvent("message_stop", Json::object()));
  wire.whole = Text(message);
  wire.error_event = AnthropicEvent("error", {{"error", {{"type", "overloaded_error"}, {"message", "Overloaded"}}}});
  return wire;
}

const char* AnthropicErrorType(int status) {
  switch (status) {
    case 401:
      return "authentication_error";
    case 404:
      return "not_found_error";
    case 429:
      return "rate_limit_error";
    case 529:
      return "overloaded_error";
    default:
      return status < 500 ? "invalid_request_error" : "api_error";
  }
}

}  // namespace

WireAnswer SpellAnswer(const AnswerRequest& request, const ScriptedAnswer& answer) {
  return request.wire == AnswerRequest::Wire::kOpenAi ? SpellOpenAi(request, answer) : SpellAnthropic(request, answer);
}

std::string SpellError(AnswerRequest::Wire wire, int status) {
  const std::string message = absl::StrCat("scripted error ", status);
  if (wire == AnswerRequest::Wire::kOpenAi) {
    return Text({{"error", {{"message", message}, {"type", "scripted"}, {"param", nullptr}, {"code", nullptr}}}});
  }
  return Text({{"type", "error"}, {"error", {{"type", AnthropicErrorType(status)}, {"message", message}}}});
}

}  // namespace sassay::agent
