// The port for tenants: sassay.v1.Profiler, in the shape of its proto. Translates, checks who is calling, and hands
// over; rules live in queue/ and store/.
#ifndef SASSAY_PROFILER_SERVICE_API_PORTS_PROFILER_PORT_H_
#define SASSAY_PROFILER_SERVICE_API_PORTS_PROFILER_PORT_H_

#include "profiler_service/api/ports/port_context.h"
#include "sassay/v1/profiler.grpc.pb.h"

namespace sassay::api {

// Thread-safe. `port` outlives it.
class ProfilerPort : public sassay::v1::Profiler::CallbackService {
 public:
  explicit ProfilerPort(PortContext& port) : port_(port) {}

  grpc::ServerUnaryReactor* GetCapabilities(grpc::CallbackServerContext* context,
                                            const sassay::v1::GetCapabilitiesRequest* request,
                                            sassay::v1::GetCapabilitiesResponse* response) override;
  grpc::ServerUnaryReactor* FindMissingBlobs(grpc::CallbackServerContext* context,
                                             const sassay::v1::FindMissingBlobsRequest* request,
                                             sassay::v1::FindMissingBlobsResponse* response) override;
  grpc::ServerReadReactor<sassay::v1::WriteBlobRequest>* WriteBlob(grpc::CallbackServerContext* context,
                                                                   sassay::v1::WriteBlobResponse* response) override;
  grpc::ServerUnaryReactor* QueryWriteStatus(grpc::CallbackServerContext* context,
                                             const sassay::v1::QueryWriteStatusRequest* request,
                                             sassay::v1::QueryWriteStatusResponse* response) override;
  grpc::ServerWriteReactor<sassay::v1::ReadBlobResponse>* ReadBlob(grpc::CallbackServerContext* context,
                                                                   const sassay::v1::ReadBlobRequest* request) override;
  grpc::ServerWriteReactor<sassay::v1::Event>* Profile(grpc::CallbackServerContext* context,
                                                       const sassay::v1::ProfileRequest* request) override;
  grpc::ServerWriteReactor<sassay::v1::Event>* Attach(grpc::CallbackServerContext* context,
                                                      const sassay::v1::AttachRequest* request) override;
  grpc::ServerUnaryReactor* Cancel(grpc::CallbackServerContext* context, const sassay::v1::CancelRequest* request,
                                   sassay::v1::CancelResponse* response) override;
  grpc::ServerWriteReactor<sassay::v1::Event>* WatchExclusions(
      grpc::CallbackServerContext* context, const sassay::v1::WatchExclusionsRequest* request) override;
  grpc::ServerUnaryReactor* ListWorkloads(grpc::CallbackServerContext* context,
                                          const sassay::v1::ListWorkloadsRequest* request,
                                          sassay::v1::ListWorkloadsResponse* response) override;
  grpc::ServerUnaryReactor* GetWorkload(grpc::CallbackServerContext* context,
                                        const sassay::v1::GetWorkloadRequest* request,
                                        sassay::v1::GetWorkloadResponse* response) override;

 private:
  PortContext& port_;
};

}  // namespace sassay::api

#endif  // SASSAY_PROFILER_SERVICE_API_PORTS_PROFILER_PORT_H_
