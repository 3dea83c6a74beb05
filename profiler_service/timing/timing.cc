#include "profiler_service/timing/timing.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/base/steady_time.h"
#include "common/workload/definition.h"
#include "profiler_service/timing/conduct.h"
#include "profiler_service/timing/judges_baseline.h"
#include "profiler_service/timing/report.h"
#include "profiler_service/timing/runner_program.h"
#include "profiler_service/verdict/verdict.h"
#include "profiler_service/wire/gpu_nodes.h"

namespace sassay::timing {
namespace {

// Share of the deadline that a measurement may take; the rest is for what comes before it.
constexpr double kMeasuringShare = 0.6;
// Twice the L2 of the largest GPUs, for what surrounds a sample.
constexpr double kFlushedBytes = 2 * 128e6;

uint32_t HoistedAllocations(const sassay::v1::LaunchPlan& plan) {
  return static_cast<uint32_t>(std::count_if(plan.steady().begin(), plan.steady().end(),
                                             [](const sassay::v1::Step& step) { return step.has_allocate(); }));
}

bool IsOperation(const sassay::v1::Step& step) {
  return step.has_launch() || step.has_copy() || step.has_memset() || step.has_upload();
}

Surroundings Around(const TimingRequest& request) {
  const sassay::v1::LaunchPlan& plan = request.bundle->plans(0);
  Surroundings around;
  around.enqueue_ns = request.rules.enqueue_ns;
  around.written_bytes = kFlushedBytes;
  for (const sassay::v1::Buffer& buffer : plan.buffers()) {
    const double bytes = static_cast<double>(buffer.size_bytes());
    const bool own = buffer.kind() == sassay::v1::BUFFER_KIND_CALL_ALLOCATION;
    if (own || buffer.kind() == sassay::v1::BUFFER_KIND_OUTPUT) around.written_bytes += bytes;
    if (own) around.own_bytes += bytes;
  }
  around.operations = std::max<double>(1, std::count_if(plan.steady().begin(), plan.steady().end(), IsOperation));
  return around;
}

std::string UuidOf(const std::string& device) {
  const absl::optional<wire::GpuNode> gpu = wire::FindGpu(device);
  return gpu.has_value() ? gpu->uuid : std::string(device.substr(device.find(':') + 1));
}

// A program in a runner of its own.
struct Running {
  std::unique_ptr<wire::RunnerClient> runner;
  std::unique_ptr<wire::KillSwitch::Guard> guard;
  std::unique_ptr<RunnerProgram> program;
};

// New inputs for both sides; only the candidate's outputs are in question.
class BothSides : public Interludes {
 public:
  BothSides(Interludes& candidate, Interludes& baseline) : candidate_(candidate), baseline_(baseline) {}
  absl::Status Refresh() override {
    RETURN_IF_ERROR(candidate_.Refresh());
    return baseline_.Refresh();
  }
  absl::Status Check(bool last) override { return candidate_.Check(last); }
  int ring() const override { return std::min(candidate_.ring(), baseline_.ring()); }

 private:
  Interludes& candidate_;
  Interludes& baseline_;
};

class Stage {
 public:
  Stage(const TimingRequest& request, wire::RunnerPool& pool, const ClockSource& clock)
      : request_(request), pool_(pool), clock_(clock), end_(SteadyNow() + request.deadline) {}

  absl::StatusOr<verdict::TimingSeen> Run() {
    const wire::RunnerPool::Quiet quiet(pool_, request_.device, request_.kill_switch);
    absl::StatusOr<Conducted> conducted = Measure();
    if (conducted.ok()) return Remembered(Report(*conducted, TakeStock()));
    const absl::Status& status = conducted.status();
    if (absl::IsCancelled(status)) return status;
    verdict::TimingSeen seen{Unavailable(absl::StrCat(BlameBaseline(), status.message())), {}};
    for (const evaluate::MaybeFailure& failure : {RunnersFailure(), request_.sets->failure(), BaselineTensors()}) {
      if (!failure.has_value()) continue;
      if (evaluate::IsLostWorker(*failure)) return absl::UnavailableError(failure->reason);
      if (failure->code == sassay::v1::VERDICT_CODE_CANCELLED_BY_CLIENT) return absl::CancelledError(failure->reason);
      if (!verdict::IsInfrastructure(failure->code)) seen.failure = failure;
    }
    if (!seen.failure.has_value() && lost_) return status;
    return seen;
  }

