#include "profiler_service/api/ports/port_context.h"

#include <grpc/grpc_security_constants.h>
#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/types/optional.h"
#include "common/base/status_macros.h"

namespace sassay::api {

namespace {

// Common name and alternative names of the client's certificate, if it has shown one that was verified.
absl::optional<std::vector<std::string>> CertificateNames(const grpc::CallbackServerContext& context) {
  const std::shared_ptr<const grpc::AuthContext> peer = context.auth_context();
  if (peer == nullptr || !peer->IsPeerAuthenticated()) return {};
  std::vector<std::string> names;
  for (const char* property : {GRPC_X509_CN_PROPERTY_NAME, GRPC_X509_SAN_PROPERTY_NAME}) {
    for (const grpc::string_ref& name : peer->FindPropertyValues(property))
      names.emplace_back(name.data(), name.size());
  }
  return names;
}

}  // namespace

absl::StatusOr<Caller> CallerOf(const PortContext& port, const grpc::CallbackServerContext& context) {
  const auto& metadata = context.client_metadata();
  const auto header = metadata.find("authorization");
  const absl::string_view said =
      header == metadata.end() ? "" : absl::string_view(header->second.data(), header->second.size());
  absl::StatusOr<Caller> caller = port.tokens.Authenticate(said);
  if (!caller.ok()) return caller;  // strangers are told nothing about versions
  ASSIGN_OR_RETURN(const Peer client, PeerOf(metadata));
  RETURN_IF_ERROR(CheckClient(client, port.oldest_client));
  caller->certificate_names = CertificateNames(context);
  return caller;
}

grpc::Status ToGrpc(const PortContext& port, const absl::Status& status) {
  if (!status.ok()) port.refused(status.code());
  return grpc::Status(static_cast<grpc::StatusCode>(status.code()), std::string(status.message()));
}

}  // namespace sassay::api
