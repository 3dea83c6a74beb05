// HTTP for many long answers at once: libcurl behind a blocking call.
//
// Why one thread: an answer is a stream of small pieces for minutes. Hundreds of them cost one thread that sleeps until
// a socket or a deadline wakes it, not hundreds that each hold a stack and a buffer.
#ifndef SASSAY_AGENT_MODELS_HTTP_HTTP_CLIENT_H_
#define SASSAY_AGENT_MODELS_HTTP_HTTP_CLIENT_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "agent/models/http/request_body.h"
#include "agent/models/http/secret.h"
#include "common/rpc/stopper.h"

namespace sassay::agent {

// How long each phase of a request may take.
struct HttpTimeouts {
  absl::Duration connect = absl::Seconds(30);
  // Until the receiver first sees what it waits for.
  absl::Duration first = absl::Minutes(10);
  // From then on between one piece of it and the next.
  absl::Duration between = absl::Minutes(2);
  absl::Duration whole = absl::Hours(1);
};

// What to send. Everything is borrowed until Perform returns.
struct HttpRequest {
  std::string url;
  std::vector<std::pair<std::string, std::string>> headers;
  // Sent as "NAME: PREFIX KEY"; null: none.
  const Secret* secret = nullptr;
  std::string secret_header;
  // "Bearer " or empty.
  std::string secret_prefix;
  // Null: a GET. Else a POST of JSON.
  const RequestBody* body = nullptr;
  HttpTimeouts timeouts;
};

// Names in lower case; of several with one name the last.
using HttpHeaders = std::map<std::string, std::string>;

// Takes an answer as it comes. Called on the client's thread, one call at a time; must not block. An error ends the
// request and becomes its outcome.
class HttpReceiver {
 public:
  // What a piece of the body was.
  enum class Piece {
    kNothing,   // no reason to wait longer (keep-alive comments)
    kProgress,  // what is waited for
    kComplete,  // the last of it; what follows, or a connection that breaks now, no longer matters
  };
  virtual ~HttpReceiver() = default;
  virtual absl::Status OnHead(int status, const HttpHeaders& headers) = 0;
  virtual absl::StatusOr<Piece> OnBody(absl::string_view bytes) = 0;
};

// How a request ended.
struct HttpOutcome {
  // OK: the server's answer, whatever it says, has come whole. UNAVAILABLE: no connection, or one that broke;
  // DEADLINE_EXCEEDED names the phase; FAILED_PRECONDITION: the server's certificate cannot be trusted; CANCELLED by
  // the stopper; else what the receiver returned. Texts hold no header.
  absl::Status status;
  // Whether the request reached the server, which then may have begun to work on it.
  bool sent = false;
};

struct HttpClientOptions {
  // PEM file with certificate authorities; empty: this machine's own.
  std::string ca_file;
};

// The client. Speaks HTTP/1.1, and HTTP/2 where TLS offers it; keeps connections; uses proxies as curl does
// (https_proxy, no_proxy, …); follows no redirects, which would carry a key elsewhere.
//
// Life cycle: one for a process or a run; destroyed after every Perform has returned. Threads: Perform from any number
// at once. Memory: about 30 KiB for each request under way, and what receivers keep.
class HttpClient {
 public:
  // FAILED_PRECONDITION if `ca_file` cannot be read.
  static absl::StatusOr<std::unique_ptr<HttpClient>> Create(const HttpClientOptions& options);
  ~HttpClient();

  // Blocks until the request has ended.
  HttpOutcome Perform(const HttpRequest& request, HttpReceiver& receiver, Stopper& stopper);

  // How often the client's thread has woken up: grows with what arrives, not with time.
  uint64_t wakeups() const;

 private:
  class Loop;
  explicit HttpClient(std::unique_ptr<Loop> loop);
  std::unique_ptr<Loop> loop_;
};

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_MODELS_HTTP_HTTP_CLIENT_H_
