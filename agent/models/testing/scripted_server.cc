#include "agent/models/testing/scripted_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <list>
#include <thread>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/synchronization/mutex.h"
#include "agent/models/testing/answer_wire.h"
#include "agent/models/testing/http_connection.h"
#include "common/base/sha256.h"
#include "common/base/status_macros.h"

namespace sassay::agent {
namespace {

using Json = nlohmann::json;
using TlsContext = std::unique_ptr<SSL_CTX, void (*)(SSL_CTX*)>;

constexpr char kEvents[] = "text/event-stream; charset=utf-8";
constexpr char kJson[] = "application/json";

std::string Header(const AnswerRequest& request, const std::string& name) {
  const auto found = request.headers.find(name);
  return found == request.headers.end() ? "" : found->second;
}

AnswerRequest ToAnswerRequest(HttpServedRequest http) {
  AnswerRequest request;
  request.wire =
      absl::EndsWith(http.path, "/messages") ? AnswerRequest::Wire::kAnthropic : AnswerRequest::Wire::kOpenAi;
  request.path = std::move(http.path);
  request.headers = std::move(http.headers);
  request.body = Json::parse(http.body, nullptr, /*allow_exceptions=*/false);
  request.idempotency_key = Header(request, "idempotency-key");
  const std::vector<std::string> parts = absl::StrSplit(request.idempotency_key, '/');
  if (parts.size() >= 2 && absl::SimpleAtoi(parts.back(), &request.turn)) {
    request.trajectory_id = parts[parts.size() - 2];
  }
  return request;
}

absl::StatusOr<TlsContext> MakeTls(const ScriptedServerOptions& options) {
  TlsContext tls(nullptr, SSL_CTX_free);
  if (options.certificate_file.empty()) return tls;
  tls.reset(SSL_CTX_new(TLS_server_method()));
  if (SSL_CTX_use_certificate_chain_file(tls.get(), options.certificate_file.c_str()) == 1 &&
      SSL_CTX_use_PrivateKey_file(tls.get(), options.private_key_file.c_str(), SSL_FILETYPE_PEM) == 1) {
    return tls;
  }
  return absl::InvalidArgumentError(absl::StrCat("cannot serve with ", options.certificate_file));
}

absl::StatusOr<UniqueFd> Listen() {
  UniqueFd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (fd.valid() && bind(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0 &&
      listen(fd.get(), 1024) == 0) {
    return fd;
  }
  return absl::ErrnoToStatus(errno, "cannot listen on 127.0.0.1");
}

// OpenSSL writes without MSG_NOSIGNAL.
void BlockBrokenPipe() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

int PortOf(int fd) {
  sockaddr_in address = {};
  socklen_t size = sizeof address;
  getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size);
  return ntohs(address.sin_port);
}

// Sends one answer; false if the peer did not get all of it.
class Sender {
 public:
  Sender(HttpConnection& connection, const AnswerRequest& request, const ScriptedAnswer& answer)
      : connection_(connection), request_(request), answer_(answer), wire_(SpellAnswer(request, answer)) {}

  // Whether the answer was sent to its end.
  bool Send() {
    switch (answer_.fault) {
      case ServerFault::kHangUp:
        return false;
      case ServerFault::kNotHttp:
        connection_.Write("220 this is no HTTP\r\n\xff\xfe\r\n\r\n");
        return false;
      case ServerFault::kSilence:
        connection_.Pause(absl::InfiniteDuration());
        return false;
      case ServerFault::kHttpError:
        keeps_ = connection_.WriteWhole(
            answer_.status, kJson, answer_.headers,
            answer_.error_body.empty() ? SpellError(request_.wire, answer_.status) : answer_.error_body);
        return false;
      case ServerFault::kEndlessError:
        for (bool there = connection_.BeginChunks(answer_.status, kJson); there;)
          there = connection_.WriteChunk(std::string(64 << 10, 'x'));
        return false;
      case ServerFault::kWrongContentType:
        keeps_ = connection_.WriteWhole(200, "text/html", {}, "<html><body>Please log in.</body></html>");
        return false;
      default:
        return connection_.Pause(answer_.before_first) && (WantsStream() ? SendStream() : SendWhole());
    }
  }

  // Whether the connection can be used again.
  bool keeps() const { return keeps_; }

 private:
  bool WantsStream() const { return !answer_.whole && request_.body.value("stream", false); }

  bool SendWhole() {
    keeps_ = connection_.Pause(answer_.duration) && connection_.WriteWhole(200, kJson, {}, wire_.whole);
    return keeps_;
  }

