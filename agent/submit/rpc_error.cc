#include "agent/submit/rpc_error.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/rpc/grpc_status.h"

namespace sassay::agent {
namespace {

const char* Advice(grpc::StatusCode code) {
  switch (code) {
    case grpc::UNAUTHENTICATED:
      return " The service wants a token: pass --token-file FILE or set SASSAY_TOKEN; if you did, ask the operator for "
             "a new one.";
    case grpc::PERMISSION_DENIED:
      return " This token may not do that; ask the operator of the service.";
    case grpc::UNAVAILABLE:
      return " Is it running, and is --service right? `mini-ptx-agent doctor` checks the way there.";
    case grpc::DEADLINE_EXCEEDED:
      return " The service did not answer in time; try again.";
    case grpc::RESOURCE_EXHAUSTED:
      return " Wait for submissions of yours to end, or ask the operator to raise the limit.";
    case grpc::UNIMPLEMENTED:
      return " The service is older than this agent, or is no Sassay service.";
    default:
      return "";
  }
}

bool IsTlsTrouble(const std::string& message) {
  return absl::StrContains(message, "SSL") || absl::StrContains(message, "handshake") ||
         absl::StrContains(message, "Peer name");
}

// What a plaintext client hears from a service that expects a TLS handshake.
bool IsTlsAnswer(const std::string& message) {
  return absl::StrContains(message, "Socket closed") || absl::StrContains(message, "HTTP/2") ||
         absl::StrContains(message, "http2") || absl::StrContains(message, "SETTINGS");
}

}  // namespace

absl::Status FromGrpc(const grpc::Status& status, absl::string_view doing, absl::string_view service) {
  if (status.ok()) return absl::OkStatus();
  const bool tls = status.error_code() == grpc::UNAVAILABLE && IsTlsTrouble(status.error_message());
  const bool plain = status.error_code() == grpc::UNAVAILABLE && IsTlsAnswer(status.error_message());
  const char* advice =
      plain ? " If the service speaks TLS, name its authority with --ca-file, and leave --insecure out; "
              "`mini-ptx-agent doctor` checks the way there."
      : tls ? " The TLS handshake failed: --ca-file must hold the authority that signed the service's certificate."
            : Advice(status.error_code());
  const std::string said = PlainCause(status);
  const char* end = absl::EndsWith(said, ".") ? "" : ".";
  return absl::Status(static_cast<absl::StatusCode>(status.error_code()),
                      absl::StrCat("could not ", doing, " at ", service, ": ", said, end, advice));
}

int ExitStatusOf(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kOk:
      return kExitCorrect;
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kNotFound:
    case absl::StatusCode::kAlreadyExists:
    case absl::StatusCode::kPermissionDenied:
    case absl::StatusCode::kUnauthenticated:
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kOutOfRange:
      return kExitUsage;
    default:
      return kExitInfrastructure;
  }
}

v1::CommandFailure FailureOf(const absl::Status& status, absl::string_view submission_id) {
  v1::CommandFailure failure;
  failure.set_exit_status(ExitStatusOf(status));
  failure.set_error(absl::StatusCodeToString(status.code()));
  failure.set_message(std::string(status.message()));
  failure.set_submission_id(std::string(submission_id));
  return failure;
}

}  // namespace sassay::agent
