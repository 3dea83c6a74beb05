#include "agent/models/providers/api_error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/workload/json_text.h"

namespace sassay::agent {
namespace {

using ::testing::HasSubstr;
using Code = absl::StatusCode;
using Kind = Failure::Kind;

struct Case {
  int status;
  const char* body;
  Kind kind;
  Code code;
};

TEST(ApiErrorTest, EveryKindOfRefusalHasItsMeaning) {
  const Case cases[] = {
      {401, R"({"error":{"message":"Incorrect API key provided","code":"invalid_api_key"}})", Kind::kFinal,
       Code::kUnauthenticated},
      {403, R"({"error":{"message":"no access to this model"}})", Kind::kFinal, Code::kPermissionDenied},
      {403, R"({"error":{"message":"Your input was flagged"}})", Kind::kFinal, Code::kInvalidArgument},
      {402, R"({"error":{"message":"Insufficient credits"}})", Kind::kFinal, Code::kPermissionDenied},
      {429, R"({"error":{"message":"You exceeded your current quota","code":"insufficient_quota"}})", Kind::kFinal,
       Code::kPermissionDenied},
      {400, R"({"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low"}})",
       Kind::kFinal, Code::kPermissionDenied},
      {404, R"({"error":{"message":"The model `x` does not exist","code":"model_not_found"}})", Kind::kFinal,
       Code::kNotFound},
      {405, "Method Not Allowed", Kind::kFinal, Code::kNotFound},
      {400,
       R"({"error":{"message":"This model's maximum context length is 8192 tokens","code":"context_length_exceeded"}})",
       Kind::kFinal, Code::kResourceExhausted},
      {400,
       R"({"object":"error","message":"This model's maximum context length is 4096 tokens.","type":"BadRequestError","code":400})",
       Kind::kFinal, Code::kResourceExhausted},
      {400,
       R"({"error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}})",
       Kind::kFinal, Code::kResourceExhausted},
      {400,
       R"({"error":{"code":400,"message":"the request exceeds the available context size","type":"exceed_context_size_error"}})",
       Kind::kFinal, Code::kResourceExhausted},
      {413, "", Kind::kFinal, Code::kResourceExhausted},
      {400, R"({"error":{"message":"temperature must be at most 2"}})", Kind::kFinal, Code::kInvalidArgument},
      {422, R"({"detail":"bad"})", Kind::kFinal, Code::kInvalidArgument},
      {307, "", Kind::kFinal, Code::kNotFound},
      {429, R"({"error":{"message":"Rate limit reached","type":"tokens"}})", Kind::kBusy, Code::kUnavailable},
      {429, "", Kind::kBusy, Code::kUnavailable},
      {408, "", Kind::kBusy, Code::kUnavailable},
      {502, "<html>bad gateway</html>", Kind::kBusy, Code::kUnavailable},
      {503, "", Kind::kBusy, Code::kUnavailable},
      {529, R"({"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}})", Kind::kBusy,
       Code::kUnavailable},
      {500, R"({"error":{"message":"CUDA error"}})", Kind::kBroken, Code::kUnavailable},
  };
  for (const Case& c : cases) {
    const Failure failure = Classify(ReadApiError(c.status, c.body), "http://h/v1", absl::nullopt);
    EXPECT_EQ(failure.kind, c.kind) << c.status << " " << c.body;
    EXPECT_EQ(failure.status.code(), c.code) << c.status << " " << c.body;
    EXPECT_THAT(std::string(failure.status.message()), HasSubstr(StatusText(c.status)));
  }
}

TEST(ApiErrorTest, TheMessageIsOnePrintableLine) {
  const std::string body = "{\"error\":{\"message\":\"a\\n\\u001b[31mred" + std::string(2000, 'x') + "\"}}";
  const ApiError error = ReadApiError(500, body);
  EXPECT_LT(error.message.size(), 520u);
  EXPECT_EQ(error.message.find('\n'), std::string::npos);
  EXPECT_EQ(error.message.find('\x1b'), std::string::npos);
}

TEST(ApiErrorTest, AnythingAtAllGivesAMessage) {
  EXPECT_EQ(ReadApiError(500, "plain words").message, "plain words");
  EXPECT_EQ(ReadApiError(500, R"({"error":"a word"})").message, "a word");
  EXPECT_EQ(ReadApiError(500, R"({"detail":"a word"})").message, "a word");
  EXPECT_EQ(ReadApiError(500, "\xff\xfe").message, "??");
}

absl::optional<ApiError> Streamed(const char* event, const char* type = "") {
  return ReadStreamedError(*ParseJsonObject(event, 1000), type);
}

TEST(ApiErrorTest, ErrorsInsideStreamsAreSeenInEveryForm) {
  EXPECT_EQ(Streamed(R"({"error":{"message":"m","code":429}})")->status, 429);
  EXPECT_EQ(Streamed(R"({"error":{"message":"m","code":"502"},"choices":[]})")->status, 502);
  EXPECT_EQ(Streamed(R"({"object":"error","message":"m","type":"BadRequestError"})")->status, 400);
  EXPECT_EQ(Streamed(R"({"type":"error","error":{"type":"overloaded_error","message":"m"}})")->status, 529);
  EXPECT_EQ(Streamed(R"({"code":500,"message":"m"})", "error")->message, "m");
  EXPECT_EQ(Streamed(R"({"choices":[],"error":null})"), absl::nullopt);
}

TEST(ApiErrorTest, AnUnknownFieldIsToldFromAWrongValue) {
  ApiError error = ReadApiError(
      400,
      R"({"error":{"message":"Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.","param":"max_tokens","code":"unsupported_parameter"}})");
  EXPECT_TRUE(DoesNotKnow(error, "max_tokens"));
  EXPECT_FALSE(DoesNotKnow(error, "stream_options"));
  error =
      ReadApiError(400, R"({"error":{"message":"max_tokens is too large: 100000","param":"max_tokens","code":null}})");
  EXPECT_FALSE(DoesNotKnow(error, "max_tokens"));
  error = ReadApiError(422, R"({"detail":"Extra inputs are not permitted: stream_options"})");
  EXPECT_TRUE(DoesNotKnow(error, "stream_options"));
}

}  // namespace
}  // namespace sassay::agent
