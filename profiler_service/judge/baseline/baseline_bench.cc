// Times of the baselines on this machine's GPU, as a table: the library's first choice and the best of its heuristic's,
// how long choosing took, and what Enqueue costs the host.
//
//   baseline_bench [SUBSTRING]      only workloads whose name holds SUBSTRING
#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/time/clock.h"
#include "common/base/status_macros.h"
#include "profiler_service/device/cuda/cuda_device.h"
#include "profiler_service/judge/baseline/baseline.h"
#include "profiler_service/judge/baseline/testing/workloads.h"
#include "profiler_service/judge/baseline/trial.h"

namespace sassay::judge {
namespace {

using device::cuda::Driver;
using sassay::v1::Workload;

constexpr sassay::v1::DType kBf16 = sassay::v1::DTYPE_BFLOAT16;

struct Made {
  std::unique_ptr<Baseline> baseline;
  absl::Duration making;
  absl::Duration enqueueing = absl::InfiniteDuration();  // the shortest
};

absl::StatusOr<Made> Make(const Workload& workload, device::Device& device, int candidates) {
  BaselineOptions options;
  options.candidates = candidates;
  const absl::Time start = absl::Now();
  auto baseline = MakeBaseline(workload, device, options);
  if (!baseline.ok()) return baseline.status();
  return Made{*std::move(baseline), absl::Now() - start};
}

Trial::Run RunOf(Made& made) {
  return [&made](auto inputs, auto outputs, void* stream) {
    const absl::Time begin = absl::Now();
    const absl::Status status = made.baseline->Enqueue(inputs, outputs, stream);
    made.enqueueing = std::min(made.enqueueing, absl::Now() - begin);
    return status;
  };
}

absl::Status Report(const Workload& workload, device::Device& device) {
  ASSIGN_OR_RETURN(Made first, Make(workload, device, 1));
  ASSIGN_OR_RETURN(Made best, Make(workload, device, BaselineOptions().candidates));
  ASSIGN_OR_RETURN(const auto trial, Trial::Create(**Driver::Get(), workload));
  ASSIGN_OR_RETURN(const std::vector<double> times, trial->Measure({RunOf(best), RunOf(first)}));
  const BaselineFacts& facts = best.baseline->facts();
  std::printf(
      "%-44s %9.4f ms %6.1f TFLOP/s  first choice %9.4f ms  made in %5.0f ms  enqueue %4.1f us  %s %s, %s, "
      "best of %d, workspace %.1f MiB\n",
      workload.name().c_str(), times[0] / 1e6, workload.flop() / times[0] / 1e3, times[1] / 1e6,
      absl::ToDoubleMilliseconds(best.making), absl::ToDoubleMicroseconds(best.enqueueing), facts.library.c_str(),
      facts.version.c_str(), facts.algorithm.c_str(), facts.candidates,
      static_cast<double>(facts.workspace_bytes) / (1 << 20));
  std::fflush(stdout);
  return absl::OkStatus();
}

std::vector<Workload> Workloads() {
  std::vector<Workload> all = {GemmWorkload(8192, 7168, 5120)};
  for (const bool backward : {false, true}) {
    for (const bool causal : {false, true})
      all.push_back(AttentionWorkload({4, 48, 4096, 128, kBf16, causal, backward}));
  }
  for (const auto& [n, k] : {std::pair<int64_t, int64_t>{128, 2048},
                             {256, 7168},
                             {2048, 4096},
                             {4096, 14336},
                             {5120, 17408},
                             {28672, 4096},
                             {34816, 5120}}) {
    for (const int64_t m : {70, 2379}) all.push_back(GemmWorkload(m, n, k));
  }
  for (const int64_t head_size : {64, 96, 256}) {
    for (const bool backward : {false, true}) {
      all.push_back(AttentionWorkload({4, 16, 2048, head_size, kBf16, false, backward}));
    }
  }
  all.push_back(AttentionWorkload({1, 16, 16384, 128, kBf16, true, true}));
  return all;
}

int Main(int argc, char** argv) {
  const auto device = device::cuda::CudaDevice::Open("0", worker::RUN_MODE_PLAIN);
  if (!device.ok()) {
    std::fprintf(stderr, "baseline_bench: nothing measured: %s\n", device.status().ToString().c_str());
    // Where there is no GPU the other benchmarks of the `bench` target still have something to say.
    return absl::IsUnavailable(device.status()) ? 0 : 1;
  }
  for (const Workload& workload : Workloads()) {
    if (argc > 1 && !absl::StrContains(workload.name(), argv[1])) continue;
    const absl::Status reported = Report(workload, **device);
    if (!reported.ok()) std::printf("%-44s %s\n", workload.name().c_str(), reported.ToString().c_str());
  }
  return 0;
}

}  // namespace
}  // namespace sassay::judge

int main(int argc, char** argv) { return sassay::judge::Main(argc, argv); }
