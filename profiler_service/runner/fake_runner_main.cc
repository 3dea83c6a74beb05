// For tests alone: profiler-runner with a device in ordinary memory, whose kernels do what their names say. It takes
// the same command line, so that what starts and asks runners is tested with real processes on machines without a GPU.
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <string>

#include "absl/strings/match.h"
#include "absl/strings/strip.h"
#include "common/base/steady_time.h"
#include "profiler_service/device/fake_device.h"
#include "profiler_service/runner/runner.h"
#include "profiler_service/wire/channel.h"

namespace sassay::runner {
namespace {

using device::Execution;
using device::FakeDevice;
using device::Launch;

Execution Ends(worker::RunOutcome outcome, v1::VerdictCode code, const std::string& message) {
  Execution execution;
  execution.outcome = outcome;
  execution.code = code;
  execution.message = message;
  return execution;
}

void AddKernels(FakeDevice& device) {
  device.kernels["good"] = [](const Launch&, FakeDevice&) { return Execution(); };
  device.kernels["fails"] = [](const Launch&, FakeDevice&) {
    return Ends(worker::RUN_OUTCOME_FAULT, v1::VERDICT_CODE_LAUNCH_FAILED, "fails: launch failed");
  };
  device.kernels["writes_outside"] = [](const Launch&, FakeDevice&) {
    Execution execution = Ends(worker::RUN_OUTCOME_FAULT, v1::VERDICT_CODE_OOB_GLOBAL_WRITE, "outside");
    execution.findings.emplace_back();
    execution.findings.back().set_code(v1::VERDICT_CODE_OOB_GLOBAL_WRITE);
    execution.findings.back().set_message("write of 2 bytes past C");
    return execution;
  };
  device.kernels["never_ends"] = [](const Launch&, FakeDevice&) -> Execution {
    for (;;) pause();
  };
  device.kernels["times_out"] = [](const Launch&, FakeDevice&) {
    return Ends(worker::RUN_OUTCOME_TIMEOUT, v1::VERDICT_CODE_KERNEL_TIMEOUT, "times_out did not end");
  };
  device.kernels["crashes"] = [](const Launch&, FakeDevice&) -> Execution {
    signal(SIGSEGV, SIG_DFL);
    raise(SIGSEGV);
    abort();
  };
}

int Run(worker::RunMode mode) {
  wire::Channel channel{UniqueFd(wire::kWorkerChannelFd)};
  wire::ExitWhenPeerIsGone(channel.fd());
  FakeDevice device;
  AddKernels(device);
  Runner runner(device, mode, [] { return ""; });
  absl::Status served = channel.Send(runner.Ready(), {}, SteadyNow() + absl::Seconds(10));
  if (served.ok()) served = Serve(channel, runner);
  return served.ok() ? 0 : 1;
}

}  // namespace
}  // namespace sassay::runner

int main(int argc, char** argv) {
  sassay::worker::RunMode mode = sassay::worker::RUN_MODE_PLAIN;
  for (int i = 1; i < argc; ++i) {
    absl::string_view argument = argv[i];
    if (argument == "--device=cuda:broken") return 9;
    while (argument == "--device=cuda:silent") pause();
    if (!absl::ConsumePrefix(&argument, "--mode=")) continue;
    if (!sassay::worker::RunMode_Parse("RUN_MODE_" + std::string(argument), &mode)) return 2;
  }
  return sassay::runner::Run(mode);
}
