// profiler-runner: started by profiler-service, never by hand; speaks over the descriptor it was given.
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/base/steady_time.h"
#include "profiler_service/device/device.h"
#include "profiler_service/runner/output_capture.h"
#include "profiler_service/runner/runner.h"
#include "profiler_service/wire/channel.h"

namespace sassay::runner {
namespace {

int Complain(const absl::Status& status) {
  std::fprintf(stderr, "profiler-runner: %s\n", status.ToString().c_str());
  return 1;
}

// A context behind which a kernel hangs would keep exit() waiting.
[[noreturn]] void Leave(int status) {
  std::fflush(stderr);
  _exit(status);
}

// On a machine that runs out of memory a candidate's runner goes first, not the service.
void OfferToTheOomKiller() {
  std::FILE* file = std::fopen("/proc/self/oom_score_adj", "w");
  if (file == nullptr) return;
  std::fputs("1000", file);
  std::fclose(file);
}

// With it goes what is readable when this very process has ended, device and all: the service's own child is the
// sandbox around it. An old kernel has none.
absl::Status SayReady(wire::Channel& channel, const Runner& runner) {
  const UniqueFd self(static_cast<int>(syscall(SYS_pidfd_open, getpid(), 0)));
  const int descriptor = self.get();
  return channel.Send(runner.Ready(), absl::MakeConstSpan(&descriptor, self.valid() ? 1 : 0),
                      SteadyNow() + absl::Seconds(10));
}

int Run(const std::string& device_name, worker::RunMode mode) {
  OfferToTheOomKiller();
  wire::Channel channel{UniqueFd(wire::kWorkerChannelFd)};
  // compute-sanitizer tidies up for a while after main.
  wire::ExitWhenPeerIsGone(channel.fd(),
                           mode == worker::RUN_MODE_CHECKED ? absl::Seconds(10) : absl::Milliseconds(500));
  auto output = OutputCapture::Start();
  if (!output.ok()) return Complain(output.status());
  auto device = device::OpenDevice(device_name, mode);
  if (!device.ok()) {
    (void)channel.Send(NotReady(device.status()), {}, SteadyNow() + absl::Seconds(10));
    return Complain(device.status());
  }
  Runner runner(**device, mode, [&] { return output->Take(); });
  absl::Status served = SayReady(channel, runner);
  if (served.ok()) served = Serve(channel, runner);
  if (!served.ok()) Leave(Complain(served));
  // Under a tool the process ends in good order, so that the tool does. What it holds the driver frees at once; object
  // by object that takes it longer, and nobody else makes a context meanwhile.
  std::exit(0);
}

}  // namespace
}  // namespace sassay::runner

int main(int argc, char** argv) {
  CLI::App app{"profiler-runner: runs one candidate for profiler-service, which starts it"};
  std::string device, mode_name;
  app.add_option("--device", device, "cuda:N, cuda:GPU-… or emulated:ARCH")->required();
  app.add_option("--mode", mode_name, "PLAIN, CHECKED, COUNTED or TIMED")->required();
  CLI11_PARSE(app, argc, argv);
  sassay::worker::RunMode mode;
  if (!sassay::worker::RunMode_Parse("RUN_MODE_" + mode_name, &mode)) {
    std::fprintf(stderr, "profiler-runner: expected --mode PLAIN, CHECKED, COUNTED or TIMED, got %s\n",
                 mode_name.c_str());
    return 2;
  }
  signal(SIGPIPE, SIG_IGN);
  signal(SIGTERM, SIG_IGN);  // a job queue sends it to every process; the service hears it, too, and ends us
  return sassay::runner::Run(device, mode);
}
