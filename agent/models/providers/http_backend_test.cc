#include "agent/models/providers/http_backend.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "absl/strings/str_cat.h"
#include "agent/models/providers/anthropic.h"
#include "agent/models/providers/openai.h"
#include "agent/models/retrying_model.h"
#include "agent/models/testing/scripted_server.h"

namespace sassay::agent {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Wire = AnswerRequest::Wire;

constexpr char kKey[] = "sk-very-secret-1234";

// Both providers, against the scripted server.
class HttpBackendTest : public ::testing::TestWithParam<Wire> {
 protected:
  HttpBackendTest() {
    answer_.text = std::string(3000, 't') + " é end";
    answer_.reasoning = std::string(500, 'r');
    answer_.reasoning_tokens = 7;
    answer_.cached_prompt_tokens = 600;
    request_.messages = {{ChatMessage::Role::kSystem, std::make_shared<std::string>("system")},
                         {ChatMessage::Role::kUser, std::make_shared<std::string>("user")}};
    request_.idempotency_key = "run/exp_000/2";
    request_.turn = 2;
    Serve([this](const AnswerRequest&) { return answer_; });
  }

  void Serve(Script script, const ScriptedServerOptions& options = {}) {
    server_ = *ScriptedServer::Start(std::move(script), options);
    const bool openai = GetParam() == Wire::kOpenAi;
    HttpBackendOptions backend;
    backend.url = absl::StrCat(server_->url(), openai ? "/v1/chat/completions" : "/v1/messages");
    backend.timeouts = timeouts_;
    backend_ = std::make_unique<HttpBackend>(backend, Secret(kKey),
                                             openai ? NewOpenAiDialect({"m", false, false}) : NewAnthropicDialect("m"),
                                             *HttpClient::Create({}));
  }

  absl::optional<Failure> Try() { return backend_->Try(request_, listener_, stopper_, got_); }

