// The Builder service of proto/sassay/v1/builder.proto.
#ifndef SASSAY_PROFILER_SERVICE_API_BUILDER_BUILDER_PORT_H_
#define SASSAY_PROFILER_SERVICE_API_BUILDER_BUILDER_PORT_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "profiler_service/api/auth/tokens.h"
#include "profiler_service/api/builder/builder_metrics.h"
#include "profiler_service/api/builder/places.h"
#include "profiler_service/api/ports/open_streams.h"
#include "profiler_service/builder/incoming_job.h"
#include "sassay/v1/builder.grpc.pb.h"

namespace sassay::api {

// Does one job; see builder::CompilerProgram::Build.
using BuildJobRunner = std::function<absl::StatusOr<sassay::v1::BuildJobOutcome>(
    const sassay::v1::BuildJob& job, absl::string_view tenant, const std::function<bool()>& stop)>;

// Everything the port talks to. Not owned; outlives the server.
struct BuilderParts {
  const TokenRegistry& tokens;
  OpenStreams& streams;
  Places& places;
  const std::atomic<bool>& draining;
  BuilderMetrics& metrics;
  BuildJobRunner run;
  builder::JobLimits limits;
  // In which the sources must have arrived.
  absl::Duration upload_deadline;
  sassay::v1::GetBuilderResponse facts;
  uint32_t oldest_client;  // protocol; older clients are refused
};

// Threads: gRPC's call it at once; builds run in their places.
class BuilderPort final : public sassay::v1::Builder::CallbackService {
 public:
  explicit BuilderPort(BuilderParts parts) : parts_(std::move(parts)) {}

  grpc::ServerUnaryReactor* GetBuilder(grpc::CallbackServerContext* context,
                                       const sassay::v1::GetBuilderRequest* request,
                                       sassay::v1::GetBuilderResponse* response) override;
  grpc::ServerBidiReactor<sassay::v1::BuildRequest, sassay::v1::BuildResponse>* Build(
      grpc::CallbackServerContext* context) override;

 private:
  // UNAUTHENTICATED; FAILED_PRECONDITION for a client that is too old; PERMISSION_DENIED for a node's token.
  absl::StatusOr<Caller> Admit(const grpc::CallbackServerContext& context) const;

  BuilderParts parts_;
};

}  // namespace sassay::api

#endif  // SASSAY_PROFILER_SERVICE_API_BUILDER_BUILDER_PORT_H_
