// What capture adds to a compilation: the whole Capture() of the tiled GEMM's kind of candidate, sandbox included. The
// aim is under 100 ms on an idle machine.
#include <benchmark/benchmark.h>

#include <cstdlib>

#include "agent/capture/plan/capture.h"
#include "common/base/files.h"
#include "common/workload/catalog.h"

namespace {

void BM_Capture(benchmark::State& state, const char* entry) {
  sassay::capture::CaptureRequest request;
  const std::string build = SASSAY_BENCH_BUILD;
  request.shared_object = *sassay::ReadFile(build + "/tests/capture/shapes.so");
  request.cubin = *sassay::ReadFile(build + "/tests/capture/shapes.cubin");
  request.program_directory = build + "/bin";
  request.entry = entry;
  request.workloads = {*sassay::WorkloadCatalog::BuiltIn().Resolve("gemm_n256_k256/M=64")};
  for (auto _ : state) {
    const auto result = sassay::capture::Capture(request);
    if (!result.ok() || !result->workloads[0].captured()) state.SkipWithError("not captured");
  }
}

BENCHMARK_CAPTURE(BM_Capture, structs, "structs")->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK_CAPTURE(BM_Capture, tensor_maps, "tensor_maps")->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace

BENCHMARK_MAIN();
