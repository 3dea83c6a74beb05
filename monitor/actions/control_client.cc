#include "monitor/actions/control_client.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/rpc/grpc_status.h"

namespace sassay::monitor {
namespace {

const char* Advice(grpc::StatusCode code) {
  switch (code) {
    case grpc::UNAUTHENTICATED:
      return " The service wants a token: pass --token-file FILE or set SASSAY_TOKEN.";
    case grpc::PERMISSION_DENIED:
      return " Control is for admins: make a token with `profiler-service token add NAME --role admin`.";
    case grpc::UNAVAILABLE:
      return " Is profiler-service running, and is --service right? Where it speaks TLS, --ca-file names its "
             "authority.";
    case grpc::DEADLINE_EXCEEDED:
      return " The service did not answer in time.";
    case grpc::UNIMPLEMENTED:
      return " The service is older than this program, or is no Sassay service.";
    default:
      return "";
  }
}

}  // namespace

absl::Status FromGrpc(const grpc::Status& status, absl::string_view doing, absl::string_view service) {
  if (status.ok()) return absl::OkStatus();
  const std::string said = PlainCause(status);
  const char* end = absl::EndsWith(said, ".") ? "" : ".";
  return absl::Status(static_cast<absl::StatusCode>(status.error_code()),
                      absl::StrCat("could not ", doing, " at ", service, ": ", said, end, Advice(status.error_code())));
}

ControlClient::ControlClient(SecureChannel channel)
    : channel_(std::move(channel)), stub_(v1::Control::NewStub(channel_.channel())) {}

}  // namespace sassay::monitor
