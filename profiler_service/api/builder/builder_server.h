// The builder role as one object: port, places, metrics around the compiler program. Neither store nor queue.
#ifndef SASSAY_PROFILER_SERVICE_API_BUILDER_BUILDER_SERVER_H_
#define SASSAY_PROFILER_SERVICE_API_BUILDER_BUILDER_SERVER_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "profiler_service/api/builder/builder_port.h"
#include "profiler_service/api/service/options.h"

namespace sassay::api {

// Life cycle: Start answers when the port is open; Shutdown (or destruction) drains. Thread-compatible.
class BuilderServer {
 public:
  // `toolkit_version` is what clients are told. Sources must have arrived within `upload_deadline`. UNAVAILABLE if a
  // port cannot be had.
  static absl::StatusOr<std::unique_ptr<BuilderServer>> Start(const ServiceOptions& options, BuildJobRunner run,
                                                              const std::string& toolkit_version,
                                                              absl::Duration upload_deadline = absl::Minutes(2));
  ~BuilderServer();

  // "HOST:PORT" with the port that was taken.
  const std::string& address() const;
  int port() const;
  // Empty if there is no metrics endpoint.
  const std::string& metrics_address() const;
  std::string MetricsText() const;

  // Takes nothing new, ends what waits, lets running builds end for options.drain, ends the others. Idempotent.
  void Shutdown();

 private:
  struct Parts;
  explicit BuilderServer(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace sassay::api

#endif  // SASSAY_PROFILER_SERVICE_API_BUILDER_BUILDER_SERVER_H_