  ScriptedAnswer answer_;
  HttpTimeouts timeouts_;
  GenerationRequest request_;
  GenerationListener listener_;
  Stopper stopper_;
  v1::Answered got_;
  std::unique_ptr<ScriptedServer> server_;
  std::unique_ptr<HttpBackend> backend_;
};

TEST_P(HttpBackendTest, AnAnswerComesWithAllThatBelongsToIt) {
  uint64_t text = 0, reasoning = 0;
  listener_.on_progress = [&](uint64_t t, uint64_t r) { text = t, reasoning = r; };
  ASSERT_EQ(Try(), absl::nullopt);
  EXPECT_EQ(got_.text(), answer_.text);
  EXPECT_EQ(got_.reasoning(), answer_.reasoning);
  EXPECT_EQ(got_.finish_reason(), "stop");
  EXPECT_EQ(got_.usage().prompt_tokens(), 1000u);
  EXPECT_EQ(got_.usage().cached_prompt_tokens(), 600u);
  EXPECT_EQ(got_.usage().completion_tokens(), 100u);
  EXPECT_FALSE(got_.usage().estimated());
  EXPECT_TRUE(got_.has_first_token());
  EXPECT_THAT(got_.response_id(), HasSubstr("run/exp_000/2"));
  EXPECT_EQ(text, answer_.text.size());
  EXPECT_EQ(reasoning, answer_.reasoning.size());
  EXPECT_EQ(server_->Requests()[0].headers.at("idempotency-key"), "run/exp_000/2");
}

TEST_P(HttpBackendTest, AServerThatDoesNotStreamIsUnderstood) {
  answer_.whole = true;
  ASSERT_EQ(Try(), absl::nullopt);
  EXPECT_EQ(got_.text(), answer_.text);
  EXPECT_EQ(got_.reasoning(), answer_.reasoning);
  EXPECT_EQ(got_.usage().completion_tokens(), 100u);
}

TEST_P(HttpBackendTest, MissingUsageIsEstimatedAndSaysSo) {
  answer_.prompt_tokens = 0;
  ASSERT_EQ(Try(), absl::nullopt);
  EXPECT_TRUE(got_.usage().estimated());
  EXPECT_EQ(got_.usage().completion_tokens(), (answer_.text.size() + answer_.reasoning.size()) / 4);
}

TEST_P(HttpBackendTest, ThinkingLeftInTheTextIsReasoning) {
  answer_.reasoning.clear();
  answer_.text = "<think>\nhm ```cuda\n</think>\n\nanswer";
  ASSERT_EQ(Try(), absl::nullopt);
  EXPECT_EQ(got_.text(), "answer");
  EXPECT_EQ(got_.reasoning(), "\nhm ```cuda\n");
}

TEST_P(HttpBackendTest, LengthAndRefusalAreTold) {
  answer_.finish_reason = "length";
  ASSERT_EQ(Try(), absl::nullopt);
  EXPECT_EQ(got_.finish_reason(), "length");
  Serve([this](const AnswerRequest&) { return answer_; });
  answer_.finish_reason = "content_filter";
  ASSERT_EQ(Try(), absl::nullopt);
  EXPECT_EQ(got_.finish_reason(), "refusal");
}

TEST_P(HttpBackendTest, EveryBreakIsToldFromEveryOther) {
  const std::pair<ServerFault, const char*> cases[] = {
      {ServerFault::kCutStream, ""},
      {ServerFault::kEndsEarly, "the stream ended before the answer did"},
      {ServerFault::kStall, "nothing more came for 300ms"},
      {ServerFault::kSilence, "no answer began within 300ms"},
      {ServerFault::kNonsense, "what is no answer"},
      {ServerFault::kNotHttp, ""},
      {ServerFault::kHangUp, ""},
      {ServerFault::kWrongContentType, "text/html"},
  };
  for (const auto& [fault, words] : cases) {
    answer_.fault = fault;
    const bool waits = fault == ServerFault::kStall || fault == ServerFault::kSilence;
    timeouts_.first = timeouts_.between = waits ? absl::Milliseconds(300) : absl::Minutes(1);
    Serve([this](const AnswerRequest&) { return answer_; });
    const auto failure = Try();
    ASSERT_TRUE(failure) << static_cast<int>(fault);
    EXPECT_EQ(failure->kind, Failure::Kind::kBroken) << failure->status;
    EXPECT_EQ(failure->status.code(), absl::StatusCode::kUnavailable) << failure->status;
    EXPECT_THAT(std::string(failure->status.message()), HasSubstr(words));
  }
}

TEST_P(HttpBackendTest, AnErrorInTheStreamIsTold) {
  answer_.fault = ServerFault::kErrorEvent;
  const auto failure = Try();
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->kind, GetParam() == Wire::kOpenAi ? Failure::Kind::kBroken : Failure::Kind::kBusy);
}

TEST_P(HttpBackendTest, RetryAfterIsPassedOn) {
  answer_.fault = ServerFault::kHttpError;
  answer_.status = 429;
  answer_.headers = {{"Retry-After", "7"}};
  const auto failure = Try();
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->kind, Failure::Kind::kBusy);
  EXPECT_EQ(failure->retry_after, absl::Seconds(7));
}

TEST_P(HttpBackendTest, ARedirectIsNotFollowed) {
  answer_.fault = ServerFault::kHttpError;
  answer_.status = 308;
  answer_.headers = {{"Location", "http://elsewhere/v1"}};
  const auto failure = Try();
  EXPECT_EQ(failure->status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(failure->status.message()), HasSubstr("http://elsewhere/v1"));
}

TEST_P(HttpBackendTest, NobodyThereIsUnreachable) {
  server_.reset();
  EXPECT_EQ(Try()->kind, Failure::Kind::kUnreachable);
}

TEST_P(HttpBackendTest, TheKeyIsSentAndAWrongOneRefused) {
  ScriptedServerOptions options;
  options.api_key = kKey;
  Serve([this](const AnswerRequest&) { return answer_; }, options);
  EXPECT_EQ(Try(), absl::nullopt);
  options.api_key = "another";
  Serve([this](const AnswerRequest&) { return answer_; }, options);
  EXPECT_EQ(Try()->status.code(), absl::StatusCode::kUnauthenticated);
}

