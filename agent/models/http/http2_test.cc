// Answers over HTTP/2, as providers beyond one's own machine send them: nghttpx (nghttp2's proxy) speaks TLS and HTTP/2
// to the client and HTTP/1.1 to the scripted server behind it.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "agent/models/http/http_client.h"
#include "agent/models/testing/collector.h"
#include "agent/models/testing/scripted_server.h"
#include "common/base/files.h"
#include "common/process/subprocess.h"

namespace sassay::agent {
namespace {

using ::testing::HasSubstr;

// Where deploy/install_dependencies.sh unpacks it, or where the machine has it; empty if nowhere.
std::string FindProxy() {
  const std::string unpacked = absl::StrCat(getenv("SASSAY_TEST_SOURCE"), "/.venv/nghttpx/nghttpx");
  return access(unpacked.c_str(), X_OK) == 0 ? unpacked : FindProgram("nghttpx").value_or("");
}

class Http2Test : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::string proxy = FindProxy();
    if (proxy.empty()) GTEST_SKIP() << "no nghttpx here: deploy/install_dependencies.sh brings it";
    ASSERT_NO_FATAL_FAILURE(MakeCertificate());
    server_ = *ScriptedServer::Start([this](const AnswerRequest& request) { return script_(request); });
    ASSERT_NO_FATAL_FAILURE(StartProxy(proxy));
    client_ = *HttpClient::Create({folder_.path() / "cert.pem"});
  }

  void MakeCertificate() {
    Command command;
    command.argv = {"openssl",
                    "req",
                    "-x509",
                    "-newkey",
                    "ec",
                    "-pkeyopt",
                    "ec_paramgen_curve:prime256v1",
                    "-nodes",
                    "-keyout",
                    "key.pem",
                    "-out",
                    "cert.pem",
                    "-days",
                    "2",
                    "-subj",
                    "/CN=host",
                    "-addext",
                    "subjectAltName=IP:127.0.0.1"};
    command.environment = {{"PATH", getenv("PATH")}};
    command.working_directory = folder_.path();
    const auto report = RunToCompletion(command, absl::Minutes(1));
    ASSERT_TRUE(report.ok() && report->Succeeded()) << report.status();
  }

