#include "agent/models/testing/http_connection.h"

#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace sassay::agent {
namespace {

constexpr size_t kMaxHeadBytes = 64 << 10;
constexpr size_t kMaxBodyBytes = 64 << 20;

const char* Reason(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 401:
      return "Unauthorized";
    case 404:
      return "Not Found";
    case 429:
      return "Too Many Requests";
    case 503:
      return "Service Unavailable";
    default:
      return "Scripted";
  }
}

absl::optional<HttpServedRequest> ParseHead(absl::string_view head) {
  const std::vector<absl::string_view> lines = absl::StrSplit(head, "\r\n");
  const std::vector<std::string> words = absl::StrSplit(lines[0], ' ');
  if (words.size() != 3) return absl::nullopt;
  HttpServedRequest request{words[0], words[1], {}, ""};
  for (size_t i = 1; i < lines.size(); ++i) {
    const std::pair<absl::string_view, absl::string_view> parts = absl::StrSplit(lines[i], absl::MaxSplits(':', 1));
    request.headers[absl::AsciiStrToLower(parts.first)] = std::string(absl::StripAsciiWhitespace(parts.second));
  }
  return request;
}

}  // namespace

HttpConnection::HttpConnection(UniqueFd socket, int stop_fd, ssl_ctx_st* tls)
    : socket_(std::move(socket)), stop_fd_(stop_fd), tls_(nullptr, SSL_free) {
  if (tls == nullptr) return;
  tls_.reset(SSL_new(tls));
  SSL_set_fd(tls_.get(), socket_.get());
  usable_ = SSL_accept(tls_.get()) == 1;
}

HttpConnection::~HttpConnection() = default;

bool HttpConnection::WaitReadable(absl::Duration timeout) {
  if (tls_ != nullptr && SSL_pending(tls_.get()) > 0) return true;
  std::array<pollfd, 2> entries{{{socket_.get(), POLLIN, 0}, {stop_fd_, POLLIN, 0}}};
  const int milliseconds = timeout == absl::InfiniteDuration() ? -1 : static_cast<int>(timeout / absl::Milliseconds(1));
  return poll(entries.data(), entries.size(), milliseconds) > 0 && entries[1].revents == 0;
}

bool HttpConnection::ReadMore() {
  if (!usable_ || !WaitReadable(absl::InfiniteDuration())) return false;
  std::array<char, 1 << 14> piece;
  const ssize_t got = tls_ != nullptr ? SSL_read(tls_.get(), piece.data(), piece.size())
                                      : recv(socket_.get(), piece.data(), piece.size(), 0);
  if (got <= 0) return false;
  buffer_.append(piece.data(), static_cast<size_t>(got));
  return true;
}

absl::optional<HttpServedRequest> HttpConnection::ReadRequest() {
  size_t end = 0;
  while ((end = buffer_.find("\r\n\r\n")) == std::string::npos) {
    if (buffer_.size() > kMaxHeadBytes || !ReadMore()) return absl::nullopt;
  }
  absl::optional<HttpServedRequest> request = ParseHead(absl::string_view(buffer_).substr(0, end));
  buffer_.erase(0, end + 4);
  uint64_t length = 0;
  if (!request ||
      (request->headers.count("content-length") != 0 &&
       !absl::SimpleAtoi(request->headers["content-length"], &length)) ||
      length > kMaxBodyBytes) {
    return absl::nullopt;
  }
  while (buffer_.size() < length) {
    if (!ReadMore()) return absl::nullopt;
  }
  request->body = buffer_.substr(0, length);
  buffer_.erase(0, length);
  return request;
}

bool HttpConnection::PeerIsGone() {
  pollfd entry{socket_.get(), POLLRDHUP, 0};
  return poll(&entry, 1, 0) > 0;
}

bool HttpConnection::Write(absl::string_view bytes) {
  if (!usable_ || PeerIsGone()) return false;
  while (!bytes.empty()) {
    const ssize_t sent = tls_ != nullptr ? SSL_write(tls_.get(), bytes.data(), static_cast<int>(bytes.size()))
                                         : send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && tls_ == nullptr && errno == EINTR) continue;
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(sent));
  }
  return true;
}

bool HttpConnection::WriteWhole(int status, absl::string_view content_type,
                                const std::map<std::string, std::string>& headers, absl::string_view body) {
  std::string head = absl::StrCat("HTTP/1.1 ", status, " ", Reason(status), "\r\nContent-Type: ", content_type,
                                  "\r\nContent-Length: ", body.size(), "\r\n");
  for (const auto& [name, value] : headers) absl::StrAppend(&head, name, ": ", value, "\r\n");
  return Write(absl::StrCat(head, "\r\n", body));
}

bool HttpConnection::BeginChunks(int status, absl::string_view content_type) {
  return Write(absl::StrCat("HTTP/1.1 ", status, " ", Reason(status), "\r\nContent-Type: ", content_type,
                            "\r\nTransfer-Encoding: chunked\r\n\r\n"));
}

bool HttpConnection::WriteChunk(absl::string_view bytes) {
  return Write(absl::StrCat(absl::Hex(bytes.size()), "\r\n", bytes, "\r\n"));
}

bool HttpConnection::EndChunks() { return Write("0\r\n\r\n"); }

bool HttpConnection::Pause(absl::Duration duration) {
  std::array<pollfd, 2> entries{{{socket_.get(), POLLRDHUP, 0}, {stop_fd_, POLLIN, 0}}};
  const int milliseconds = duration == absl::InfiniteDuration()
                               ? -1
                               : static_cast<int>(absl::Ceil(duration, absl::Milliseconds(1)) / absl::Milliseconds(1));
  return poll(entries.data(), entries.size(), milliseconds) == 0;
}

}  // namespace sassay::agent
