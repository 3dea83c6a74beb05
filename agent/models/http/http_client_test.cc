#include "agent/models/http/http_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <thread>

#include "absl/strings/str_cat.h"
#include "agent/models/testing/collector.h"
#include "agent/models/testing/scripted_server.h"
#include "common/base/files.h"
#include "common/process/subprocess.h"

namespace sassay::agent {
namespace {

using ::testing::HasSubstr;

class HttpClientTest : public ::testing::Test {
 protected:
  void SetUp() override { Serve({}); }

  void Serve(const ScriptedAnswer& answer, const ScriptedServerOptions& options = {}) {
    server_ = *ScriptedServer::Start([answer](const AnswerRequest&) { return answer; }, options);
  }
  HttpRequest Ask() const {
    HttpRequest request;
    request.url = absl::StrCat(server_->url(), "/v1/chat/completions");
    request.body = &body_;
    return request;
  }
  HttpOutcome Perform(const HttpRequest& request, HttpReceiver& receiver) {
    return client_->Perform(request, receiver, stopper_);
  }

  static RequestBody StreamBody() {
    RequestBody body;
    body.Append(R"({"stream":true,"text":)");
    body.AppendString("a \"quoted\" text\n");
    body.Append("}");
    return body;
  }

  const RequestBody body_ = StreamBody();
  std::unique_ptr<ScriptedServer> server_;
  std::unique_ptr<HttpClient> client_ = *HttpClient::Create({});
  Stopper stopper_;
  Collector collector_;
};

ScriptedAnswer LongAnswer() {
  ScriptedAnswer answer;
  answer.text = std::string(4000, 'x');
  return answer;
}

TEST_F(HttpClientTest, GetsAnAnswer) {
  HttpRequest request;
  request.url = absl::StrCat(server_->url(), "/v1/models");
  const HttpOutcome outcome = Perform(request, collector_);
  EXPECT_TRUE(outcome.status.ok()) << outcome.status;
  EXPECT_TRUE(outcome.sent);
  EXPECT_EQ(collector_.status_, 200);
  EXPECT_EQ(collector_.headers_["content-type"], "application/json");
  EXPECT_THAT(collector_.body_, HasSubstr("scripted"));
}

TEST_F(HttpClientTest, PostsJsonWithHeadersAndKey) {
  const Secret key("sk-secret");
  HttpRequest request = Ask();
  request.headers = {{"Idempotency-Key", "run/exp_000/0"}};
  request.secret = &key;
  request.secret_header = "Authorization";
  request.secret_prefix = "Bearer ";
  EXPECT_TRUE(Perform(request, collector_).status.ok());
  const AnswerRequest got = server_->Requests().at(0);
  EXPECT_EQ(got.body["text"], "a \"quoted\" text\n");
  EXPECT_EQ(got.headers.at("authorization"), "Bearer sk-secret");
  EXPECT_EQ(got.headers.at("idempotency-key"), "run/exp_000/0");
  EXPECT_EQ(got.headers.at("content-type"), "application/json");
  EXPECT_EQ(got.headers.count("expect"), 0u);
}

TEST_F(HttpClientTest, AConnectionIsUsedAgain) {
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(Perform(Ask(), collector_).status.ok());
  EXPECT_EQ(server_->Requests().size(), 5u);
  EXPECT_EQ(server_->Connections(), 1u);
}

TEST_F(HttpClientTest, AConnectionThatTheServerClosedMeanwhileIsNoFailure) {
  ScriptedAnswer answer = LongAnswer();
  answer.fault = ServerFault::kEndsEarly;  // in good order, and then it hangs up
  Serve(answer);
  for (int i = 0; i < 30; ++i) {
    const HttpOutcome outcome = Perform(Ask(), collector_);
    EXPECT_TRUE(outcome.status.ok()) << outcome.status;
  }
  EXPECT_EQ(server_->Requests().size(), 30u);
  EXPECT_EQ(server_->Requests().back().body["text"], "a \"quoted\" text\n");
}

TEST_F(HttpClientTest, AProxyIsUsedAsCurlDoes) {
  setenv("http_proxy", server_->url().c_str(), 1);
  HttpRequest request = Ask();
  request.url = "http://model.invalid/v1/chat/completions";
  const HttpOutcome outcome = Perform(request, collector_);
  unsetenv("http_proxy");
  EXPECT_TRUE(outcome.status.ok()) << outcome.status;
  ASSERT_EQ(server_->Requests().size(), 1u);
  EXPECT_EQ(server_->Requests()[0].path, "http://model.invalid/v1/chat/completions");
}

TEST_F(HttpClientTest, ThisMachineIsAskedWithoutAProxy) {
  setenv("http_proxy", "http://127.0.0.1:1", 1);
  const HttpOutcome outcome = Perform(Ask(), collector_);
  unsetenv("http_proxy");
  EXPECT_TRUE(outcome.status.ok()) << outcome.status;
  EXPECT_EQ(server_->Requests().size(), 1u);
}

TEST_F(HttpClientTest, AnErrorOfTheServerIsAnAnswer) {
  ScriptedAnswer answer;
  answer.fault = ServerFault::kHttpError;
  answer.status = 429;
  answer.headers = {{"Retry-After", "7"}};
  Serve(answer);
  EXPECT_TRUE(Perform(Ask(), collector_).status.ok());
  EXPECT_EQ(collector_.status_, 429);
  EXPECT_EQ(collector_.headers_["retry-after"], "7");
}

TEST_F(HttpClientTest, ACutStreamIsUnavailable) {
  ScriptedAnswer answer = LongAnswer();
  answer.fault = ServerFault::kCutStream;
  Serve(answer);
  const HttpOutcome outcome = Perform(Ask(), collector_);
  EXPECT_EQ(outcome.status.code(), absl::StatusCode::kUnavailable) << outcome.status;
  EXPECT_TRUE(outcome.sent);
}

TEST_F(HttpClientTest, ACutAfterTheLastPieceDoesNotMatter) {
  ScriptedAnswer answer = LongAnswer();
  answer.fault = ServerFault::kCutStream;
  Serve(answer);
  collector_.last_ = "xxx";
  EXPECT_TRUE(Perform(Ask(), collector_).status.ok());
}

TEST_F(HttpClientTest, AServerThatNeverEndsACompleteAnswerIsNotWaitedFor) {
  ScriptedAnswer answer = LongAnswer();
  answer.fault = ServerFault::kStall;
  Serve(answer);
  collector_.last_ = "xxx";
  EXPECT_TRUE(Perform(Ask(), collector_).status.ok());
}

TEST_F(HttpClientTest, WhatIsNoHttpIsUnavailable) {
  for (const ServerFault fault : {ServerFault::kNotHttp, ServerFault::kHangUp}) {
    ScriptedAnswer answer;
    answer.fault = fault;
    Serve(answer);
    const HttpOutcome outcome = Perform(Ask(), collector_);
    EXPECT_EQ(outcome.status.code(), absl::StatusCode::kUnavailable) << outcome.status;
  }
}

TEST_F(HttpClientTest, NobodyThereIsUnavailableAndNothingWasSent) {
  const HttpRequest request = Ask();
  server_.reset();
  const HttpOutcome outcome = Perform(request, collector_);
  EXPECT_EQ(outcome.status.code(), absl::StatusCode::kUnavailable) << outcome.status;
  EXPECT_FALSE(outcome.sent);
}

TEST_F(HttpClientTest, SilenceEndsAtTheFirstDeadlineWithoutLookingMeanwhile) {
  ScriptedAnswer answer;
  answer.fault = ServerFault::kSilence;
  Serve(answer);
  HttpRequest request = Ask();
  request.timeouts.first = absl::Milliseconds(500);
  const HttpOutcome outcome = Perform(request, collector_);
  EXPECT_EQ(outcome.status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(std::string(outcome.status.message()), HasSubstr("no answer began within 500ms"));
  EXPECT_LT(client_->wakeups(), 20u);
}

TEST_F(HttpClientTest, AStallEndsAtTheDeadlineBetweenPieces) {
  ScriptedAnswer answer = LongAnswer();
  answer.fault = ServerFault::kStall;
  Serve(answer);
  HttpRequest request = Ask();
  request.timeouts.between = absl::Milliseconds(200);
  const HttpOutcome outcome = Perform(request, collector_);
  EXPECT_EQ(outcome.status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(std::string(outcome.status.message()), HasSubstr("nothing more came for 200ms"));
}

TEST_F(HttpClientTest, ASlowAnswerThatGoesOnIsWaitedFor) {
  ScriptedAnswer answer = LongAnswer();
  answer.duration = absl::Seconds(3);
  Serve(answer);
  HttpRequest request = Ask();
  request.timeouts.between = absl::Seconds(2);
  EXPECT_TRUE(Perform(request, collector_).status.ok());
}

TEST_F(HttpClientTest, AnEndlessAnswerEndsAtTheDeadlineOfTheWhole) {
  ScriptedAnswer answer = LongAnswer();
  answer.duration = absl::Hours(1);
  answer.piece_bytes = 1;
  Serve(answer);
  HttpRequest request = Ask();
  request.timeouts.whole = absl::Milliseconds(300);
  const HttpOutcome outcome = Perform(request, collector_);
  EXPECT_EQ(outcome.status.code(), absl::StatusCode::kDeadlineExceeded);
}

TEST_F(HttpClientTest, TheStopperEndsARequestThatHearsNothing) {
  ScriptedAnswer answer = LongAnswer();
  answer.fault = ServerFault::kStall;
  Serve(answer);
  HttpOutcome outcome;
  std::thread caller([&] { outcome = Perform(Ask(), collector_); });
  collector_.first_.WaitForNotification();
  stopper_.Stop();
  caller.join();
  EXPECT_EQ(outcome.status.code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(Perform(Ask(), collector_).status.code(), absl::StatusCode::kCancelled);
}

TEST_F(HttpClientTest, TheReceiversErrorIsTheOutcome) {
  class Refusing : public Collector {
    absl::StatusOr<Piece> OnBody(absl::string_view) override { return absl::ResourceExhaustedError("too long"); }
  } refusing;
  Serve(LongAnswer());
  EXPECT_EQ(Perform(Ask(), refusing).status, absl::ResourceExhaustedError("too long"));
}

TEST_F(HttpClientTest, HundredsOfAnswersComeAtOnce) {
  constexpr int kRequests = 200;
  ScriptedAnswer answer = LongAnswer();
  answer.duration = absl::Milliseconds(500);
  Serve(answer);
  std::vector<std::thread> callers;
  std::atomic<int> good = 0;
  for (int i = 0; i < kRequests; ++i) {
    callers.emplace_back([&] {
      Collector collector;
      if (Perform(Ask(), collector).status.ok() && collector.body_.size() > 4000) ++good;
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(good, kRequests);
  EXPECT_GT(server_->MostAtOnce(), 100u);
}

// A certificate authority of its own, and a certificate for 127.0.0.1.
class HttpsTest : public HttpClientTest {
 protected:
  void SetUp() override {
    const std::string script =
        "set -e; openssl req -x509 -newkey rsa:2048 -nodes -keyout ca.key -out ca.pem -days 2 -subj /CN=ca; "
        "openssl req -newkey rsa:2048 -nodes -keyout key.pem -out request.pem -subj /CN=host; "
        "echo subjectAltName=IP:127.0.0.1 >names; "
        "openssl x509 -req -in request.pem -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile names -out "
        "cert.pem";
    Command command;
    command.argv = {"/bin/sh", "-c", script};
    command.environment = {{"PATH", getenv("PATH")}};
    command.working_directory = folder_.path();
    const auto report = RunToCompletion(command, absl::Minutes(1));
    ASSERT_TRUE(report.ok() && report->Succeeded()) << report.status();
    options_.certificate_file = folder_.path() / "cert.pem";
    options_.private_key_file = folder_.path() / "key.pem";
    Serve(LongAnswer(), options_);
  }

  TemporaryDirectory folder_ = *TemporaryDirectory::Create("https_test");
  ScriptedServerOptions options_;
};

TEST_F(HttpsTest, ATrustedServerIsAnswered) {
  client_ = *HttpClient::Create({folder_.path() / "ca.pem"});
  const HttpOutcome outcome = Perform(Ask(), collector_);
  EXPECT_TRUE(outcome.status.ok()) << outcome.status;
  EXPECT_THAT(collector_.body_, HasSubstr("[DONE]"));
}

TEST_F(HttpsTest, AServerWithAnotherAuthorityIsNotTrusted) {
  const HttpOutcome outcome = Perform(Ask(), collector_);
  EXPECT_EQ(outcome.status.code(), absl::StatusCode::kFailedPrecondition) << outcome.status;
  EXPECT_THAT(std::string(outcome.status.message()), HasSubstr("not trusted"));
  EXPECT_TRUE(server_->Requests().empty());
}

TEST_F(HttpsTest, AServerWithAnotherNameIsNotTrusted) {
  client_ = *HttpClient::Create({folder_.path() / "ca.pem"});
  HttpRequest request = Ask();
  request.url = absl::StrCat("https://localhost:", server_->port(), "/v1/models");
  EXPECT_EQ(Perform(request, collector_).status.code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(HttpsTest, AMissingFileOfAuthoritiesIsNamed) {
  const auto client = HttpClient::Create({folder_.path() / "none.pem"});
  EXPECT_EQ(client.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(client.status().message()), HasSubstr("none.pem"));
}

}  // namespace
}  // namespace sassay::agent
