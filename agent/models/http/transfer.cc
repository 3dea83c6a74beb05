#include "agent/models/http/transfer.h"

#include <unistd.h>

#include <cstring>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "agent/models/http/endpoint.h"
#include "common/base/steady_time.h"
#include "common/base/utf8.h"

namespace sassay::agent {
namespace {

constexpr size_t kMaxHeaderBytes = 64 << 10;
constexpr long kReceiveBufferBytes = 8 << 10;
// How long the server may take to end an answer that is complete.
constexpr absl::Duration kEndGrace = absl::Seconds(2);

long Milliseconds(absl::Duration duration) { return static_cast<long>(absl::ToInt64Milliseconds(duration)); }

long ResponseCode(CURL* handle) {
  long code = 0;
  curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &code);
  return code;
}

// Time from the start until the connection was ready to take the request, in microseconds; 0 if it never was.
curl_off_t PretransferTime(CURL* handle) {
  curl_off_t time = 0;
  curl_easy_getinfo(handle, CURLINFO_PRETRANSFER_TIME_T, &time);
  return time;
}

// Certificate authorities of the host, by where distributions keep them; libcurl knows Debian's place alone. Empty:
// none.
const char* AuthoritiesOfHost() {
  for (const char* file : {"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt",
                           "/etc/ssl/ca-bundle.pem", "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem"}) {
    if (access(file, R_OK) == 0) return file;
  }
  return "";
}

}  // namespace

HttpTransfer::HttpTransfer(const HttpRequest& request, const std::string& ca_file, HttpReceiver& receiver)
    : timeouts_(request.timeouts),
      receiver_(receiver),
      handle_(curl_easy_init(), curl_easy_cleanup),
      body_(request.body == nullptr ? no_body_ : *request.body),
      deadline_(SteadyNow() + request.timeouts.first) {
  AddHeaders(request);
  SetOptions(request, ca_file);
}

void HttpTransfer::FreeHeaders::operator()(curl_slist* list) const {
  for (curl_slist* line = list; line != nullptr; line = line->next) explicit_bzero(line->data, strlen(line->data));
  curl_slist_free_all(list);
}

void HttpTransfer::AddHeaders(const HttpRequest& request) {
  const auto add = [this](const std::string& line) {
    headers_.reset(curl_slist_append(headers_.release(), line.c_str()));
  };
  for (const auto& [name, value] : request.headers) add(absl::StrCat(name, ": ", value));
  if (request.body != nullptr) add("Content-Type: application/json");
  add("Expect:");
  if (request.secret == nullptr || request.secret->empty()) return;
  std::string line = absl::StrCat(request.secret_header, ": ", request.secret_prefix, request.secret->Reveal());
  add(line);
  WipeText(line);
}

void HttpTransfer::SetOptions(const HttpRequest& request, const std::string& ca_file) {
  const auto set = [this](CURLoption option, auto value) { curl_easy_setopt(handle_.get(), option, value); };
  set(CURLOPT_URL, request.url.c_str());
  set(CURLOPT_PROTOCOLS_STR, "http,https");
  set(CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_2TLS));
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
  // What is for this machine alone, such as a key in plain text, does not go through another one.
  const absl::StatusOr<Endpoint> endpoint = ParseEndpoint(request.url);
  if (endpoint.ok() && endpoint->IsLoopback()) set(CURLOPT_NOPROXY, "*");
  const std::string authorities = ca_file.empty() ? AuthoritiesOfHost() : ca_file;
  if (!authorities.empty()) set(CURLOPT_CAINFO, authorities.c_str());
  // The agent carries no Kerberos (decision 0023).
  set(CURLOPT_SOCKS5_AUTH, static_cast<long>(CURLAUTH_BASIC));
  set(CURLOPT_USERAGENT, "sassay/" SASSAY_VERSION);
  set(CURLOPT_CONNECTTIMEOUT_MS, Milliseconds(timeouts_.connect));
  set(CURLOPT_TIMEOUT_MS, Milliseconds(timeouts_.whole));
  set(CURLOPT_TCP_KEEPALIVE, 1L);
  set(CURLOPT_BUFFERSIZE, kReceiveBufferBytes);
  set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
  set(CURLOPT_ERRORBUFFER, error_text_.data());
  set(CURLOPT_HTTPHEADER, headers_.get());
  set(CURLOPT_HEADERFUNCTION, &HttpTransfer::OnHeader);
  set(CURLOPT_HEADERDATA, this);
  set(CURLOPT_WRITEFUNCTION, &HttpTransfer::OnBody);
  set(CURLOPT_WRITEDATA, this);
  set(CURLOPT_PRIVATE, this);
  if (request.body == nullptr) return;
  set(CURLOPT_POST, 1L);
  set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body->bytes()));
  set(CURLOPT_READFUNCTION, &HttpTransfer::OnRead);
  set(CURLOPT_READDATA, this);
  set(CURLOPT_SEEKFUNCTION, &HttpTransfer::OnSeek);
  set(CURLOPT_SEEKDATA, this);
}

