#include "profiler_service/api/ports/heartbeat.h"

#include <unistd.h>

#include <utility>

#include "common/base/random.h"

namespace sassay::api {

Heartbeat::Heartbeat(telemetry::Hub& hub, const pipeline::Gpus& gpus, std::function<absl::StatusOr<uint64_t>()> queued)
    : hub_(hub), gpus_(gpus), queued_(std::move(queued)), instance_(RandomHex(8)), thread_([this] {
        do {
          if (hub_.watchers() > 0) Beat();
        } while (!stop_.WaitForNotificationWithTimeout(kPeriod));
      }) {}

Heartbeat::~Heartbeat() {
  stop_.Notify();
  thread_.join();
}

void Heartbeat::Beat() {
  sassay::v1::Telemetry message;
  sassay::v1::Heartbeat& heartbeat = *message.mutable_heartbeat();
  heartbeat.set_pid(static_cast<uint32_t>(getpid()));
  heartbeat.set_instance(instance_);
  const absl::StatusOr<uint64_t> queued = queued_();
  if (queued.ok()) heartbeat.set_queued(*queued);
  for (sassay::v1::GpuPulse& pulse : gpus_.Pulses()) *heartbeat.add_gpus() = std::move(pulse);
  hub_.Publish(std::move(message));
}

}  // namespace sassay::api
