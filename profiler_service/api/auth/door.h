// How others come in: tokens, TLS and the port, the same for every role.
#ifndef SASSAY_PROFILER_SERVICE_API_AUTH_DOOR_H_
#define SASSAY_PROFILER_SERVICE_API_AUTH_DOOR_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "profiler_service/api/auth/tokens.h"
#include "profiler_service/api/service/options.h"

namespace grpc {
class Server;
class ServerBuilder;
}  // namespace grpc

namespace sassay::api {

// Those of --token-file; without one everybody is one tenant: on loopback an admin too. NOT_FOUND says how to make the
// file.
absl::StatusOr<std::unique_ptr<TokenRegistry>> OpenTokens(const ServiceOptions& options);

// A server with an open port, which says by grpc.health that it does not serve yet.
struct OpenedDoor {
  std::unique_ptr<grpc::Server> server;
  int port = 0;
  std::string address;  // "HOST:PORT" with the port that was taken
};

// Opens --listen with TLS as the options say; `add_services` registers what is served there. UNAVAILABLE if the port
// cannot be had.
absl::StatusOr<OpenedDoor> OpenDoor(const ServiceOptions& options,
                                    const std::function<void(grpc::ServerBuilder&)>& add_services);

// Where metrics are served, given what serving them at --metrics came to: empty if they are not, which is an error only
// for who asked for them by that flag.
absl::StatusOr<std::string> MetricsAddress(const ServiceOptions& options, absl::StatusOr<std::string> serving);

}  // namespace sassay::api

#endif  // SASSAY_PROFILER_SERVICE_API_AUTH_DOOR_H_
