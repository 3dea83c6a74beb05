// Times a bundle again and again, and prints each ratio: against itself (A/A: a second runner with the same bundle) or
// against its workload's baseline. Shows how far a ratio can be trusted on this GPU; nothing is judged.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/files.h"
#include "common/base/status_macros.h"
#include "common/base/steady_time.h"
#include "common/workload/catalog.h"
#include "profiler_service/device/device.h"
#include "profiler_service/judge/timed_baseline.h"
#include "profiler_service/timing/conduct.h"
#include "profiler_service/timing/nvml.h"
#include "profiler_service/timing/runner_program.h"
#include "profiler_service/wire/runner_pool.h"

namespace sassay::timing {
namespace {

struct Flags {
  std::string device = "cuda:0", bundle, workload, runner, against = "itself";
  int runs = 1, sets = 10;
  double half_width = 0.002;
  double time_cap_seconds = 15;
};

// The baseline in this process.
class LocalBaseline : public TimedProgram {
 public:
  explicit LocalBaseline(judge::TimedBaseline& baseline) : baseline_(baseline) {}
  absl::StatusOr<WarmUpReport> WarmUp(int calls, absl::Duration at_least, absl::Duration at_most) override {
    ASSIGN_OR_RETURN(const device::Stretch stretch,
                     baseline_.WarmUp({calls, at_least, at_most, 4}, absl::Now() + absl::Seconds(30)));
    return WarmUpReport{stretch.calls, stretch.clock_mhz};
  }
  absl::StatusOr<BlockReport> RunBlock(const BlockSize& size) override {
    ASSIGN_OR_RETURN(const device::SampledBlock block,
                     baseline_.Time(++blocks_ << 32, size.dropped + size.kept, absl::Now() + absl::Seconds(30)));
    return BlockReport{block.samples_ns, block.clock_mhz, block.late ? "launches came too late" : ""};
  }

 private:
  judge::TimedBaseline& baseline_;
  uint64_t blocks_ = 0;
};

class NoInterludes : public Interludes {
 public:
  explicit NoInterludes(int ring) : ring_(ring) {}
  absl::Status Refresh() override { return absl::OkStatus(); }
  absl::Status Check(bool) override { return absl::OkStatus(); }
  int ring() const override { return ring_; }

 private:
  const int ring_;
};

// The tensors of a plan, `count` times, filled with numbers that look like data.
struct Tensors {
  std::vector<device::SharedMemory> memory;
  std::vector<TensorSet> sets;

  absl::Status Add(device::Device& device, const v1::LaunchPlan& plan) {
    TensorSet& set = sets.emplace_back();
    for (int i = 0; i < plan.buffers_size(); ++i) {
      const v1::Buffer& buffer = plan.buffers(i);
      if (buffer.kind() != v1::BUFFER_KIND_INPUT && buffer.kind() != v1::BUFFER_KIND_OUTPUT) continue;
      ASSIGN_OR_RETURN(device::SharedMemory object, device.AllocateShared(buffer.size_bytes()));
      RETURN_IF_ERROR(device.Poison(object.address, buffer.size_bytes(), memory.size() + 1));
      worker::SharedRegion& region = set.regions.emplace_back();
      region.set_buffer(static_cast<uint32_t>(i));
      region.set_memory(static_cast<uint32_t>(set.descriptors.size()));
      region.set_object_bytes(object.object_bytes);
      region.set_size_bytes(buffer.size_bytes());
      set.descriptors.push_back(object.fd.get());
      memory.push_back(std::move(object));
    }
    return absl::OkStatus();
  }
};

class Probe {
 public:
  explicit Probe(const Flags& flags) : flags_(flags), pool_(PoolOptions(flags)) {}

  absl::Status Run() {
    ASSIGN_OR_RETURN(const std::string bytes, ReadFile(flags_.bundle));
    v1::Bundle bundle;
    if (!bundle.ParseFromString(bytes)) return absl::InvalidArgumentError("not a bundle");
    ASSIGN_OR_RETURN(workload_, WorkloadCatalog::BuiltIn().Resolve(flags_.workload));
    ASSIGN_OR_RETURN(bundle_, wire::WithOnlyPlan(bundle, workload_.name()));
    ASSIGN_OR_RETURN(device_, device::OpenDevice(flags_.device, worker::RUN_MODE_PLAIN));
    for (int i = 0; i < flags_.sets; ++i) RETURN_IF_ERROR(tensors_.Add(*device_, bundle_.plans(0)));
    if (flags_.against == "baseline") RETURN_IF_ERROR(MakeBaseline());
    for (int run = 0; run < flags_.runs; ++run) RETURN_IF_ERROR(Measure(run));
    return absl::OkStatus();
  }

 private:
  static wire::RunnerPoolOptions PoolOptions(const Flags& flags) {
    wire::RunnerPoolOptions options;
    options.runner_program = std::filesystem::absolute(flags.runner).string();
    options.allow_unsandboxed = AllowUnsandboxed{"a probe runs only what its user compiled"};
    return options;
  }

  absl::Status MakeBaseline() {
    const auto fill = [this](int set, absl::Span<const device::DeviceAddress> buffers) -> absl::Status {
      for (int i = 0; i < workload_.inputs_size(); ++i) {
        RETURN_IF_ERROR(device_->Poison(buffers[static_cast<size_t>(i)], TensorBytes(workload_.inputs(i)),
                                        static_cast<uint64_t>(100 * set + i)));
      }
      return absl::OkStatus();
    };
    ASSIGN_OR_RETURN(std::unique_ptr<judge::Baseline> baseline, judge::MakeBaseline(workload_, *device_));
    ASSIGN_OR_RETURN(baseline_,
                     judge::TimedBaseline::Create(std::move(baseline), *device_, workload_, flags_.sets, fill));
    std::printf("baseline: %s %s, %s\n", baseline_->facts().library.c_str(), baseline_->facts().version.c_str(),
                baseline_->facts().algorithm.c_str());
    return absl::OkStatus();
  }

