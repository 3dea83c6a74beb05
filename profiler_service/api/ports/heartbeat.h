// Says, twice a second, that the service lives, and how each GPU's workers are.
#ifndef SASSAY_PROFILER_SERVICE_API_PORTS_HEARTBEAT_H_
#define SASSAY_PROFILER_SERVICE_API_PORTS_HEARTBEAT_H_

#include <functional>
#include <string>
#include <thread>

#include "absl/status/statusor.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "profiler_service/pipeline/lanes/gpus.h"
#include "profiler_service/telemetry/hub.h"

namespace sassay::api {

// Publishes from construction to destruction, while somebody watches, from a thread of its own. The arguments outlive
// it.
class Heartbeat {
 public:
  // Control promises two a second.
  static constexpr absl::Duration kPeriod = absl::Milliseconds(450);

  // `queued` says how many submissions wait, without waiting itself.
  Heartbeat(telemetry::Hub& hub, const pipeline::Gpus& gpus, std::function<absl::StatusOr<uint64_t>()> queued);
  ~Heartbeat();

 private:
  void Beat();

  telemetry::Hub& hub_;
  const pipeline::Gpus& gpus_;
  const std::function<absl::StatusOr<uint64_t>()> queued_;
  const std::string instance_;  // of this start of the service
  absl::Notification stop_;
  std::thread thread_;
};

}  // namespace sassay::api

#endif  // SASSAY_PROFILER_SERVICE_API_PORTS_HEARTBEAT_H_
