// What the ports are made of, and what every handler does first.
#ifndef SASSAY_PROFILER_SERVICE_API_PORTS_PORT_CONTEXT_H_
#define SASSAY_PROFILER_SERVICE_API_PORTS_PORT_CONTEXT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/workload/catalog.h"
#include "profiler_service/api/auth/rate_limiter.h"
#include "profiler_service/api/auth/tokens.h"
#include "profiler_service/api/ports/io_pool.h"
#include "profiler_service/api/ports/open_streams.h"
#include "profiler_service/queue/queue.h"
#include "profiler_service/store/blob_store.h"
#include "profiler_service/store/store.h"
#include "sassay/v1/control.pb.h"
#include "sassay/v1/profiler.pb.h"

namespace grpc {
class CallbackServerContext;
class Status;
}  // namespace grpc

namespace sassay::api {

// Largest chunk of WriteBlob, and the chunk of ReadBlob.
inline constexpr uint32_t kMaxChunkBytes = 1 << 20;

// Everything a port talks to. Not owned; outlives the server.
struct PortContext {
  queue::Queue& queue;
  store::Store& store;
  store::BlobStore& blobs;
  const WorkloadCatalog& catalog;
  const TokenRegistry& tokens;
  RateLimiter& submissions;  // accepted calls of Profile per tenant
  RateLimiter& refusals;     // audited refusals per tenant, so that nobody floods the log
  IoPool& pool;
  OpenStreams& streams;
  sassay::v1::GetCapabilitiesResponse capabilities;
  std::vector<sassay::v1::Gpu> gpus;  // state and running are filled in when asked
};

// Who is calling; UNAUTHENTICATED.
absl::StatusOr<Caller> CallerOf(const PortContext& port, const grpc::CallbackServerContext& context);

// The same status in gRPC's type.
grpc::Status ToGrpc(const absl::Status& status);

}  // namespace sassay::api

#endif  // SASSAY_PROFILER_SERVICE_API_PORTS_PORT_CONTEXT_H_
