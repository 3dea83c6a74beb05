#include "profiler_service/cluster/join_trial.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/proto_time.h"
#include "common/base/steady_time.h"
#include "common/rpc/grpc_status.h"
#include "sassay/v1/cluster.grpc.pb.h"

namespace sassay::cluster {
namespace {

bool IsTlsTrouble(absl::string_view said) {
  return absl::StrContains(said, "SSL") || absl::StrContains(said, "handshake") ||
         absl::StrContains(said, "Peer name") || absl::StrContains(said, "certificate");
}

// What a plaintext client hears from a service that expects a TLS handshake, and the other way round.
bool IsTlsAnswer(absl::string_view said) {
  return absl::StrContains(said, "Socket closed") || absl::StrContains(said, "HTTP/2") ||
         absl::StrContains(said, "http2") || absl::StrContains(said, "SETTINGS");
}

absl::Status InWords(const grpc::Status& status) {
  if (status.ok()) return absl::OkStatus();
  const std::string said = PlainCause(status);
  const auto because = [&](absl::string_view what) {
    return absl::Status(static_cast<absl::StatusCode>(status.error_code()), absl::StrCat(what, " (", said, ")"));
  };
  switch (status.error_code()) {
    case grpc::UNAVAILABLE:
    case grpc::DEADLINE_EXCEEDED:
      if (IsTlsTrouble(said)) {
        return because(
            "TLS: --join-ca-file must hold the authority that signed the front end's certificate, which must name this "
            "address; where it demands client certificates, --join-cert-file and --join-key-file must be signed by its "
            "--tls-client-ca");
      }
      if (IsTlsAnswer(said)) {
        return because("TLS: one side speaks it and the other does not; --join-ca-file switches it on here");
      }
      return because("address: nobody answers there; is the front end running, and is --join right?");
    case grpc::UNAUTHENTICATED:
      return because("token: --join-token-file is not one of the front end's");
    case grpc::PERMISSION_DENIED:
      return because("token or name");
    case grpc::FAILED_PRECONDITION:
      return because("clock");
    case grpc::UNIMPLEMENTED:
      return because(
          "the service there admits no nodes (--role frontend, or --nodes beside its own GPUs), or is older than this "
          "node");
    default:
      return because(absl::StrCat("unexpected answer ",
                                  absl::StatusCodeToString(static_cast<absl::StatusCode>(status.error_code()))));
  }
}

}  // namespace

std::vector<JoinTrial> TryJoin(const FrontEndOptions& options) {
  std::vector<JoinTrial> trials;
  for (const std::string& address : options.addresses) {
    JoinTrial& trial = trials.emplace_back();
    trial.address = address;
    FrontEndOptions one = options;
    one.addresses = {address};
    const auto front_end = FrontEnds::Open(std::move(one));
    if (!front_end.ok()) {
      trial.status = front_end.status();
      continue;
    }
    sassay::v1::GreetRequest request;
    *request.mutable_node() = options.node;
    sassay::v1::GreetResponse response;
    grpc::Status answered;
    const auto greet = [&](FrontEnds::Stub& stub, grpc::ClientContext& context, bool) {
      SetTimestamp(options.now(), *request.mutable_now());
      return answered = stub.Greet(&context, request, &response);
    };
    // What it says of this one try stands in `answered`, without a story around it.
    (*front_end)->Repeat(SteadyNow(), greet).IgnoreError();
    trial.status = InWords(answered);
    trial.version = response.sassay_version();
    trial.name_taken = response.name_taken();
  }
  return trials;
}

}  // namespace sassay::cluster
