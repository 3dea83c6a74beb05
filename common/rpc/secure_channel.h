// The way to one service: address, transport security, token. What agent, monitor and operators' commands share.
#ifndef SASSAY_COMMON_RPC_SECURE_CHANNEL_H_
#define SASSAY_COMMON_RPC_SECURE_CHANNEL_H_

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>

#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace sassay {

// Where and how to connect. Empty: not given.
struct ConnectionOptions {
  std::string service = {};     // HOST:PORT or unix:PATH
  std::string ca_file = {};     // PEM; switches TLS on
  std::string cert_file = {};   // PEM, with key_file: mutual TLS
  std::string key_file = {};    // PEM
  std::string token_file = {};  // first line is the bearer token
  std::string token = {};       // used if token_file is empty
  bool insecure = false;        // plaintext although the service is not on this machine
};

// Whether `service` names this machine ("localhost:1", "127.0.0.1:1", "[::1]:1", "unix:/run/x").
bool IsLoopback(absl::string_view service);

// One channel and the credentials of each call on it. A value; copies share the channel.
//
// Security: plaintext only to this machine unless `insecure`; elsewhere TLS, verified against ca_file or the system's
// authorities. The token travels as "authorization: Bearer …" metadata.
// Life cycle: Open reads the files and makes the channel; no traffic happens before the first call.
// Threads: thread-safe.
// Failure: Open gives INVALID_ARGUMENT for an address without port and for files that cannot be used, naming the flag.
class SecureChannel {
 public:
  static absl::StatusOr<SecureChannel> Open(const ConnectionOptions& options);

  const std::string& service() const { return service_; }
  const std::shared_ptr<grpc::Channel>& channel() const { return channel_; }
  // A context with the token and, unless infinite, a deadline. One per call.
  std::unique_ptr<grpc::ClientContext> NewContext(absl::Duration timeout) const;

 private:
  SecureChannel(std::string service, std::string token, std::shared_ptr<grpc::Channel> channel)
      : service_(std::move(service)), token_(std::move(token)), channel_(std::move(channel)) {}

  std::string service_;
  std::string token_;
  std::shared_ptr<grpc::Channel> channel_;
};

}  // namespace sassay

#endif  // SASSAY_COMMON_RPC_SECURE_CHANNEL_H_
