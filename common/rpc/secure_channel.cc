#include "common/rpc/secure_channel.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <openssl/err.h>
#include <openssl/pem.h>

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/base/files.h"
#include "common/base/status_macros.h"
#include "common/rpc/protocol.h"

namespace sassay {
namespace {

constexpr uint64_t kMaxCredentialBytes = 1 << 20;
// A host that vanishes, or a network that drops what it carries, closes no connection: who only listens would wait for
// ever. So whoever waits for an answer asks after a moment without a word whether there is anybody, and gives the
// connection up 17 s after the last one. The service refuses to be asked more often than every 10 s.
constexpr int kKeepaliveMs = 11'000;
constexpr int kKeepaliveTimeoutMs = 6'000;
constexpr int kMaxMessageBytes = 64 << 20;

absl::Status CheckAddress(absl::string_view service) {
  if (absl::StartsWith(service, "unix:")) return absl::OkStatus();
  const size_t colon = service.rfind(':');
  int port = 0;
  const bool has_port = colon != absl::string_view::npos && absl::SimpleAtoi(service.substr(colon + 1), &port) &&
                        port > 0 && port < 65536;
  if (has_port && colon > 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("--service must be HOST:PORT, for example 127.0.0.1:50051, not \"", service, "\"."));
}

// OpenSSL would ask on the terminal.
int NoPassword(char*, int, int, void*) { return 0; }

absl::StatusOr<std::string> ReadCredential(const std::string& path, absl::string_view flag) {
  if (path.empty()) return std::string();
  absl::StatusOr<std::string> text = ReadFile(path, kMaxCredentialBytes);
  if (text.ok() && !absl::StripAsciiWhitespace(*text).empty()) return text;
  return absl::InvalidArgumentError(
      absl::StrCat(flag, " ", path,
                   " cannot be used: ", text.ok() ? "the file is empty" : std::string(text.status().message()), "."));
}

// gRPC says nothing that helps about a file that it cannot use.
absl::StatusOr<std::string> ReadPem(const std::string& path, absl::string_view flag, absl::string_view what) {
  ASSIGN_OR_RETURN(std::string text, ReadCredential(path, flag));
  if (path.empty()) return text;
  const std::unique_ptr<BIO, int (*)(BIO*)> bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())), BIO_free);
  bool good = false;
  if (what == "certificate") {
    const std::unique_ptr<X509, void (*)(X509*)> found(PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr),
                                                       X509_free);
    good = found != nullptr;
  } else {
    const std::unique_ptr<EVP_PKEY, void (*)(EVP_PKEY*)> found(
        PEM_read_bio_PrivateKey(bio.get(), nullptr, NoPassword, nullptr), EVP_PKEY_free);
    good = found != nullptr;
  }
  ERR_clear_error();
  if (good) return text;
  return absl::InvalidArgumentError(absl::StrCat(flag, " ", path, " holds no PEM ", what, "."));
}

// gRPC ends the process over metadata with other characters. The message must not repeat the token.
absl::StatusOr<std::string> CheckToken(absl::string_view text, absl::string_view origin) {
  const absl::string_view token = absl::StripAsciiWhitespace(text);
  const auto visible = [](char c) { return c > ' ' && c < 0x7F; };
  const auto bad = std::find_if_not(token.begin(), token.end(), visible);
  if (bad == token.end()) return std::string(token);
  return absl::InvalidArgumentError(absl::StrCat(
      origin, ": the token must be printable characters without blanks; character ", bad - token.begin() + 1, " is \\x",
      absl::Hex(static_cast<unsigned char>(*bad), absl::kZeroPad2), "."));
}

absl::StatusOr<std::string> ReadToken(const ConnectionOptions& options) {
  if (options.token_file.empty()) return CheckToken(options.token, "SASSAY_TOKEN (or token of the user file)");
  ASSIGN_OR_RETURN(const std::string text, ReadCredential(options.token_file, "--token-file"));
  const std::string origin = absl::StrCat("--token-file ", options.token_file);
  ASSIGN_OR_RETURN(const std::string token, CheckToken(text.substr(0, text.find('\n')), origin));
  if (token.empty()) return absl::InvalidArgumentError(absl::StrCat(origin, ": the first line must be the token."));
  return token;
}

absl::StatusOr<std::shared_ptr<grpc::ChannelCredentials>> MakeCredentials(const ConnectionOptions& options) {
  const bool plaintext =
      options.ca_file.empty() && options.cert_file.empty() && (options.insecure || IsLoopback(options.service));
  if (plaintext) return grpc::InsecureChannelCredentials();
  if (options.cert_file.empty() != options.key_file.empty()) {
    return absl::InvalidArgumentError("--cert-file and --key-file go together; only one was given.");
  }
  grpc::SslCredentialsOptions tls;
  ASSIGN_OR_RETURN(tls.pem_root_certs, ReadPem(options.ca_file, "--ca-file", "certificate"));
  ASSIGN_OR_RETURN(tls.pem_cert_chain, ReadPem(options.cert_file, "--cert-file", "certificate"));
  ASSIGN_OR_RETURN(tls.pem_private_key, ReadPem(options.key_file, "--key-file", "private key"));
  return grpc::SslCredentials(tls);
}

grpc::ChannelArguments Arguments() {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveMs);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepaliveTimeoutMs);
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);  // as often as that, however long nothing is to be said
  // gRPC gives every attempt to connect this long; a loaded machine needs more than a moment for the first frame.
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 10000);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 2000);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  // What comes to a client is small. Looking for the bandwidth costs a ping and its answer for each message.
  arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  arguments.SetMaxReceiveMessageSize(kMaxMessageBytes);
  return arguments;
}

}  // namespace

bool IsLoopback(absl::string_view service) {
  if (absl::StartsWith(service, "unix:")) return true;
  const absl::string_view host = service.substr(0, service.rfind(':'));
  return host == "localhost" || host == "[::1]" || host == "::1" || host == "127.0.0.1";
}

absl::StatusOr<SecureChannel> SecureChannel::Open(const ConnectionOptions& options) {
  RETURN_IF_ERROR(CheckAddress(options.service));
  ASSIGN_OR_RETURN(std::string token, ReadToken(options));
  ASSIGN_OR_RETURN(const std::shared_ptr<grpc::ChannelCredentials> credentials, MakeCredentials(options));
  auto channel = grpc::CreateCustomChannel(options.service, credentials, Arguments());
  return SecureChannel(options.service, std::move(token), std::move(channel));
}

std::unique_ptr<grpc::ClientContext> SecureChannel::NewContext(absl::Duration timeout) const {
  auto context = std::make_unique<grpc::ClientContext>();
  Introduce(*context);
  if (!token_.empty()) context->AddMetadata("authorization", absl::StrCat("Bearer ", token_));
  if (timeout < absl::InfiniteDuration()) context->set_deadline(absl::ToChronoTime(absl::Now() + timeout));
  return context;
}

}  // namespace sassay