TEST_P(HttpBackendTest, AKeyThatTheServerRepeatsIsNowhere) {
  const std::string echo = absl::StrCat("you sent ", kKey, " to me");
  answer_.text = answer_.reasoning = answer_.finish_reason = echo;
  request_.idempotency_key = kKey;
  ASSERT_EQ(Try(), absl::nullopt);
  EXPECT_THAT(got_.DebugString(), AllOf(Not(HasSubstr(kKey)), HasSubstr("you sent (key) to me")));
  answer_.fault = ServerFault::kHttpError;
  answer_.status = 401;
  answer_.error_body = absl::StrCat(R"({"error":{"message":"bad key )", kKey, "\"}}");
  request_.idempotency_key = "other";
  EXPECT_THAT(std::string(Try()->status.message()), AllOf(Not(HasSubstr(kKey)), HasSubstr("bad key (key)")));
  answer_.error_body = kKey;
  EXPECT_THAT(std::string(Try()->status.message()), Not(HasSubstr(kKey)));
}

TEST_P(HttpBackendTest, AKeyThatACutGoesThroughIsNotKept) {
  answer_.fault = ServerFault::kHttpError;
  answer_.status = 400;
  answer_.error_body = absl::StrCat(R"({"error":{"message":")", std::string(490, '.'), kKey, "\"}}");
  EXPECT_THAT(std::string(Try()->status.message()), AllOf(Not(HasSubstr("sk-very")), HasSubstr("(key)…")));
  request_.idempotency_key = "blanks";
  answer_.error_body = absl::StrCat(R"({"error":{"message":")", std::string(1990, ' '), kKey, "\"}}");
  EXPECT_THAT(std::string(Try()->status.message()), AllOf(Not(HasSubstr("sk-very")), HasSubstr("(key)")));
}

TEST_P(HttpBackendTest, OfAnErrorWithoutEndTheBeginningIsEnough) {
  answer_.fault = ServerFault::kEndlessError;
  const absl::optional<Failure> failure = Try();
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->kind, Failure::Kind::kBroken);
  EXPECT_THAT(std::string(failure->status.message()), HasSubstr("500 Internal Server Error: xxx"));
}

TEST_P(HttpBackendTest, AHostileIdempotencyKeyBecomesNoHeader) {
  request_.idempotency_key = "a\r\nX-Evil: 1";
  ASSERT_EQ(Try(), absl::nullopt);
  const AnswerRequest asked = server_->Requests()[0];
  EXPECT_EQ(asked.headers.count("x-evil"), 0u);
  EXPECT_EQ(asked.headers.at("idempotency-key").size(), 64u);
}

TEST_P(HttpBackendTest, ManyAnswersComeWholeThroughFaultsAndEachIsGeneratedOnce) {
  Serve(WithRandomFaults(
      [this](const AnswerRequest& request) {
        ScriptedAnswer answer = answer_;
        answer.text = absl::StrCat("answer to ", request.idempotency_key, std::string(2000, '.'));
        return answer;
      },
      1, 0.6));
  Patience patience;
  patience.first_wait = absl::Milliseconds(1);
  patience.longest_wait = absl::Milliseconds(10);
  RetryingModel model(std::move(backend_), patience, 16);
  std::atomic<int> good = 0;
  std::atomic<uint32_t> retries = 0;
  std::vector<std::thread> callers;
  for (int i = 0; i < 48; ++i) {
    callers.emplace_back([&, i] {
      GenerationRequest request = request_;
      request.idempotency_key = absl::StrCat("run/exp_", i, "/0");
      const auto answer = model.Generate(request, listener_, stopper_);
      EXPECT_TRUE(answer.ok()) << answer.status();
      if (!answer.ok()) return;
      good += answer->text() == absl::StrCat("answer to ", request.idempotency_key, std::string(2000, '.'));
      retries += answer->retries();
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(good, 48);
  EXPECT_GT(retries, 20u);
  EXPECT_LE(server_->MostAtOnce(), 16u);
  for (const auto& [key, count] : server_->Counts()) EXPECT_EQ(count.generated, 1u) << key;
}

INSTANTIATE_TEST_SUITE_P(Wires, HttpBackendTest, ::testing::Values(Wire::kOpenAi, Wire::kAnthropic),
                         [](const auto& info) { return info.param == Wire::kOpenAi ? "OpenAi" : "Anthropic"; });

}  // namespace
}  // namespace sassay::agent
