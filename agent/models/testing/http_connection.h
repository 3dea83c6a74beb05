// The server's end of one HTTP/1.1 connection, down to the bytes: a server made to misbehave needs a hand on each.
#ifndef SASSAY_AGENT_MODELS_TESTING_HTTP_CONNECTION_H_
#define SASSAY_AGENT_MODELS_TESTING_HTTP_CONNECTION_H_

#include <map>
#include <memory>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "common/base/fd.h"

struct ssl_ctx_st;
struct ssl_st;

namespace sassay::agent {

// A request as it came.
struct HttpServedRequest {
  std::string method;
  std::string path;
  // Names in lower case.
  std::map<std::string, std::string> headers;
  std::string body;
};

// One accepted socket. Life cycle: made by the server, used by one thread, closed on destruction. Every wait ends when
// `stop_fd` becomes readable. Threads: compatible.
class HttpConnection {
 public:
  // `tls`: null for plain text.
  HttpConnection(UniqueFd socket, int stop_fd, ssl_ctx_st* tls);
  ~HttpConnection();

  // Nothing when the peer is gone, the server stops, or what came is no request of at most 64 MiB.
  absl::optional<HttpServedRequest> ReadRequest();
  // False when the peer is gone. A peer that has closed its end counts as gone.
  bool Write(absl::string_view bytes);
  // Status line, headers, Content-Length and body.
  bool WriteWhole(int status, absl::string_view content_type, const std::map<std::string, std::string>& headers,
                  absl::string_view body);
  // The head of a chunked answer, one chunk of it, and its end.
  bool BeginChunks(int status, absl::string_view content_type);
  bool WriteChunk(absl::string_view bytes);
  bool EndChunks();
  // Waits; false as soon as the peer is gone or the server stops.
  bool Pause(absl::Duration duration);

 private:
  bool WaitReadable(absl::Duration timeout);
  bool ReadMore();
  bool PeerIsGone();

  UniqueFd socket_;
  const int stop_fd_;
  std::unique_ptr<ssl_st, void (*)(ssl_st*)> tls_;
  bool usable_ = true;
  std::string buffer_;
};

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_MODELS_TESTING_HTTP_CONNECTION_H_
