#include "profiler_service/api/ports/profiler_port.h"

#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/base/sha256.h"
#include "common/base/status_macros.h"
#include "profiler_service/api/ports/cluster/cluster_devices.h"
#include "profiler_service/api/ports/streams.h"

namespace sassay::api {
namespace {

using grpc::CallbackServerContext;
using grpc::ServerUnaryReactor;

constexpr int kMaxDigestsPerCall = 1000;

// Runs `handle` for whoever is calling, and answers.
template <typename Handle>
ServerUnaryReactor* Answer(const PortContext& port, CallbackServerContext& context, Handle handle) {
  const absl::StatusOr<Caller> caller = CallerOf(port, context);
  ServerUnaryReactor* reactor = context.DefaultReactor();
  reactor->Finish(ToGrpc(port, caller.ok() ? handle(*caller) : caller.status()));
  return reactor;
}

// The same for what asks the store, which may be away for seconds.
template <typename Handle>
ServerUnaryReactor* AnswerFromStore(const PortContext& port, CallbackServerContext& context, Handle handle) {
  const absl::StatusOr<Caller> caller = CallerOf(port, context);
  if (!caller.ok()) return Answer(port, context, handle);
  ServerUnaryReactor* reactor = context.DefaultReactor();
  port.pool.Post(caller->tenant, [&port, reactor, caller = *caller, handle = std::move(handle)] {
    reactor->Finish(ToGrpc(port, handle(caller)));
  });
  return reactor;
}

absl::Status FindMissing(const PortContext& port, const Caller& caller,
                         const sassay::v1::FindMissingBlobsRequest& request,
                         sassay::v1::FindMissingBlobsResponse& response) {
  if (request.sha256_size() > kMaxDigestsPerCall) {
    return absl::InvalidArgumentError(
        absl::StrCat("sha256: expected at most ", kMaxDigestsPerCall, " digests a call, got ", request.sha256_size()));
  }
  for (const std::string& sha256 : request.sha256()) {
    if (!IsSha256Hex(sha256)) {
      return absl::InvalidArgumentError(
          absl::StrCat("sha256: expected 64 lower-case hex digits, got '", absl::CEscape(sha256.substr(0, 80)), "'"));
    }
    if (!port.blobs->Has(caller.tenant, sha256)) response.add_missing_sha256(sha256);
  }
  return absl::OkStatus();
}

}  // namespace

ServerUnaryReactor* ProfilerPort::GetCapabilities(CallbackServerContext* context,
                                                  const sassay::v1::GetCapabilitiesRequest*,
                                                  sassay::v1::GetCapabilitiesResponse* response) {
  return Answer(port_, *context, [&](const Caller&) {
    *response = port_.capabilities;
    if (port_.nodes != nullptr) AddDevices(port_.nodes->Living(), *response);
    response->set_max_blob_bytes(port_.blobs->limits().max_blob_bytes);
    response->set_max_chunk_bytes(kMaxChunkBytes);
    response->set_protocol(kProtocol);
    response->set_oldest_protocol(port_.oldest_client);
    return absl::OkStatus();
  });
}

ServerUnaryReactor* ProfilerPort::FindMissingBlobs(CallbackServerContext* context,
                                                   const sassay::v1::FindMissingBlobsRequest* request,
                                                   sassay::v1::FindMissingBlobsResponse* response) {
  return AnswerFromStore(port_, *context, [this, request, response](const Caller& caller) {
    return FindMissing(port_, caller, *request, *response);
  });
}

grpc::ServerReadReactor<sassay::v1::WriteBlobRequest>* ProfilerPort::WriteBlob(
    CallbackServerContext* context, sassay::v1::WriteBlobResponse* response) {
  return ServeWriteBlob(port_, *context, *response);
}

ServerUnaryReactor* ProfilerPort::QueryWriteStatus(CallbackServerContext* context,
                                                   const sassay::v1::QueryWriteStatusRequest* request,
                                                   sassay::v1::QueryWriteStatusResponse* response) {
  return AnswerFromStore(port_, *context, [this, request, response](const Caller& caller) -> absl::Status {
    ASSIGN_OR_RETURN(const store::WriteStatus status, port_.blobs->Status(caller.tenant, request->sha256()));
    response->set_committed_bytes(status.committed_bytes);
    response->set_complete(status.complete);
    return absl::OkStatus();
  });
}

grpc::ServerWriteReactor<sassay::v1::ReadBlobResponse>* ProfilerPort::ReadBlob(
    CallbackServerContext* context, const sassay::v1::ReadBlobRequest* request) {
  return ServeReadBlob(port_, *context, *request);
}

grpc::ServerWriteReactor<sassay::v1::Event>* ProfilerPort::Profile(CallbackServerContext* context,
                                                                   const sassay::v1::ProfileRequest* request) {
  return ServeProfile(port_, *context, *request);
}

grpc::ServerWriteReactor<sassay::v1::Event>* ProfilerPort::Attach(CallbackServerContext* context,
                                                                  const sassay::v1::AttachRequest* request) {
  return ServeAttach(port_, *context, *request);
}

ServerUnaryReactor* ProfilerPort::Cancel(CallbackServerContext* context, const sassay::v1::CancelRequest* request,
                                         sassay::v1::CancelResponse* response) {
  ServerUnaryReactor* reactor = context->DefaultReactor();
  const absl::StatusOr<Caller> caller = CallerOf(port_, *context);
  if (!caller.ok()) {
    reactor->Finish(ToGrpc(port_, caller.status()));
    return reactor;
  }
  port_.queue.Cancel(caller->tenant, request->submission_id(),
                     [this, reactor, response](absl::StatusOr<bool> cancelling) {
                       if (cancelling.ok()) response->set_cancelling(*cancelling);
                       reactor->Finish(ToGrpc(port_, cancelling.status()));
                     });
  return reactor;
}

grpc::ServerWriteReactor<sassay::v1::Event>* ProfilerPort::WatchExclusions(
    CallbackServerContext* context, const sassay::v1::WatchExclusionsRequest* request) {
  return ServeWatchExclusions(port_, *context, *request);
}

ServerUnaryReactor* ProfilerPort::ListWorkloads(CallbackServerContext* context, const sassay::v1::ListWorkloadsRequest*,
                                                sassay::v1::ListWorkloadsResponse* response) {
  return Answer(port_, *context, [&](const Caller&) {
    for (sassay::v1::Workload& workload : port_.catalog.List()) *response->add_workloads() = std::move(workload);
    return absl::OkStatus();
  });
}

ServerUnaryReactor* ProfilerPort::GetWorkload(CallbackServerContext* context,
                                              const sassay::v1::GetWorkloadRequest* request,
                                              sassay::v1::GetWorkloadResponse* response) {
  return Answer(port_, *context, [&](const Caller&) -> absl::Status {
    ASSIGN_OR_RETURN(*response->mutable_workload(), port_.catalog.Resolve(request->name()));
    return absl::OkStatus();
  });
}

}  // namespace sassay::api
