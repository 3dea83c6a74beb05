#include "agent/models/providers/anthropic.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nlohmann/json.hpp"

namespace sassay::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;
using Json = nlohmann::json;

ChatMessage Message(ChatMessage::Role role, const char* text) { return {role, std::make_shared<std::string>(text)}; }

class AnthropicTest : public ::testing::Test {
 protected:
  AnthropicTest() {
    request_.messages = {Message(ChatMessage::Role::kSystem, "be terse"), Message(ChatMessage::Role::kUser, "hi"),
                         Message(ChatMessage::Role::kAssistant, ""), Message(ChatMessage::Role::kUser, "again")};
  }
  Json Body() const { return Json::parse(dialect_->Body(request_).ToString()); }
  absl::Status Event(const char* data) { return decoder_->TakeEvent("", data, draft_); }

  GenerationRequest request_;
  std::unique_ptr<Dialect> dialect_ = NewAnthropicDialect("claude-x");
  std::unique_ptr<AnswerDecoder> decoder_ = dialect_->NewDecoder();
  AnswerDraft draft_;
};

TEST_F(AnthropicTest, TheRequestMarksWhatIsSharedForTheCache) {
  const Json body = Body();
  EXPECT_EQ(body["model"], "claude-x");
  EXPECT_EQ(body["max_tokens"], kAnthropicMaxTokens);
  EXPECT_EQ(body["system"], Json::parse(R"([{"type":"text","text":"be terse","cache_control":{"type":"ephemeral"}}])"));
  EXPECT_EQ(body["messages"], Json::parse(R"json([
      {"role":"user","content":[{"type":"text","text":"hi","cache_control":{"type":"ephemeral"}}]},
      {"role":"assistant","content":[{"type":"text","text":"(empty)"}]},
      {"role":"user","content":[{"type":"text","text":"again"}]}])json"));
  EXPECT_FALSE(body.contains("thinking"));
}

TEST_F(AnthropicTest, TheVersionGoesAlongAndTheKeyHasItsOwnHeader) {
  EXPECT_THAT(dialect_->Headers(), ElementsAre(Pair("anthropic-version", "2023-06-01")));
  EXPECT_EQ(dialect_->KeyHeader().first, "x-api-key");
}

TEST_F(AnthropicTest, AnEffortIsAWordOrABudget) {
  request_.sampling.set_reasoning_effort("8000");
  EXPECT_EQ(Body()["thinking"], Json::parse(R"({"type":"enabled","budget_tokens":8000})"));
  request_.sampling.set_reasoning_effort("high");
  EXPECT_EQ(Body()["thinking"], Json::parse(R"({"type":"adaptive","display":"summarized"})"));
  EXPECT_EQ(Body()["output_config"], Json::parse(R"({"effort":"high"})"));
}

TEST_F(AnthropicTest, OlderModelsGetABudgetForAWord) {
  request_.sampling.set_reasoning_effort("low");
  ApiError error;
  error.status = 400;
  error.message = "thinking.type: Input tag 'adaptive' found using 'type' does not match any of the expected tags";
  EXPECT_TRUE(dialect_->Adjust(error));
  EXPECT_EQ(Body()["thinking"], Json::parse(R"({"type":"enabled","budget_tokens":4096})"));
  EXPECT_FALSE(Body().contains("output_config"));
  EXPECT_FALSE(dialect_->Adjust(error));
}