 private:
  evaluate::MaybeFailure RunnersFailure() const {
    return candidate_.program == nullptr ? absl::nullopt : candidate_.program->failure();
  }

  // Trouble with the tensors of a bundle in the baseline's place: never the candidate's.
  evaluate::MaybeFailure BaselineTensors() const {
    if (request_.bundle_baseline == nullptr) return absl::nullopt;
    const evaluate::MaybeFailure& failure = request_.bundle_baseline->sets->failure();
    return failure.has_value() && verdict::IsInfrastructure(failure->code) ? failure : absl::nullopt;
  }

  std::string BlameBaseline() const {
    if (rival_.program == nullptr || !rival_.program->failure().has_value()) return "";
    return absl::StrCat("the baseline, ", NameOfRival(), ": ");
  }

  std::string NameOfRival() const {
    const v1::BaselineProgram& program = request_.bundle_baseline->program;
    return absl::StrCat(program.library(), program.version().empty() ? "" : " ", program.version());
  }

  absl::StatusOr<Conducted> Measure() {
    // The baseline first: while it chooses its algorithm, no context of a candidate waits.
    RETURN_IF_ERROR(Noted(PrepareBaseline()));
    RETURN_IF_ERROR(Noted(Start(*request_.bundle, *request_.sets, candidate_)));
    Ensemble ensemble;
    ensemble.candidate = candidate_.program.get();
    ensemble.baseline = baseline_.get();
    ensemble.interludes = request_.sets;
    absl::optional<BothSides> both;
    if (rival_.program != nullptr) {
      ensemble.baseline = rival_.program.get();
      ensemble.interludes = &both.emplace(*request_.sets, *request_.bundle_baseline->sets);
    }
    ensemble.clock = [this, uuid = UuidOf(request_.device)] { return clock_(uuid); };
    ensemble.now = [] { return SteadyNow(); };
    ensemble.rules = request_.rules;
    ensemble.rules.time_cap = std::min(request_.rules.time_cap, (end_ - SteadyNow()) * kMeasuringShare);
    ensemble.around = Around(request_);
    ensemble.doubt_baseline = [this](double median_ns, double clock_mhz) { return Doubt(median_ns, clock_mhz); };
    absl::StatusOr<Conducted> conducted = Conduct(ensemble);
    RETURN_IF_ERROR(Noted(conducted.status()));
    return conducted;
  }

  // A clock that cannot be read is no lost worker.
  absl::Status Noted(const absl::Status& status) {
    lost_ = absl::IsUnavailable(status) && !absl::StartsWith(status.message(), "clocks are not known");
    return status;
  }

  absl::Status PrepareBaseline() {
    if (request_.bundle_baseline != nullptr) return StartRival();
    if (!request_.no_baseline.empty()) {
      no_baseline_ = absl::StrCat("UNAVAILABLE: ", request_.no_baseline);
      return absl::OkStatus();
    }
    if (request_.workload.baseline().empty() || request_.judge == nullptr) {
      no_baseline_ = absl::StrCat(request_.workload.definition(), " names no baseline");
      return absl::OkStatus();
    }
    JudgesBaseline::Options options;
    options.workload = request_.workload;
    options.seed = request_.baseline_seed;
    options.distribution = request_.distribution;
    options.tensor_sets = static_cast<uint32_t>(request_.sets->sets().size());
    options.deadline = end_;
    auto baseline = std::make_unique<JudgesBaseline>(*request_.judge, std::move(options));
    const absl::Status prepared = baseline->Prepare();
    if (absl::IsCancelled(prepared) || absl::IsUnavailable(prepared)) return prepared;
    if (!prepared.ok()) {
      no_baseline_ = absl::StrCat("UNAVAILABLE: ", prepared.message());
      return absl::OkStatus();
    }
    baseline_ = std::move(baseline);
    return absl::OkStatus();
  }

  // One that does not come up costs the ratio, not the time.
  absl::Status StartRival() {
    const absl::Status started = Start(*request_.bundle_baseline->bundle, *request_.bundle_baseline->sets, rival_);
    if (started.ok() || absl::IsCancelled(started) || absl::IsUnavailable(started)) return started;
    no_baseline_ = absl::StrCat("UNAVAILABLE: ", NameOfRival(), ": ", started.message());
    End(rival_);
    return absl::OkStatus();
  }

