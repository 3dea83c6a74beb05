#include "profiler_service/api/ports/port_context.h"

#include <grpcpp/grpcpp.h>

#include "common/base/status_macros.h"

namespace sassay::api {

absl::StatusOr<Caller> CallerOf(const PortContext& port, const grpc::CallbackServerContext& context) {
  const auto& metadata = context.client_metadata();
  const auto header = metadata.find("authorization");
  const absl::string_view said =
      header == metadata.end() ? "" : absl::string_view(header->second.data(), header->second.size());
  absl::StatusOr<Caller> caller = port.tokens.Authenticate(said);
  if (!caller.ok()) return caller;  // strangers are told nothing about versions
  ASSIGN_OR_RETURN(const Peer client, PeerOf(metadata));
  RETURN_IF_ERROR(CheckClient(client, port.oldest_client));
  return caller;
}

grpc::Status ToGrpc(const PortContext& port, const absl::Status& status) {
  if (!status.ok()) port.refused(status.code());
  return grpc::Status(static_cast<grpc::StatusCode>(status.code()), std::string(status.message()));
}

}  // namespace sassay::api