  bool SendAll(const std::vector<std::string>& events) {
    return std::all_of(events.begin(), events.end(),
                       [this](const std::string& event) { return connection_.WriteChunk(event); });
  }

  bool SendStream() {
    if (!connection_.BeginChunks(200, kEvents) || !SendAll(wire_.begin)) return false;
    const absl::Duration pace = answer_.duration / std::max<size_t>(wire_.pieces.size(), 1);
    for (size_t i = 0; i < wire_.pieces.size(); ++i) {
      if (i == wire_.pieces.size() / 2 && answer_.fault != ServerFault::kNone) return Break();
      if (pace > absl::ZeroDuration() && !connection_.Pause(pace)) return false;
      if (!connection_.WriteChunk(wire_.pieces[i])) return false;
    }
    keeps_ = SendAll(wire_.end) && connection_.EndChunks();
    return keeps_;
  }

  bool Break() {
    if (answer_.fault == ServerFault::kStall) connection_.Pause(absl::InfiniteDuration());
    if (answer_.fault == ServerFault::kNonsense) connection_.WriteChunk("data: \xff\xfe{{{,\x01\n\n");
    if (answer_.fault == ServerFault::kErrorEvent) connection_.WriteChunk(wire_.error_event);
    if (answer_.fault != ServerFault::kCutStream && answer_.fault != ServerFault::kStall) connection_.EndChunks();
    return false;
  }

  HttpConnection& connection_;
  const AnswerRequest& request_;
  const ScriptedAnswer& answer_;
  const WireAnswer wire_;
  bool keeps_ = false;
};

class Server : public ScriptedServer {
 public:
  Server(Script script, ScriptedServerOptions options, UniqueFd listener, TlsContext tls)
      : script_(std::move(script)),
        options_(std::move(options)),
        listener_(std::move(listener)),
        tls_(std::move(tls)),
        stop_(eventfd(0, EFD_CLOEXEC)),
        acceptor_([this] { Accept(); }) {}

  ~Server() override {
    const uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = write(stop_.get(), &one, sizeof one);
    acceptor_.join();
    absl::MutexLock lock(&mutex_);
    mutex_.Await(absl::Condition(
        +[](int* connections) { return *connections == 0; }, &connections_));
  }

  int port() const override { return PortOf(listener_.get()); }
  std::string url() const override { return absl::StrCat(tls_ == nullptr ? "http" : "https", "://127.0.0.1:", port()); }
  std::map<std::string, KeyCount> Counts() const override {
    absl::MutexLock lock(&mutex_);
    return counts_;
  }
  std::vector<AnswerRequest> Requests() const override {
    absl::MutexLock lock(&mutex_);
    return requests_;
  }
  uint32_t Connections() const override {
    absl::MutexLock lock(&mutex_);
    return connections_so_far_;
  }
  uint32_t MostAtOnce() const override {
    absl::MutexLock lock(&mutex_);
    return most_at_once_;
  }
  bool AwaitRequests(size_t count, absl::Duration timeout) const override {
    absl::MutexLock lock(&mutex_);
    const auto enough = [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return requests_.size() >= count; };
    return mutex_.AwaitWithTimeout(absl::Condition(&enough), timeout);
  }

