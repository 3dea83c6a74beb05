// The service as one object, in whichever role: backing, queue, dispatcher and ports around a runner.
#ifndef SASSAY_PROFILER_SERVICE_API_SERVICE_SERVER_H_
#define SASSAY_PROFILER_SERVICE_API_SERVICE_SERVER_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "common/workload/catalog.h"
#include "profiler_service/api/service/backing.h"
#include "profiler_service/api/service/metrics.h"
#include "profiler_service/api/service/options.h"
#include "profiler_service/api/service/state_folder.h"
#include "profiler_service/pipeline/job.h"
#include "profiler_service/pipeline/lanes/gpus.h"
#include "profiler_service/queue/queue.h"
#include "profiler_service/telemetry/hub.h"
#include "sassay/v1/profiler.pb.h"

namespace sassay::api {

// What the service tells about the machine it runs on.
struct ServiceFacts {
  sassay::v1::GetCapabilitiesResponse capabilities;
  // NodeFacts.settings_sha256 of this process; empty at a front end.
  std::string settings_sha256;
  // Of the runner, null without one; they outlive the server.
  pipeline::Gpus* gpus = nullptr;
  telemetry::Hub* telemetry = nullptr;
  // How the process that had this state before came to its end; nothing where there was none.
  absl::optional<queue::PreviousProcess> previous;
  // Of its workers, for Prometheus; they must be readable until Shutdown.
  std::vector<MetricSource> metrics;
};

// Life cycle: Start answers when the port is open; Shutdown (or destruction) drains. `runner`, which is null at a front
// end, and `catalog` outlive it. Thread-compatible.
class Server {
 public:
  // `state` is options.state, held until the server ends. A backing without blobs has no clients: then Control is all
  // that is served. INVALID_ARGUMENT for options that cannot be; UNAVAILABLE if a port or the disk cannot be had.
  static absl::StatusOr<std::unique_ptr<Server>> Start(const ServiceOptions& options, StateFolder state,
                                                       std::unique_ptr<Backing> backing, JobRunner* runner,
                                                       const WorkloadCatalog& catalog, ServiceFacts facts);
  ~Server();

  // "HOST:PORT" with the port that was taken.
  const std::string& address() const;
  int port() const;
  // Empty if there is no metrics endpoint.
  const std::string& metrics_address() const;
  std::string MetricsText() const;

  // Takes nothing new, lets running work end for options.drain, puts the rest back into the queue, ends the streams.
  // What was accepted is kept. Idempotent.
  void Shutdown();

 private:
  struct Parts;
  explicit Server(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace sassay::api

#endif  // SASSAY_PROFILER_SERVICE_API_SERVICE_SERVER_H_