absl::Status HttpTransfer::AtDeadline() const {
  if (complete_) return absl::OkStatus();
  return absl::DeadlineExceededError(
      begun_ ? absl::StrCat("nothing more came for ", absl::FormatDuration(timeouts_.between))
             : absl::StrCat("no answer began within ", absl::FormatDuration(timeouts_.first)));
}

void HttpTransfer::Finish(CURLcode code, const absl::Status& because) {
  outcome_.sent = PretransferTime(handle_.get()) > 0;
  if (complete_) {
    outcome_.status = absl::OkStatus();
  } else if (!receiver_status_.ok()) {
    outcome_.status = receiver_status_;
  } else {
    outcome_.status = because.ok() ? StatusOf(code) : because;
  }
  done_.Notify();
}

HttpOutcome HttpTransfer::Await() {
  done_.WaitForNotification();
  return outcome_;
}

absl::Status HttpTransfer::StatusOf(CURLcode code) const {
  const std::string text = ToUtf8(error_text_[0] != '\0' ? error_text_.data() : curl_easy_strerror(code));
  switch (code) {
    case CURLE_OK:
      return absl::OkStatus();
    case CURLE_OPERATION_TIMEDOUT:
      return absl::DeadlineExceededError(
          PretransferTime(handle_.get()) == 0
              ? absl::StrCat("no connection within ", absl::FormatDuration(timeouts_.connect))
              : absl::StrCat("the answer was not whole within ", absl::FormatDuration(timeouts_.whole)));
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_ISSUER_ERROR:
      return absl::FailedPreconditionError(absl::StrCat("the server's certificate is not trusted: ", text));
    case CURLE_URL_MALFORMAT:
      return absl::FailedPreconditionError(text);
    default:
      return absl::UnavailableError(text);
  }
}

size_t HttpTransfer::Fail(absl::Status status) {
  receiver_status_ = std::move(status);
  return 0;
}

size_t HttpTransfer::TakeHeaderLine(absl::string_view line) {
  header_bytes_ += line.size();
  if (header_bytes_ > kMaxHeaderBytes) return Fail(absl::ResourceExhaustedError("the server's headers do not end"));
  if (absl::StartsWith(line, "HTTP/")) received_.clear();
  const absl::string_view text = absl::StripAsciiWhitespace(line);
  const size_t colon = text.find(':');
  if (colon != absl::string_view::npos) {
    received_[absl::AsciiStrToLower(text.substr(0, colon))] =
        ToUtf8(absl::StripAsciiWhitespace(text.substr(colon + 1)));
  }
  const long code = ResponseCode(handle_.get());
  // The lines after the body, where there are any, look the same.
  if (!text.empty() || code < 200 || std::exchange(head_given_, true)) return line.size();
  if (absl::Status status = receiver_.OnHead(static_cast<int>(code), received_); !status.ok()) return Fail(status);
  return line.size();
}

size_t HttpTransfer::TakeBody(absl::string_view bytes) {
  if (complete_) return bytes.size();
  const absl::StatusOr<HttpReceiver::Piece> piece = receiver_.OnBody(bytes);
  if (!piece.ok()) return Fail(piece.status());
  complete_ = *piece == HttpReceiver::Piece::kComplete;
  if (*piece == HttpReceiver::Piece::kProgress) {
    begun_ = true;
    GiveUpAfter(timeouts_.between);
  }
  if (complete_) GiveUpAfter(kEndGrace);
  return bytes.size();
}

void HttpTransfer::GiveUpAfter(absl::Duration duration) {
  deadline_ = SteadyNow() + duration;
  if (deadline_ < next_look) hurried->push_back(this);
}

size_t HttpTransfer::OnHeader(char* data, size_t size, size_t count, void* self) {
  return static_cast<HttpTransfer*>(self)->TakeHeaderLine({data, size * count});
}

size_t HttpTransfer::OnBody(char* data, size_t size, size_t count, void* self) {
  return static_cast<HttpTransfer*>(self)->TakeBody({data, size * count});
}

size_t HttpTransfer::OnRead(char* data, size_t size, size_t count, void* self) {
  return static_cast<HttpTransfer*>(self)->body_.Read(data, size * count);
}

int HttpTransfer::OnSeek(void* self, curl_off_t offset, int origin) {
  if (offset != 0 || origin != SEEK_SET) return CURL_SEEKFUNC_CANTSEEK;
  static_cast<HttpTransfer*>(self)->body_.Rewind();
  return CURL_SEEKFUNC_OK;
}

}  // namespace sassay::agent
