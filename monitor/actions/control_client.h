// The monitor's and the operators' calls to the service's Control port, each with a deadline.
#ifndef SASSAY_MONITOR_ACTIONS_CONTROL_CLIENT_H_
#define SASSAY_MONITOR_ACTIONS_CONTROL_CLIENT_H_

#include <grpcpp/support/status.h>

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/rpc/secure_channel.h"
#include "sassay/v1/control.grpc.pb.h"

namespace sassay::monitor {

// gRPC's error as a Status of the same code, in a person's words: what was being done where, what came, what to do.
absl::Status FromGrpc(const grpc::Status& status, absl::string_view doing, absl::string_view service);

// Thread-safe.
class ControlClient {
 public:
  explicit ControlClient(SecureChannel channel);

  // One unary call: Call(&Stub::ListGpus, "list the GPUs", timeout, request, response).
  template <typename Request, typename Response>
  absl::Status Call(grpc::Status (v1::Control::StubInterface::*method)(grpc::ClientContext*, const Request&, Response*),
                    absl::string_view doing, absl::Duration timeout, const Request& request, Response& response) const {
    const std::unique_ptr<grpc::ClientContext> context = channel_.NewContext(timeout);
    return FromGrpc(((*stub_).*method)(context.get(), request, &response), doing, channel_.service());
  }

  using Stub = v1::Control::StubInterface;
  Stub& stub() const { return *stub_; }
  const SecureChannel& channel() const { return channel_; }

 private:
  const SecureChannel channel_;
  const std::unique_ptr<Stub> stub_;
};

}  // namespace sassay::monitor

#endif  // SASSAY_MONITOR_ACTIONS_CONTROL_CLIENT_H_
