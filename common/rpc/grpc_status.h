// What gRPC's errors mean to who called.
#ifndef SASSAY_COMMON_RPC_GRPC_STATUS_H_
#define SASSAY_COMMON_RPC_GRPC_STATUS_H_

#include <grpcpp/support/status.h>

#include <string>

namespace sassay {

// What the service or the connection said, without gRPC's story of how it tried to connect.
std::string PlainCause(const grpc::Status& status);

// Whether a broken call may succeed when it is made again.
bool WorthRetrying(const grpc::Status& status);

}  // namespace sassay

#endif  // SASSAY_COMMON_RPC_GRPC_STATUS_H_
