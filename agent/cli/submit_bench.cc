// What the agent adds to nvcc: `mini-ptx-agent submit` of the tiled GEMM as a user runs it, process start included,
// from the compile cache, against a service that knows the bundle already and answers at once. Capture, bundle, the
// question whether the blob is known, and one stream of events are all in it; the aim is under 100 ms on an idle
// machine.
#include <benchmark/benchmark.h>

#include <memory>

#include "absl/time/time.h"
#include "agent/submit/fake_profiler.h"
#include "common/base/files.h"
#include "common/process/subprocess.h"

namespace sassay::agent {
namespace {

class SubmitBench : public benchmark::Fixture {
 public:
  void SetUp(const benchmark::State&) override {
    if (home_ != nullptr) return;
    home_ = std::make_unique<TemporaryDirectory>(*TemporaryDirectory::Create("submit_bench"));
    profiler_.script = UsualScript(v1::VERDICT_STATUS_CORRECT);
  }

  bool Submit() {
    Command command;
    command.argv = {SASSAY_BENCH_BUILD "/bin/mini-ptx-agent", "submit",
                    SASSAY_BENCH_SOURCE "/agent/examples/gemm_tiled.cu", "--workload", "gemm_n256_k256/M=256"};
    command.environment = {{"HOME", home_->path()}, {"PATH", "/usr/bin:/bin"}, {"SASSAY_SERVICE", profiler_.address()}};
    const auto report = RunToCompletion(command, absl::Minutes(5));
    return report.ok() && report->Succeeded();
  }

 private:
  FakeProfiler profiler_;
  std::unique_ptr<TemporaryDirectory> home_;
};

// The first of all: nvcc runs and the blob is sent.
BENCHMARK_DEFINE_F(SubmitBench, WithNvcc)(benchmark::State& state) {
  for (auto _ : state) {
    if (!Submit()) state.SkipWithError("the agent failed");
  }
}
BENCHMARK_REGISTER_F(SubmitBench, WithNvcc)->Unit(benchmark::kMillisecond)->UseRealTime()->Iterations(1);

BENCHMARK_DEFINE_F(SubmitBench, BesideNvcc)(benchmark::State& state) {
  if (!Submit()) state.SkipWithError("the agent failed");
  for (auto _ : state) {
    if (!Submit()) state.SkipWithError("the agent failed");
  }
}
BENCHMARK_REGISTER_F(SubmitBench, BesideNvcc)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace
}  // namespace sassay::agent

BENCHMARK_MAIN();
