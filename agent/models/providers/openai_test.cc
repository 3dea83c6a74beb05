#include "agent/models/providers/openai.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"

namespace sassay::agent {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::json;

ChatMessage Message(ChatMessage::Role role, const char* text) { return {role, std::make_shared<std::string>(text)}; }

class OpenAiTest : public ::testing::Test {
 protected:
  OpenAiTest() {
    request_.messages = {Message(ChatMessage::Role::kSystem, "be \"terse\"\n"), Message(ChatMessage::Role::kUser, "hi"),
                         Message(ChatMessage::Role::kAssistant, "ho"), Message(ChatMessage::Role::kUser, "again")};
    request_.trajectory_id = "exp_000";
  }
  Json Body() const { return Json::parse(dialect_->Body(request_).ToString()); }
  absl::Status Event(const char* data, const char* type = "message") { return decoder_->TakeEvent(type, data, draft_); }

  GenerationRequest request_;
  std::unique_ptr<Dialect> dialect_ = NewOpenAiDialect({"model-1", false, false});
  std::unique_ptr<AnswerDecoder> decoder_ = dialect_->NewDecoder();
  AnswerDraft draft_;
};

TEST_F(OpenAiTest, TheRequestHoldsTheConversation) {
  const Json body = Body();
  EXPECT_EQ(body["model"], "model-1");
  EXPECT_EQ(body["stream"], true);
  EXPECT_EQ(body["stream_options"], Json({{"include_usage", true}}));
  EXPECT_EQ(body["messages"],
            Json::parse(R"([{"role":"system","content":"be \"terse\"\n"},{"role":"user","content":"hi"},
      {"role":"assistant","content":"ho"},{"role":"user","content":"again"}])"));
  for (const char* absent : {"temperature", "top_p", "max_tokens", "seed", "reasoning_effort"}) {
    EXPECT_FALSE(body.contains(absent)) << absent;
  }
}

TEST_F(OpenAiTest, AnEmptyConversationIsStillJson) {
  request_.messages.clear();
  EXPECT_EQ(Body()["messages"], Json::array());
}

TEST_F(OpenAiTest, TheRequestHoldsTheSampling) {
  request_.sampling.set_temperature(0.7);
  request_.sampling.set_top_p(0.95);
  request_.sampling.set_max_tokens(1000);
  request_.sampling.set_seed(5);
  request_.sampling.set_reasoning_effort("high");
  const Json body = Body();
  EXPECT_EQ(body["temperature"], 0.7);
  EXPECT_EQ(body["top_p"], 0.95);
  EXPECT_EQ(body["max_tokens"], 1000);
  EXPECT_EQ(body["reasoning_effort"], "high");
  EXPECT_TRUE(body["seed"].is_number_unsigned());
}

TEST_F(OpenAiTest, EachTurnHasASeedOfItsOwnAndAlwaysTheSame) {
  request_.sampling.set_seed(5);
  const Json first = Body()["seed"];
  EXPECT_EQ(Body()["seed"], first);
  request_.turn = 1;
  EXPECT_NE(Body()["seed"], first);
}

TEST_F(OpenAiTest, RefusedFieldsAreLearnt) {
  request_.sampling.set_max_tokens(1000);
  ApiError error;
  error.status = 400;
  error.param = "max_tokens";
  error.code = "unsupported_parameter";
  error.message = "Unsupported parameter: 'max_tokens' is not supported. Use 'max_completion_tokens' instead.";
  EXPECT_TRUE(dialect_->Adjust(error));
  EXPECT_EQ(Body()["max_completion_tokens"], 1000);
  EXPECT_FALSE(Body().contains("max_tokens"));
  EXPECT_TRUE(dialect_->Adjust(error)) << "another caller that sent the old name, too, tries again";
  EXPECT_EQ(Body()["max_completion_tokens"], 1000);
  error.param.clear();
  error.code.clear();
  error.message = "Extra inputs are not permitted: 'max_completion_tokens'";
  EXPECT_TRUE(dialect_->Adjust(error));
  EXPECT_EQ(Body()["max_tokens"], 1000);
  error.message = "Extra inputs are not permitted: 'stream_options'";
  EXPECT_TRUE(dialect_->Adjust(error));
  EXPECT_FALSE(Body().contains("stream_options"));
  error.message = "temperature is unsupported";
  EXPECT_FALSE(dialect_->Adjust(error));
}

TEST_F(OpenAiTest, AStreamBecomesAnAnswer) {
  for (
      const char* event :
      {R"({"id":"c-1","model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}],"usage":null})",
       R"({"choices":[{"delta":{"reasoning_content":"let me "}}]})", R"({"choices":[{"delta":{"reasoning":"think"}}]})",
       R"({"choices":[{"delta":{"content":"an "}}]})",
       R"({"choices":[{"delta":{"content":"answer","reasoning_content":null}}]})",
       R"({"choices":[{"delta":{},"finish_reason":"stop"}]})",
       R"({"choices":[],"usage":{"prompt_tokens":10,"completion_tokens":20,"prompt_tokens_details":{"cached_tokens":4},"completion_tokens_details":{"reasoning_tokens":15},"cost":0.25}})",
       "[DONE]"}) {
    EXPECT_TRUE(Event(event).ok()) << event;
  }
  EXPECT_TRUE(draft_.finished && draft_.ended && draft_.has_usage);
  const v1::Answered& answer = draft_.answered;
  EXPECT_EQ(answer.text(), "an answer");
  EXPECT_EQ(answer.reasoning(), "let me think");
  EXPECT_EQ(answer.finish_reason(), "stop");
  EXPECT_EQ(answer.response_id(), "c-1");
  EXPECT_EQ(answer.model(), "m");
  EXPECT_EQ(answer.usage().prompt_tokens(), 10u);
  EXPECT_EQ(answer.usage().cached_prompt_tokens(), 4u);
  EXPECT_EQ(answer.usage().completion_tokens(), 20u);
  EXPECT_EQ(answer.usage().reasoning_tokens(), 15u);
  EXPECT_EQ(answer.usage().cost_usd(), 0) << "nobody asked for it";
}

