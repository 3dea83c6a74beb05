// profiler-judge: one per device, started by profiler-service.
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

#include "CLI/CLI.hpp"
#include "common/base/status_macros.h"
#include "common/workload/catalog.h"
#include "profiler_service/device/device.h"
#include "profiler_service/judge/baseline/baseline.h"
#include "profiler_service/judge/gpu/examiner.h"
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
  double device_cache_share = 0.25;
  double reference_seconds = 60;
};

// Null on a device that runs no kernels of ours.
absl::StatusOr<std::unique_ptr<gpu::Examiner>> OpenExaminer(device::Device& device, const WorkloadCatalog& catalog,
                                                            double cache_share) {
  if (device.info().kind != "cuda") return nullptr;
  ASSIGN_OR_RETURN(std::unique_ptr<gpu::Kernels> kernels, gpu::Kernels::Load(device));
  kernels->set_workspace_bytes(std::min(gpu::kWorkspaceBytes, device.info().memory_bytes / 16));
  gpu::ExaminerOptions options;
  options.catalog = &catalog;
  options.budget_bytes = static_cast<uint64_t>(static_cast<double>(device.info().memory_bytes) * cache_share);
  const uint64_t workspace_limit = JudgesWorkspaceLimit(device.info().memory_bytes);
  options.libraries_bytes = (Judge::kKnownBaselines + gpu::LibraryNoise::kKeptLibraries) * workspace_limit;
  options.make_library = [workspace_limit](const sassay::v1::Workload& workload, device::Device& device) {
    BaselineOptions first_choice;
    first_choice.candidates = 1;
    first_choice.workspace_limit_bytes = workspace_limit;
    return MakeBaseline(workload, device, first_choice);
  };
  return gpu::Examiner::Create(std::move(kernels), options);
}

[[noreturn]] void EndAtOnce(const absl::Status& why) {
  std::cerr << "profiler-judge: " << why << std::endl;
  _exit(1);
}

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
  auto examiner = OpenExaminer(**device, *catalog, flags.device_cache_share);
  if (!examiner.ok()) return Refuse(examiner.status(), std::move(channel));
  Judge judge(**device, options, flags.cache_bytes, *std::move(examiner));
  const absl::Status served = Serve(judge, std::move(channel));
  // Whoever frees memory of a context that is lost may wait for it for ever.
  if (!(*device)->usable()) EndAtOnce(served);
  return served;
}

int Main(int argc, char** argv) {
  CLI::App app{"The trusted judge of one device. Started by profiler-service, which speaks with it over descriptor 3."};
  Flags flags;
  app.add_option("--device", flags.device, "device to judge on, for example cuda:0 or emulated:sm_90a")->required();
  app.add_option("--workloads", flags.workloads, "directory with workload definitions (may be repeated)");
  app.add_option("--threads", flags.threads, "threads of CPU references; 0 for one per core")->capture_default_str();
  app.add_option("--cache-bytes", flags.cache_bytes, "inputs and reference outputs kept")->capture_default_str();
  app.add_option("--device-cache-share", flags.device_cache_share,
                 "share of a GPU's memory for inputs and reference outputs kept there")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  app.add_option("--reference-seconds", flags.reference_seconds, "longest CPU reference")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  signal(SIGTERM, SIG_IGN);  // a job queue sends it to every process; the service hears it, too, and ends us
  wire::ExitWhenPeerIsGone(wire::kWorkerChannelFd);
  const absl::Status status = Run(flags, wire::Channel(UniqueFd(wire::kWorkerChannelFd)));
  if (status.ok()) return 0;
  std::cerr << "profiler-judge: " << status << "\n";
  return 1;
}

}  // namespace
}  // namespace sassay::judge

int main(int argc, char** argv) { return sassay::judge::Main(argc, argv); }
