// What the engine costs: eight GPUs, ten readings a second, about 160 samples each time, with decisions and journal.
#include <benchmark/benchmark.h>

#include <fstream>

#include "monitor/rules/testing/bench.h"

namespace sassay::monitor {
namespace {

// Resident memory of this process, the recorded samples included.
double ResidentMib() {
  long pages = 0;
  std::ifstream("/proc/self/statm") >> pages >> pages;
  return static_cast<double>(pages) * 4096 / (1 << 20);
}

// Generating the samples is not the engine's work: they are made before, and only their time is set anew.
void EightGpus(benchmark::State& state) {
  Engine engine(DefaultConfig(), "host");
  Bench bench(8);
  std::vector<std::vector<Sample>> readings;
  bench.watch = [&](const std::vector<Sample>& samples) { readings.push_back(samples); };
  bench.tick = absl::Milliseconds(100);
  bench.Run(absl::Seconds(20));
  Now now = bench.now();
  int64_t samples = 0;
  size_t next = 0;
  for (auto unused : state) {
    state.PauseTiming();
    std::vector<Sample>& reading = readings[next++ % readings.size()];
    now.steady += absl::Milliseconds(100);
    now.wall += absl::Milliseconds(100);
    for (Sample& sample : reading) sample.at = now.steady;
    state.ResumeTiming();
    engine.Step(now, reading);
    benchmark::DoNotOptimize(engine.TakeJournal());
    for (const Decision& decision : engine.Due(now)) engine.Acknowledge(decision.id, absl::OkStatus(), now);
    benchmark::DoNotOptimize(engine.Report());
    samples += static_cast<int64_t>(reading.size());
  }
  state.SetItemsProcessed(samples);
  state.counters["samples_a_step"] = static_cast<double>(samples) / static_cast<double>(state.iterations());
  state.counters["resident_mib"] = ResidentMib();
  // Ten steps a second: the share of one core is ten times the time of a step.
  state.counters["core_share_at_10_per_s"] = benchmark::Counter(
      static_cast<double>(state.iterations()) * 0.1, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}
BENCHMARK(EightGpus)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace sassay::monitor

BENCHMARK_MAIN();