  absl::StatusOr<std::unique_ptr<RunnerProgram>> Start(std::unique_ptr<wire::RunnerClient>& runner) {
    ASSIGN_OR_RETURN(runner, pool_.Acquire(flags_.device, worker::RUN_MODE_TIMED, SteadyNow() + absl::Seconds(60)));
    RunnerProgram::Options options;
    options.deadline = SteadyNow() + absl::Seconds(60);
    options.take = [this](int calls) {
      std::vector<uint32_t> sets;
      for (int i = 0; i < calls; ++i) sets.push_back(static_cast<uint32_t>(i % flags_.sets));
      return sets;
    };
    auto program = std::make_unique<RunnerProgram>(*runner, options);
    RETURN_IF_ERROR(program->SetUp(bundle_, tensors_.sets));
    return program;
  }

  absl::Status Measure(int run) {
    std::unique_ptr<wire::RunnerClient> first, second;
    ASSIGN_OR_RETURN(const std::unique_ptr<RunnerProgram> candidate, Start(first));
    std::unique_ptr<RunnerProgram> twin;
    std::unique_ptr<LocalBaseline> local;
    NoInterludes interludes(flags_.sets);
    Ensemble ensemble;
    ensemble.candidate = candidate.get();
    if (flags_.against == "itself") {
      ASSIGN_OR_RETURN(twin, Start(second));
      ensemble.baseline = twin.get();
    } else if (baseline_ != nullptr) {
      local = std::make_unique<LocalBaseline>(*baseline_);
      ensemble.baseline = local.get();
    }
    ensemble.interludes = &interludes;
    ensemble.clock = [uuid = device_->info().uuid] { return ReadClock(uuid); };
    ensemble.now = [] { return SteadyNow(); };
    ensemble.rules.half_width = flags_.half_width;
    ensemble.rules.budget = ensemble.rules.time_cap = absl::Seconds(flags_.time_cap_seconds);
    for (const v1::TensorSpec& output : workload_.outputs()) ensemble.around.written_bytes += TensorBytes(output);
    ensemble.around.written_bytes += 2.0 * 64e6;
    ensemble.around.operations = bundle_.plans(0).steady_size();
    ASSIGN_OR_RETURN(const Conducted conducted, Conduct(ensemble));
    Print(run, conducted);
    return absl::OkStatus();
  }

  static void Print(int run, const Conducted& c) {
    const RatioEstimate ratio = c.measurement.estimate();
    const auto& a = c.measurement.samples(Side::kCandidate);
    const auto& b = c.measurement.samples(Side::kBaseline);
    std::printf(
        "%2d ratio %.4f [%.4f, %.4f] se %.3f%% n %zu+%zu A %.1f us B %.1f us clock %.0f/%.0f nvml %u-%u reasons %llx "
        "blocks %d void %d (%d void before) stop %d size %d+%d %.2f s %s\n",
        run, ratio.ratio, ratio.low, ratio.high, 100 * ratio.standard_error, a.size(), b.size(), Median(a) / 1e3,
        Median(b) / 1e3, c.measurement.clock_mhz(Side::kCandidate), c.measurement.clock_mhz(Side::kBaseline),
        c.sm_clock_min_mhz, c.sm_clock_max_mhz, static_cast<unsigned long long>(c.clock_event_reasons),
        c.measurement.blocks(), c.measurement.void_blocks(), c.void_measurements, static_cast<int>(c.stop),
        c.size.dropped, c.size.kept, absl::ToDoubleSeconds(c.took), c.implausible.c_str());
    for (const auto& [reason, samples] : c.measurement.voided_samples()) {
      std::printf("   void: %d samples, %s\n", samples, reason.c_str());
    }
    std::fflush(stdout);
  }

  const Flags flags_;
  wire::RunnerPool pool_;
  v1::Workload workload_;
  v1::Bundle bundle_;
  std::unique_ptr<device::Device> device_;
  Tensors tensors_;
  std::unique_ptr<judge::TimedBaseline> baseline_;
};

}  // namespace
}  // namespace sassay::timing

int main(int argc, char** argv) {
  CLI::App app{"Times a bundle against itself or against its baseline, and prints each ratio"};
  sassay::timing::Flags flags;
  app.add_option("--device", flags.device)->capture_default_str();
  app.add_option("--bundle", flags.bundle)->required();
  app.add_option("--workload", flags.workload)->required();
  app.add_option("--runner", flags.runner, "profiler-runner")->required();
  app.add_option("--against", flags.against, "itself, baseline or nothing")->capture_default_str();
  app.add_option("--runs", flags.runs)->capture_default_str();
  app.add_option("--sets", flags.sets, "sets of tensors")->capture_default_str();
  app.add_option("--half-width", flags.half_width, "of the 95 % interval, relative")->capture_default_str();
  app.add_option("--time-cap", flags.time_cap_seconds, "seconds of one measurement")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  const absl::Status status = sassay::timing::Probe(flags).Run();
  if (status.ok()) return 0;
  std::fprintf(stderr, "timing_probe: %s\n", status.ToString().c_str());
  return 1;
}
