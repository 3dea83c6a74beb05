#include "agent/submit/connection.h"

#include <utility>

#include "common/base/status_macros.h"

namespace sassay::agent {

absl::StatusOr<std::unique_ptr<Connection>> Connection::Open(const ConnectionOptions& options) {
  ASSIGN_OR_RETURN(SecureChannel channel, SecureChannel::Open(options));
  return std::unique_ptr<Connection>(new Connection(std::move(channel)));
}

Connection::Connection(SecureChannel channel)
    : channel_(std::move(channel)), stub_(v1::Profiler::NewStub(channel_.channel())) {}

}  // namespace sassay::agent