 private:
  void Accept() {
    std::array<pollfd, 2> entries{{{listener_.get(), POLLIN, 0}, {stop_.get(), POLLIN, 0}}};
    while (poll(entries.data(), entries.size(), -1) > 0 && entries[1].revents == 0) {
      UniqueFd socket(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (!socket.valid()) continue;
      const int one = 1;
      setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
      {
        absl::MutexLock lock(&mutex_);
        ++connections_;
        ++connections_so_far_;
      }
      std::thread([this, fd = socket.release()] { Serve(UniqueFd(fd)); }).detach();
    }
  }

  void Serve(UniqueFd socket) {
    BlockBrokenPipe();
    {
      HttpConnection connection(std::move(socket), stop_.get(), tls_.get());
      while (absl::optional<HttpServedRequest> request = connection.ReadRequest()) {
        if (!Respond(*std::move(request), connection)) break;
      }
    }
    absl::MutexLock lock(&mutex_);
    --connections_;
  }

  bool Respond(HttpServedRequest http, HttpConnection& connection) {
    if (http.method == "GET") return RespondToGet(http, connection);
    AnswerRequest request = ToAnswerRequest(std::move(http));
    if (!Authorized(request)) return connection.WriteWhole(401, kJson, {}, SpellError(request.wire, 401));
    if (!request.body.is_object()) return connection.WriteWhole(400, kJson, {}, SpellError(request.wire, 400));
    const absl::optional<ScriptedAnswer> remembered = Enter(request);
    const ScriptedAnswer answer = remembered ? *remembered : script_(request);
    Sender sender(connection, request, answer);
    const bool whole = sender.Send();
    Leave(request, answer, whole, remembered.has_value());
    return sender.keeps();
  }

  bool RespondToGet(const HttpServedRequest& http, HttpConnection& connection) {
    if (absl::EndsWith(http.path, "/models")) {
      return connection.WriteWhole(200, kJson, {}, R"({"object":"list","data":[{"id":"scripted","object":"model"}]})");
    }
    if (http.path != "/counts")
      return connection.WriteWhole(404, kJson, {}, SpellError(AnswerRequest::Wire::kOpenAi, 404));
    Json counts = Json::object();
    for (const auto& [key, count] : Counts()) {
      counts[key] = {{"requests", count.requests}, {"generated", count.generated}, {"from_memory", count.from_memory}};
    }
    return connection.WriteWhole(200, kJson, {}, counts.dump());
  }

  bool Authorized(const AnswerRequest& request) const {
    return options_.api_key.empty() || Header(request, "x-api-key") == options_.api_key ||
           Header(request, "authorization") == absl::StrCat("Bearer ", options_.api_key);
  }

  // Counts the request; gives the answer if this key has been answered.
  absl::optional<ScriptedAnswer> Enter(AnswerRequest& request) {
    absl::MutexLock lock(&mutex_);
    request.attempt = counts_[request.idempotency_key].requests++;
    requests_.push_back(request);
    if (!options_.keeps_bodies) requests_.back().body = Json();
    most_at_once_ = std::max(most_at_once_, ++under_way_);
    const auto found = memory_.find(request.idempotency_key);
    if (request.idempotency_key.empty() || found == memory_.end()) return absl::nullopt;
    return found->second;
  }

  void Leave(const AnswerRequest& request, ScriptedAnswer answer, bool whole, bool remembered) {
    absl::MutexLock lock(&mutex_);
    --under_way_;
    if (!whole) return;
    KeyCount& count = counts_[request.idempotency_key];
    ++(remembered ? count.from_memory : count.generated);
    answer.before_first = answer.duration = absl::ZeroDuration();
    if (options_.remembers) memory_[request.idempotency_key] = std::move(answer);
  }

  const Script script_;
  const ScriptedServerOptions options_;
  const UniqueFd listener_;
  const TlsContext tls_;
  const UniqueFd stop_;
  mutable absl::Mutex mutex_;
  std::map<std::string, KeyCount> counts_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, ScriptedAnswer> memory_ ABSL_GUARDED_BY(mutex_);
  std::vector<AnswerRequest> requests_ ABSL_GUARDED_BY(mutex_);
  uint32_t under_way_ ABSL_GUARDED_BY(mutex_) = 0;
  uint32_t most_at_once_ ABSL_GUARDED_BY(mutex_) = 0;
  int connections_ ABSL_GUARDED_BY(mutex_) = 0;
  uint32_t connections_so_far_ ABSL_GUARDED_BY(mutex_) = 0;
  std::thread acceptor_;
};

constexpr ServerFault kRandomFaults[] = {
    ServerFault::kHttpError,  ServerFault::kHttpError, ServerFault::kCutStream,
    ServerFault::kEndsEarly,  ServerFault::kNonsense,  ServerFault::kWrongContentType,
    ServerFault::kErrorEvent, ServerFault::kHangUp,    ServerFault::kNotHttp};

}  // namespace

absl::StatusOr<std::unique_ptr<ScriptedServer>> ScriptedServer::Start(Script script, ScriptedServerOptions options) {
  ASSIGN_OR_RETURN(TlsContext tls, MakeTls(options));
  ASSIGN_OR_RETURN(UniqueFd listener, Listen());
  return std::make_unique<Server>(std::move(script), std::move(options), std::move(listener), std::move(tls));
}

Script WithRandomFaults(Script script, uint64_t seed, double share) {
  return [script = std::move(script), seed, share](const AnswerRequest& request) {
    ScriptedAnswer answer = script(request);
    const std::string dice = Sha256(absl::StrCat(seed, "/", request.idempotency_key, "/", request.attempt));
    const auto number = [&](int at) { return static_cast<uint8_t>(dice[at]); };
    if (request.attempt >= 3 || number(0) >= 256 * share) return answer;
    answer.fault = kRandomFaults[number(1) % std::size(kRandomFaults)];
    answer.status = number(2) % 2 == 0 ? 429 : 500;
    if (answer.status == 429 && number(3) % 2 == 0) answer.headers["Retry-After"] = "0";
    return answer;
  };
}

}  // namespace sassay::agent
