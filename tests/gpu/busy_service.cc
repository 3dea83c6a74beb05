// For measurements alone: a service whose GPUs, one for each UUID of the command line, are all at work all the time. It
// says so as profiler-service does and does nothing. Prints "listen=HOST:PORT"; ends with SIGTERM.
//
//   busy_service PID UUID…      PID: the service that really judges, so that its processes are nobody else's
#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include "absl/time/clock.h"
#include "common/base/proto_time.h"
#include "monitor/testing/fake_control.h"

namespace sassay::monitor {
namespace {

constexpr absl::Duration kBetweenHeartbeats = absl::Milliseconds(450);  // profiler_service/api/ports/heartbeat.h

v1::Telemetry Heartbeat(uint64_t sequence, uint32_t pid, const std::vector<std::string>& gpus) {
  v1::Telemetry message;
  SetTimestamp(absl::Now(), *message.mutable_at());
  message.set_sequence(sequence);
  message.mutable_heartbeat()->set_pid(pid);
  message.mutable_heartbeat()->set_instance("busy");
  for (const std::string& gpu : gpus) {
    v1::GpuPulse& pulse = *message.mutable_heartbeat()->add_gpus();
    pulse.set_uuid(gpu);
    pulse.set_running(8);
    pulse.set_judge_pid(pid);
  }
  return message;
}

int Serve(uint32_t pid, const std::vector<std::string>& gpus) {
  FakeControl control;
  control.canary_status = grpc::Status(grpc::FAILED_PRECONDITION, "no GPU of its own");
  for (const std::string& gpu : gpus) {
    v1::Gpu& listed = *control.gpus.add_gpus();
    listed.set_uuid(gpu);
    listed.set_model("copy");
  }
  std::cout << "listen=" << control.address() << std::endl;
  for (uint64_t sequence = 1;; ++sequence) {
    control.Tell(Heartbeat(sequence, pid, gpus));
    absl::SleepFor(kBetweenHeartbeats);
  }
}

}  // namespace
}  // namespace sassay::monitor

int main(int argc, char** argv) {
  if (argc < 3) {
    std::cerr << "usage: busy_service PID UUID…\n";
    return 2;
  }
  return sassay::monitor::Serve(static_cast<uint32_t>(std::strtoul(argv[1], nullptr, 10)),
                                std::vector<std::string>(argv + 2, argv + argc));
}
