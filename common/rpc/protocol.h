// What client and service tell each other about themselves, and who is too old for whom (docs/decisions/0024).
//
// Every call carries its caller's protocol and version as metadata ("sassay-protocol: 2", "sassay-version: 0.1.0"); the
// service tells its own in GetCapabilitiesResponse. New fields alone need no new protocol: who does not know one passes
// it over. It is for what must not be passed over.
#ifndef SASSAY_COMMON_RPC_PROTOCOL_H_
#define SASSAY_COMMON_RPC_PROTOCOL_H_

#include <grpcpp/support/string_ref.h>

#include <cstdint>
#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace grpc {
class ClientContext;
}

namespace sassay {

// What this build speaks.
//   1  Nobody tells what they speak.
//   2  They do. ProfileRequest.max_age and .fresh are understood.
inline constexpr uint32_t kProtocol = 2;
// One version back is served, and is asked.
inline constexpr uint32_t kOldestClient = 1;
inline constexpr uint32_t kOldestService = 1;

// One side of a call as it describes itself. Plain data.
struct Peer {
  uint32_t protocol = 1;
  std::string version;  // "0.1.0"; empty where it does not tell
};

// "Sassay 0.1.0, protocol 2".
std::string Describe(const Peer& peer);

// This process.
Peer ThisProcess();

// Adds what this process is to a call that has not begun.
void Introduce(grpc::ClientContext& context);

// Who calls. INVALID_ARGUMENT for a protocol that is no number.
absl::StatusOr<Peer> PeerOf(const std::multimap<grpc::string_ref, grpc::string_ref>& untrusted_metadata);

// The service's side: FAILED_PRECONDITION for a client below `oldest`, with both versions and what to do.
absl::Status CheckClient(const Peer& client, uint32_t oldest);

// The client's side: FAILED_PRECONDITION where the service does not speak `needed`, which is for `what`
// ("--fresh", "this program").
absl::Status CheckService(const Peer& service, uint32_t needed, absl::string_view what);

}  // namespace sassay

#endif  // SASSAY_COMMON_RPC_PROTOCOL_H_