  static void End(Running& running) {
    running.program.reset();
    running.guard.reset();
    running.runner.reset();
  }

  absl::Status Start(const v1::Bundle& bundle, TimedSets& sets, Running& running) {
    ASSIGN_OR_RETURN(running.runner, pool_.Acquire(request_.device, worker::RUN_MODE_TIMED, absl::InfiniteFuture(),
                                                   request_.kill_switch));
    running.guard = std::make_unique<wire::KillSwitch::Guard>(request_.kill_switch, *running.runner);
    RunnerProgram::Options options;
    options.poison_seed = request_.poison_seed;
    options.deadline = end_;
    options.longest_call = request_.longest_call;
    options.take = [&sets](int calls) { return sets.Take(calls); };
    running.program = std::make_unique<RunnerProgram>(*running.runner, std::move(options));
    return running.program->SetUp(bundle, sets.sets());
  }

  absl::optional<v1::BaselineProgram> BaselineThere() const {
    if (baseline_ != nullptr) return baseline_->program();
    if (rival_.program != nullptr) return request_.bundle_baseline->program;
    return absl::nullopt;
  }

  // Empty where nothing is remembered of the baseline.
  std::string Key() const {
    const absl::optional<v1::BaselineProgram> program = BaselineThere();
    if (request_.baseline_history == nullptr || !program.has_value()) return "";
    if (rival_.program != nullptr && !request_.bundle_baseline->lasting) return "";
    return HistoryKey(UuidOf(request_.device), request_.driver_version, request_.workload, request_.distribution,
                      *program);
  }

  std::string Doubt(double median_ns, double clock_mhz) {
    const std::string key = Key();
    if (key.empty()) return "";
    compared_ = request_.baseline_history->Compare(key, median_ns, clock_mhz);
    return SlowerThanBefore(*compared_);
  }

  // Only what was believed: a baseline that was slow does not become what is usual.
  verdict::TimingSeen Remembered(verdict::TimingSeen seen) const {
    const std::string key = Key();
    if (!key.empty() && seen.timing.status() == v1::Timing::MEASURED) {
      request_.baseline_history->Add(key, seen.timing.baseline().median_ns(), seen.timing.baseline_clock_mhz());
    }
    return seen;
  }

  Circumstances TakeStock() const {
    Circumstances around;
    around.baseline = BaselineThere();
    around.baseline_history = compared_;
    around.no_baseline_reason = no_baseline_;
    around.floor = FloorOf(request_.workload, request_.gpu);
    around.held = candidate_.program->held();
    around.tensor_sets = static_cast<uint32_t>(request_.sets->sets().size());
    around.renewed_sets = request_.sets->renewed_sets();
    around.checked_calls = request_.sets->checked_calls();
    around.unchecked_reason = request_.sets->unchecked_reason();
    around.hoisted_allocations = HoistedAllocations(request_.bundle->plans(0));
    return around;
  }

  const TimingRequest& request_;
  wire::RunnerPool& pool_;
  const ClockSource& clock_;
  const absl::Time end_;
  std::unique_ptr<JudgesBaseline> baseline_;
  std::string no_baseline_;
  absl::optional<v1::BaselineHistory> compared_;
  Running candidate_, rival_;
  bool lost_ = false;
};

}  // namespace

int TensorSetsFor(const Rules& rules, uint64_t set_bytes, uint64_t input_bytes, uint64_t device_bytes) {
  // The set, what the judge keeps of it, and the baseline's set.
  const uint64_t each = std::max<uint64_t>(3 * set_bytes + input_bytes, 1);
  const uint64_t fit = device_bytes / 5 * 2 / each;
  return static_cast<int>(std::clamp<uint64_t>(fit, 1, rules.block_samples + rules.dropped_samples));
}

absl::StatusOr<verdict::TimingSeen> Time(const TimingRequest& request, wire::RunnerPool& pool,
                                         const ClockSource& clock) {
  if (!absl::StartsWith(request.device, "cuda:")) return verdict::TimingSeen{Unavailable("emulated device"), {}};
  return Stage(request, pool, clock).Run();
}

}  // namespace sassay::timing
