#include "profiler_service/api/ports/port_context.h"

#include <grpcpp/grpcpp.h>

namespace sassay::api {

absl::StatusOr<Caller> CallerOf(const PortContext& port, const grpc::CallbackServerContext& context) {
  const auto& metadata = context.client_metadata();
  const auto header = metadata.find("authorization");
  if (header == metadata.end()) return port.tokens.Authenticate("");
  return port.tokens.Authenticate(absl::string_view(header->second.data(), header->second.size()));
}

grpc::Status ToGrpc(const PortContext& port, const absl::Status& status) {
  if (!status.ok()) port.refused(status.code());
  return grpc::Status(static_cast<grpc::StatusCode>(status.code()), std::string(status.message()));
}

}  // namespace sassay::api
