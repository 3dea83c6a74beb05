// What the ports are made of, and what every handler does first.
#ifndef SASSAY_PROFILER_SERVICE_API_PORTS_PORT_CONTEXT_H_
#define SASSAY_PROFILER_SERVICE_API_PORTS_PORT_CONTEXT_H_

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/rpc/protocol.h"
#include "common/workload/catalog.h"
#include "profiler_service/api/auth/rate_limiter.h"
#include "profiler_service/api/auth/tokens.h"
#include "profiler_service/api/ports/io_pool.h"
#include "profiler_service/api/ports/open_streams.h"
#include "profiler_service/cluster/node_registry.h"
#include "profiler_service/queue/queue.h"
#include "profiler_service/store/blob_store.h"
#include "profiler_service/store/store.h"
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
  store::BlobStore* blobs;  // null at a node: it has no clients
  const WorkloadCatalog& catalog;
  const TokenRegistry& tokens;
  RateLimiter& submissions;  // calls of Profile that are not repetitions, per tenant
  RateLimiter& refusals;     // audited refusals per tenant, so that nobody floods the log
  IoPool& pool;
  IoPool& control_pool;  // for admins alone: no tenant's upload is ahead of PauseDispatch
  OpenStreams& streams;
  std::function<void(absl::StatusCode)> refused;     // counts answers that are no OK
  sassay::v1::GetCapabilitiesResponse capabilities;  // of this process alone
  std::string settings_sha256;                       // NodeFacts.settings_sha256 of this process
  cluster::NodeRegistry* nodes = nullptr;            // null where no nodes are admitted
  uint32_t oldest_client = kOldestClient;            // protocol; older clients are refused
};

// Who is calling; UNAUTHENTICATED, or FAILED_PRECONDITION for a client that is too old.
absl::StatusOr<Caller> CallerOf(const PortContext& port, const grpc::CallbackServerContext& context);

// The same status in gRPC's type, counted.
grpc::Status ToGrpc(const PortContext& port, const absl::Status& status);

}  // namespace sassay::api

#endif  // SASSAY_PROFILER_SERVICE_API_PORTS_PORT_CONTEXT_H_
