#include "profiler_service/api/builder/builder_port.h"

#include <grpcpp/grpcpp.h>

#include <memory>

#include "common/base/status_macros.h"
#include "common/rpc/protocol.h"
#include "profiler_service/api/builder/build_stream.h"

namespace sassay::api {

absl::StatusOr<Caller> BuilderPort::Admit(const grpc::CallbackServerContext& context) const {
  const auto& metadata = context.client_metadata();
  const auto header = metadata.find("authorization");
  const absl::string_view token =
      header == metadata.end() ? "" : absl::string_view(header->second.data(), header->second.size());
  ASSIGN_OR_RETURN(Caller caller, parts_.tokens.Authenticate(token));
  ASSIGN_OR_RETURN(const Peer client, PeerOf(metadata));
  RETURN_IF_ERROR(CheckClient(client, parts_.oldest_client));
  if (caller.role != Role::kNode) return caller;
  return absl::PermissionDeniedError("this token is a node's; a client's builds candidates");
}

grpc::ServerUnaryReactor* BuilderPort::GetBuilder(grpc::CallbackServerContext* context,
                                                  const sassay::v1::GetBuilderRequest* request,
                                                  sassay::v1::GetBuilderResponse* response) {
  grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
  const absl::StatusOr<Caller> caller = Admit(*context);
  if (caller.ok()) {
    *response = parts_.facts;
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }
  parts_.metrics.CountRefused(caller.status().code());
  reactor->Finish(
      grpc::Status(static_cast<grpc::StatusCode>(caller.status().code()), std::string(caller.status().message())));
  return reactor;
}

grpc::ServerBidiReactor<sassay::v1::BuildRequest, sassay::v1::BuildResponse>* BuilderPort::Build(
    grpc::CallbackServerContext* context) {
  const auto stream = std::make_shared<BuildStream>(parts_, *context);
  BuildStream* const reactor = stream.get();
  stream->Open(Admit(*context));
  return reactor;
}

}  // namespace sassay::api
