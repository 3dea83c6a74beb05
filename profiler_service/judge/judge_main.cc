// profiler-judge: one per device, started by profiler-service.
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

#include "CLI/CLI.hpp"
#include "common/workload/catalog.h"
#include "profiler_service/device/device.h"
#include "profiler_service/judge/judge.h"
#include "profiler_service/judge/serve.h"
#include "profiler_service/wire/channel.h"

namespace sassay::judge {
namespace {

struct Flags {
  std::string device;
  std::vector<std::string> workloads;
  int threads = 0;
  uint64_t cache_bytes = uint64_t{1} << 30;
  double reference_seconds = 60;
};

absl::Status Run(const Flags& flags, wire::Channel channel) {
  const std::vector<std::filesystem::path> directories(flags.workloads.begin(), flags.workloads.end());
  const auto catalog = WorkloadCatalog::Load(directories);
  if (!catalog.ok()) return Refuse(catalog.status(), std::move(channel));
  const auto device = device::OpenDevice(flags.device, sassay::worker::RUN_MODE_PLAIN);
  if (!device.ok()) return Refuse(device.status(), std::move(channel));
  StateOptions options;
  options.catalog = &*catalog;
  options.threads = flags.threads > 0 ? flags.threads : std::max(1u, std::thread::hardware_concurrency());
  options.reference_limit_seconds = flags.reference_seconds;
  options.multiply_adds_per_second = MeasureMultiplyAdds(options.threads);
  Judge judge(**device, options, flags.cache_bytes);
  return Serve(judge, std::move(channel));
}

int Main(int argc, char** argv) {
  CLI::App app{"The trusted judge of one device. Started by profiler-service, which speaks with it over descriptor 3."};
  Flags flags;
  app.add_option("--device", flags.device, "device to judge on, for example cuda:0 or emulated:sm_90a")->required();
  app.add_option("--workloads", flags.workloads, "directory with workload definitions (may be repeated)");
  app.add_option("--threads", flags.threads, "threads of CPU references; 0 for one per core")->capture_default_str();
  app.add_option("--cache-bytes", flags.cache_bytes, "inputs and reference outputs kept")->capture_default_str();
  app.add_option("--reference-seconds", flags.reference_seconds, "longest CPU reference")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  wire::ExitWhenPeerIsGone(wire::kWorkerChannelFd);
  const absl::Status status = Run(flags, wire::Channel(UniqueFd(wire::kWorkerChannelFd)));
  if (status.ok()) return 0;
  std::cerr << "profiler-judge: " << status << "\n";
  return 1;
}

}  // namespace
}  // namespace sassay::judge

int main(int argc, char** argv) { return sassay::judge::Main(argc, argv); }
