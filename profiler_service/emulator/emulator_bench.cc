// How fast the emulator is: thread-instructions per second and core on a tiled GEMM.
#include <thread>

#include "benchmark/benchmark.h"
#include "profiler_service/emulator/testing/emulator_fixture.h"

namespace sassay::emulator {
namespace {

constexpr int kSize = 256;

void TiledGemm(benchmark::State& state, sassay::worker::RunMode mode) {
  const std::vector<float> ones(kSize * kSize, 1.0f);
  uint64_t instructions = 0;
  {
    Emulated counting(CompiledBundle("gemm"), sassay::worker::RUN_MODE_COUNTED);
    const uint64_t a = counting.Upload(ones), c = counting.Allocate(kSize * kSize * 4);
    counting.Run("gemm_tiled_f32", {kSize / 16, kSize / 16, 1}, {16, 16, 1},
                 {Bytes(a), Bytes(a), Bytes(c), Bytes(kSize)});
    instructions = counting.device().CollectEvidence()->thread_instructions();
  }
  Emulated emulated(CompiledBundle("gemm"), mode);
  const uint64_t a = emulated.Upload(ones), c = emulated.Allocate(kSize * kSize * 4);
  for (auto _ : state) {
    const auto execution = emulated.Run("gemm_tiled_f32", {kSize / 16, kSize / 16, 1}, {16, 16, 1},
                                        {Bytes(a), Bytes(a), Bytes(c), Bytes(kSize)});
    if (execution.outcome != sassay::worker::RUN_OUTCOME_OK) state.SkipWithError(execution.message.c_str());
  }
  const double total = static_cast<double>(instructions) * static_cast<double>(state.iterations());
  state.counters["thread_inst/s"] = benchmark::Counter(total, benchmark::Counter::kIsRate);
  // Process time, not wall time: what one core does, however busy the others are.
  state.counters["inst_per_iteration"] = static_cast<double>(instructions);
}

BENCHMARK_CAPTURE(TiledGemm, plain, sassay::worker::RUN_MODE_PLAIN)
    ->MeasureProcessCPUTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(TiledGemm, checked, sassay::worker::RUN_MODE_CHECKED)
    ->MeasureProcessCPUTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(TiledGemm, counted, sassay::worker::RUN_MODE_COUNTED)
    ->MeasureProcessCPUTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace sassay::emulator

BENCHMARK_MAIN();