  // It is given a socket that listens already: its port is known, and who connects before it is ready waits.
  void StartProxy(const std::string& proxy) {
    const UniqueFd listener(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    ASSERT_EQ(bind(listener.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
    ASSERT_EQ(listen(listener.get(), 512), 0);
    ASSERT_EQ(getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
    port_ = ntohs(address.sin_port);
    Command command;
    command.argv = {proxy,
                    "--conf=/dev/null",
                    absl::StrCat("-f127.0.0.1,", port_),
                    absl::StrCat("-b127.0.0.1,", server_->port()),
                    "--single-process",
                    "--workers=1",
                    "--no-ocsp",
                    "--accesslog-file=/dev/null",
                    absl::StrCat("--errorlog-file=", Path("errors")),
                    Path("key.pem"),
                    Path("cert.pem")};
    command.environment = {{"NGHTTPX_ACCEPT_1", "tcp,3"},
                           {"LD_LIBRARY_PATH", std::filesystem::path(proxy).parent_path().string()}};
    command.inherit_fds = {{listener.get(), 3}};
    auto process = Subprocess::Start(command);
    ASSERT_TRUE(process.ok()) << process.status();
    proxy_ = std::make_unique<Subprocess>(*std::move(process));
  }

  std::string Path(const char* name) const { return folder_.path() / name; }
  HttpRequest Ask(const std::string& key = "run/exp_000/0") const {
    HttpRequest request;
    request.url = absl::StrCat("https://127.0.0.1:", port_, "/v1/chat/completions");
    request.headers = {{"Idempotency-Key", key}};
    request.body = &body_;
    return request;
  }
  static RequestBody StreamBody() {
    RequestBody body;
    body.Append(R"({"stream":true,"text":)");
    body.AppendString(std::string(100'000, 'p'));
    body.Append("}");
    return body;
  }
  static ScriptedAnswer LongAnswer() {
    ScriptedAnswer answer;
    answer.text = std::string(4000, 'x');
    return answer;
  }
  // What the proxy adds tells the protocol in which it was asked.
  void ExpectHttp2() {
    for (const AnswerRequest& request : server_->Requests())
      EXPECT_THAT(request.headers.at("via"), HasSubstr("2 nghttpx"));
  }

  const RequestBody body_ = StreamBody();
  const TemporaryDirectory folder_ = *TemporaryDirectory::Create("http2_test");
  Script script_ = [](const AnswerRequest&) { return LongAnswer(); };
  int port_ = 0;
  std::unique_ptr<ScriptedServer> server_;
  std::unique_ptr<Subprocess> proxy_;
  std::unique_ptr<HttpClient> client_;
  Stopper stopper_;
};

TEST_F(Http2Test, AnAnswerStreamsOverHttp2) {
  Collector collector;
  const HttpOutcome outcome = client_->Perform(Ask(), collector, stopper_);
  ASSERT_TRUE(outcome.status.ok()) << outcome.status;
  EXPECT_TRUE(outcome.sent);
  EXPECT_EQ(collector.status_, 200);
  EXPECT_THAT(collector.headers_["content-type"], HasSubstr("text/event-stream"));
  EXPECT_THAT(collector.body_, HasSubstr("[DONE]"));
  EXPECT_EQ(server_->Requests().at(0).body["text"].get<std::string>().size(), 100'000u);
  ExpectHttp2();
}

TEST_F(Http2Test, AnErrorIsAnAnswerWithItsHeaders) {
  script_ = [](const AnswerRequest&) {
    ScriptedAnswer answer;
    answer.fault = ServerFault::kHttpError;
    answer.status = 429;
    answer.headers = {{"Retry-After", "7"}};
    return answer;
  };
  Collector collector;
  ASSERT_TRUE(client_->Perform(Ask(), collector, stopper_).status.ok());
  EXPECT_EQ(collector.status_, 429);
  EXPECT_EQ(collector.headers_["retry-after"], "7");
  ExpectHttp2();
}

// More than a connection carries at once (100), a third of them cut in the middle.
TEST_F(Http2Test, AStreamThatIsCutHarmsNoneOfItsNeighbours) {
  constexpr int kStreams = 240;
  script_ = [](const AnswerRequest& request) {
    ScriptedAnswer answer = LongAnswer();
    answer.before_first = absl::Milliseconds(200);
    if (request.turn % 3 == 0) answer.fault = ServerFault::kCutStream;
    return answer;
  };
  std::vector<Collector> collectors(kStreams);
  std::vector<HttpOutcome> outcomes(kStreams);
  std::vector<std::thread> callers;
  for (int i = 0; i < kStreams; ++i) {
    callers.emplace_back(
        [&, i] { outcomes[i] = client_->Perform(Ask(absl::StrCat("run/exp_000/", i)), collectors[i], stopper_); });
  }
  for (std::thread& caller : callers) caller.join();
  for (int i = 0; i < kStreams; ++i) {
    EXPECT_EQ(outcomes[i].status.ok(), i % 3 != 0) << i << ": " << outcomes[i].status;
    EXPECT_EQ(absl::StrContains(collectors[i].body_, "[DONE]"), i % 3 != 0) << i;
    EXPECT_EQ(outcomes[i].status.code(), i % 3 == 0 ? absl::StatusCode::kUnavailable : absl::StatusCode::kOk) << i;
  }
  ExpectHttp2();
}

TEST_F(Http2Test, AStreamThatIsStoppedHarmsNoneOfItsNeighbours) {
  absl::Notification stopped;
  script_ = [&](const AnswerRequest& request) {
    ScriptedAnswer answer = LongAnswer();
    if (request.turn == 0) answer.fault = ServerFault::kStall;
    if (request.turn == 1) stopped.WaitForNotification();
    return answer;
  };
  Collector first, second;
  Stopper other;
  HttpOutcome outcome;
  std::thread neighbour([&] { outcome = client_->Perform(Ask("run/exp_000/1"), second, other); });
  std::thread caller([&] {
    first.first_.WaitForNotification();
    stopper_.Stop();
    stopped.Notify();
  });
  EXPECT_EQ(client_->Perform(Ask("run/exp_000/0"), first, stopper_).status.code(), absl::StatusCode::kCancelled);
  caller.join();
  neighbour.join();
  EXPECT_TRUE(outcome.status.ok()) << outcome.status;
  EXPECT_THAT(second.body_, HasSubstr("[DONE]"));
}

TEST_F(Http2Test, AProxyThatDiesBreaksWhatIsUnderWay) {
  script_ = [](const AnswerRequest&) {
    ScriptedAnswer answer = LongAnswer();
    answer.fault = ServerFault::kStall;
    return answer;
  };
  Collector collector;
  std::thread killer([&] {
    collector.first_.WaitForNotification();
    proxy_->Kill();
  });
  const HttpOutcome outcome = client_->Perform(Ask(), collector, stopper_);
  killer.join();
  EXPECT_EQ(outcome.status.code(), absl::StatusCode::kUnavailable) << outcome.status;
  EXPECT_TRUE(outcome.sent);
}

}  // namespace
}  // namespace sassay::agent