TEST_F(AnthropicTest, AStreamBecomesAnAnswer) {
  for (
      const char* event :
      {R"({"type":"message_start","message":{"id":"msg_1","model":"claude-x-1","usage":{"input_tokens":5,"cache_creation_input_tokens":100,"cache_read_input_tokens":1000,"output_tokens":1}}})",
       R"({"type":"ping"})",
       R"({"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}})",
       R"({"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"hm"}})",
       R"({"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"abc"}})",
       R"({"type":"content_block_stop","index":0})",
       R"({"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}})",
       R"({"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"an "}})",
       R"({"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"answer"}})",
       R"({"type":"something_new","index":1})",
       R"({"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":40}})",
       R"({"type":"message_stop"})"}) {
    EXPECT_TRUE(Event(event).ok()) << event;
  }
  EXPECT_TRUE(draft_.finished && draft_.ended && draft_.has_usage);
  const v1::Answered& answer = draft_.answered;
  EXPECT_EQ(answer.text(), "an answer");
  EXPECT_EQ(answer.reasoning(), "hm");
  EXPECT_EQ(answer.finish_reason(), "stop");
  EXPECT_EQ(answer.response_id(), "msg_1");
  EXPECT_EQ(answer.usage().prompt_tokens(), 1105u);
  EXPECT_EQ(answer.usage().cached_prompt_tokens(), 1000u);
  EXPECT_EQ(answer.usage().cache_written_prompt_tokens(), 100u);
  EXPECT_EQ(answer.usage().completion_tokens(), 40u);
}

TEST_F(AnthropicTest, UsageOfTheWholeAnswerTakesThePlaceOfItsBeginning) {
  for (
      const char* event :
      {R"({"type":"message_start","message":{"usage":{"input_tokens":5,"cache_creation_input_tokens":100,"cache_read_input_tokens":1000}}})",
       R"({"type":"message_delta","delta":{},"usage":{"input_tokens":7,"output_tokens":40}})",
       R"({"type":"message_delta","delta":{},"usage":{"input_tokens":8,"cache_read_input_tokens":1001,"output_tokens":41}})"}) {
    EXPECT_TRUE(Event(event).ok()) << event;
  }
  EXPECT_EQ(draft_.answered.usage().prompt_tokens(), 1109u);
  EXPECT_EQ(draft_.answered.usage().cached_prompt_tokens(), 1001u);
  EXPECT_EQ(draft_.answered.usage().cache_written_prompt_tokens(), 100u) << "what is not told again stays";
  EXPECT_EQ(draft_.answered.usage().completion_tokens(), 41u);
}

TEST_F(AnthropicTest, KeepAlivesAreNoProgress) {
  EXPECT_TRUE(Event(R"({"type":"ping"})").ok());
  EXPECT_EQ(draft_.pieces, 0u);
}

TEST_F(AnthropicTest, StopReasonsAreTranslated) {
  for (const auto& [theirs, ours] : {std::pair{"max_tokens", "length"},
                                     {"refusal", "refusal"},
                                     {"stop_sequence", "stop"},
                                     {"model_context_window_exceeded", "length"},
                                     {"pause_turn", "pause_turn"}}) {
    EXPECT_TRUE(
        Event((std::string(R"({"type":"message_delta","delta":{"stop_reason":")") + theirs + "\"}}").c_str()).ok());
    EXPECT_EQ(draft_.answered.finish_reason(), ours);
  }
}

TEST_F(AnthropicTest, AWholeAnswerIsReadToo) {
  EXPECT_TRUE(
      decoder_
          ->TakeWhole(
              R"({"id":"m","type":"message","model":"x","stop_reason":"end_turn","content":[{"type":"thinking","thinking":"hm"},{"type":"redacted_thinking","data":"x"},{"type":"text","text":"yes"}],"usage":{"input_tokens":1,"output_tokens":2}})",
              draft_)
          .ok());
  EXPECT_EQ(draft_.answered.text(), "yes");
  EXPECT_EQ(draft_.answered.reasoning(), "hm");
  EXPECT_TRUE(draft_.finished);
}

TEST_F(AnthropicTest, ErrorsInTheStreamAreSeen) {
  EXPECT_TRUE(Event(R"({"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}})").ok());
  EXPECT_EQ(draft_.error->status, 529);
}

TEST_F(AnthropicTest, NonsenseIsNoAnswer) {
  EXPECT_EQ(Event("{{{").code(), absl::StatusCode::kDataLoss);
  EXPECT_FALSE(decoder_->TakeWhole("{}", draft_).ok());
  EXPECT_TRUE(Event(R"({"type":"content_block_delta","delta":7})").ok());
}

}  // namespace
}  // namespace sassay::agent
