// The streaming rpcs of the Profiler port. Each function takes over the call and returns its reactor.
#ifndef SASSAY_PROFILER_SERVICE_API_PORTS_STREAMS_H_
#define SASSAY_PROFILER_SERVICE_API_PORTS_STREAMS_H_

#include <grpcpp/grpcpp.h>

#include "profiler_service/api/ports/port_context.h"
#include "sassay/v1/events.pb.h"
#include "sassay/v1/profiler.pb.h"

namespace sassay::api {

// Submits, then follows. No thread waits for an event: the queue's feed wakes the stream.
grpc::ServerWriteReactor<sassay::v1::Event>* ServeProfile(PortContext& port, grpc::CallbackServerContext& context,
                                                          const sassay::v1::ProfileRequest& request);
grpc::ServerWriteReactor<sassay::v1::Event>* ServeAttach(PortContext& port, grpc::CallbackServerContext& context,
                                                         const sassay::v1::AttachRequest& request);
// Exclusions of the caller's own turns.
grpc::ServerWriteReactor<sassay::v1::Event>* ServeWatchExclusions(PortContext& port,
                                                                  grpc::CallbackServerContext& context,
                                                                  const sassay::v1::WatchExclusionsRequest& request);
// Disk work happens on the pool, one chunk at a time: a fast client is slowed down, not buffered.
grpc::ServerReadReactor<sassay::v1::WriteBlobRequest>* ServeWriteBlob(PortContext& port,
                                                                      grpc::CallbackServerContext& context,
                                                                      sassay::v1::WriteBlobResponse& response);
grpc::ServerWriteReactor<sassay::v1::ReadBlobResponse>* ServeReadBlob(PortContext& port,
                                                                      grpc::CallbackServerContext& context,
                                                                      const sassay::v1::ReadBlobRequest& request);

}  // namespace sassay::api

#endif  // SASSAY_PROFILER_SERVICE_API_PORTS_STREAMS_H_
