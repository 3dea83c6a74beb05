#include "common/rpc/protocol.h"

#include <grpcpp/client_context.h>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace sassay {
namespace {

constexpr char kProtocolKey[] = "sassay-protocol";
constexpr char kVersionKey[] = "sassay-version";
constexpr size_t kMaxVersionBytes = 32;

}  // namespace

std::string Describe(const Peer& peer) {
  return absl::StrCat("Sassay ", peer.version.empty() ? "of a version that it does not tell" : peer.version,
                      ", protocol ", peer.protocol);
}

Peer ThisProcess() { return {kProtocol, SASSAY_VERSION}; }

void Introduce(grpc::ClientContext& context) {
  context.AddMetadata(kProtocolKey, absl::StrCat(kProtocol));
  context.AddMetadata(kVersionKey, SASSAY_VERSION);
}

absl::StatusOr<Peer> PeerOf(const std::multimap<grpc::string_ref, grpc::string_ref>& untrusted_metadata) {
  Peer peer;
  const auto version = untrusted_metadata.find(kVersionKey);
  if (version != untrusted_metadata.end()) {
    const absl::string_view said(version->second.data(), version->second.size());
    peer.version = absl::CEscape(said.substr(0, kMaxVersionBytes));
  }
  const auto protocol = untrusted_metadata.find(kProtocolKey);
  if (protocol == untrusted_metadata.end()) return peer;
  const absl::string_view said(protocol->second.data(), protocol->second.size());
  if (absl::SimpleAtoi(said, &peer.protocol) && peer.protocol > 0) return peer;
  return absl::InvalidArgumentError(absl::StrCat(kProtocolKey, ": expected a number of a protocol, got '",
                                                 absl::CEscape(said.substr(0, kMaxVersionBytes)), "'"));
}

absl::Status CheckClient(const Peer& client, uint32_t oldest) {
  if (client.protocol >= oldest) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "this client (", Describe(client), ") is too old: the service (", Describe(ThisProcess()), ") serves protocol ",
      oldest, " and newer. Install Sassay ", SASSAY_VERSION, " where the client runs."));
}

absl::Status CheckService(const Peer& service, uint32_t needed, absl::string_view what) {
  if (service.protocol >= needed) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat("the service (", Describe(service), ") is older than this client (",
                                                    Describe(ThisProcess()), "): ", what, " needs protocol ", needed,
                                                    ". Update the service, or do without."));
}

}  // namespace sassay
