// The way to the Profiler port of one service.
#ifndef SASSAY_AGENT_SUBMIT_CONNECTION_H_
#define SASSAY_AGENT_SUBMIT_CONNECTION_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/rpc/secure_channel.h"
#include "sassay/v1/profiler.grpc.pb.h"

namespace sassay::agent {

// A SecureChannel (see there for security and failures) with the agent's stub. Thread-safe.
class Connection {
 public:
  static absl::StatusOr<std::unique_ptr<Connection>> Open(const ConnectionOptions& options);

  v1::Profiler::StubInterface& stub() { return *stub_; }
  const std::string& service() const { return channel_.service(); }
  // A context with the token and, unless infinite, a deadline. One per call.
  std::unique_ptr<grpc::ClientContext> NewContext(absl::Duration timeout) const { return channel_.NewContext(timeout); }

 private:
  explicit Connection(SecureChannel channel);

  const SecureChannel channel_;
  const std::unique_ptr<v1::Profiler::StubInterface> stub_;
};

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_SUBMIT_CONNECTION_H_