TEST_F(OpenAiTest, OnlyWhoIsAskedForTheCostIsBelieved) {
  const char* usage = R"({"choices":[],"usage":{"prompt_tokens":10,"cost":0.25}})";
  EXPECT_TRUE(Event(usage).ok());
  EXPECT_EQ(draft_.answered.usage().cost_usd(), 0);
  const auto asked = NewOpenAiDialect({"model-1", false, true})->NewDecoder();
  EXPECT_TRUE(asked->TakeEvent("message", usage, draft_).ok());
  EXPECT_EQ(draft_.answered.usage().cost_usd(), 0.25);
}

TEST_F(OpenAiTest, AnAbsurdCostIsNotTold) {
  decoder_ = NewOpenAiDialect({"model-1", false, true})->NewDecoder();
  for (const char* cost : {"1e300", "-1", "\"1\"", "2e6"}) {
    EXPECT_TRUE(Event(absl::StrCat(R"({"choices":[],"usage":{"prompt_tokens":10,"cost":)", cost, "}}").c_str()).ok());
    EXPECT_EQ(draft_.answered.usage().cost_usd(), 0) << cost;
  }
}

TEST_F(OpenAiTest, ReasoningUnderTwoNamesIsTakenOnce) {
  EXPECT_TRUE(Event(R"({"choices":[{"delta":{"reasoning":"x","reasoning_content":"x"}}]})").ok());
  EXPECT_EQ(draft_.answered.reasoning(), "x");
}

TEST_F(OpenAiTest, AWholeAnswerIsReadToo) {
  EXPECT_TRUE(
      decoder_
          ->TakeWhole(
              R"({"id":"c","choices":[{"message":{"role":"assistant","content":"text","reasoning_content":"why"},"finish_reason":"length"}],"usage":{"prompt_tokens":1,"completion_tokens":2}})",
              draft_)
          .ok());
  EXPECT_EQ(draft_.answered.text(), "text");
  EXPECT_EQ(draft_.answered.reasoning(), "why");
  EXPECT_EQ(draft_.answered.finish_reason(), "length");
  EXPECT_TRUE(draft_.ended);
}

TEST_F(OpenAiTest, RefusalsAreCalledSo) {
  EXPECT_TRUE(Event(R"({"choices":[{"delta":{"refusal":"I will not."}}]})").ok());
  EXPECT_TRUE(Event(R"({"choices":[{"delta":{},"finish_reason":"stop"}]})").ok());
  EXPECT_EQ(draft_.answered.finish_reason(), "refusal");
  EXPECT_EQ(draft_.answered.text(), "I will not.");
  AnswerDraft filtered;
  EXPECT_TRUE(decoder_->TakeEvent("", R"({"choices":[{"finish_reason":"content_filter"}]})", filtered).ok());
  EXPECT_EQ(filtered.answered.finish_reason(), "refusal");
}

TEST_F(OpenAiTest, ErrorsInTheStreamAreSeen) {
  EXPECT_TRUE(Event(R"({"error":{"message":"engine gone","code":500}})").ok());
  EXPECT_EQ(draft_.error->message, "engine gone");
  AnswerDraft other;
  EXPECT_TRUE(decoder_->TakeEvent("error", R"({"code":503,"message":"loading"})", other).ok());
  EXPECT_EQ(other.error->status, 503);
}

TEST_F(OpenAiTest, NonsenseIsNoAnswer) {
  for (const char* event : {"", "{", "[]", "\xff\xfe", "{\"a\":1,\"a\":2}", "nul"}) {
    const absl::Status status = Event(event);
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << event;
    EXPECT_THAT(std::string(status.message()), HasSubstr("no answer"));
  }
  EXPECT_FALSE(decoder_->TakeWhole("{}", draft_).ok());
}

TEST_F(OpenAiTest, MembersOfAnotherTypeCountAsAbsent) {
  for (const char* event : {R"({"choices":7})", R"({"choices":[7]})", R"({"choices":[{"delta":[]}]})",
                            R"({"choices":[{"delta":{"content":7}}]})", R"({"id":7,"usage":[]})",
                            R"({"usage":{"prompt_tokens":-1,"completion_tokens":1e300}})"}) {
    EXPECT_TRUE(Event(event).ok()) << event;
  }
  EXPECT_EQ(draft_.answered.text(), "");
  EXPECT_EQ(draft_.answered.usage().prompt_tokens(), 0u);
  EXPECT_EQ(draft_.pieces, 0u);
}

TEST_F(OpenAiTest, AnEndlessAnswerIsRefused) {
  const std::string piece(1 << 20, 'x');
  const std::string event = "{\"choices\":[{\"delta\":{\"content\":\"" + piece + "\"}}]}";
  absl::Status status;
  for (int i = 0; i < 17 && status.ok(); ++i) status = decoder_->TakeEvent("", event, draft_);
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace sassay::agent
