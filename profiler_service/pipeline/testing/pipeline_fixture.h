// What tests of the pipeline share: a lane without processes, an observer that remembers, and a fixture that runs one
// job.
#ifndef SASSAY_PROFILER_SERVICE_PIPELINE_TESTING_PIPELINE_FIXTURE_H_
#define SASSAY_PROFILER_SERVICE_PIPELINE_TESTING_PIPELINE_FIXTURE_H_

#include <atomic>
#include <deque>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "common/base/sha256.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "profiler_service/admission/testing/example_bundle.h"
#include "profiler_service/evaluate/testing/fake_workers.h"
#include "profiler_service/pipeline/pipeline.h"

namespace sassay::pipeline {

using namespace sassay::v1;  // NOLINT: codes and stages
using evaluate::Ended;
using evaluate::FakeKernel;
using evaluate::Tensors;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

// A device without processes.
class FakeLane : public Lane {
 public:
  FakeLane(const std::string& kind, FakeKernel kernel, const WorkloadCatalog& catalog = WorkloadCatalog::BuiltIn())
      : Lane(uint64_t{140} << 30, 4), specification_(kind + ":0"), kernel_(std::move(kernel)), judge_(catalog) {
    sassay::worker::DeviceDescription& device = devices_.emplace_back();
    device.set_kind(kind);
    device.set_model("NVIDIA H200");
    device.set_uuid("GPU-1");
    device.set_arch("sm_90a");
    device.set_multiprocessors(132);
    device.set_memory_bytes(uint64_t{140} << 30);
    device_ = &device;
  }

  const std::string& specification() const override { return specification_; }
  const sassay::worker::DeviceDescription& device() const override { return *device_; }
  // The lane gets another device of the same kind; whoever still reads the former's description may go on.
  void ExchangeDevice(const std::string& uuid) {
    sassay::worker::DeviceDescription& device = devices_.emplace_back(*device_);
    device.set_uuid(uuid);
    device_ = &device;
  }
  std::unique_ptr<evaluate::Workers> MakeWorkers(wire::KillSwitch&) override {
    auto workers = std::make_unique<evaluate::FakeWorkers>(judge_, std::vector<FakeKernel>{kernel_});
    if (without_launch_ != nullptr) workers->without_launch = without_launch_;
    return workers;
  }
  absl::StatusOr<sanitize::Sanitization> Sanitize(const sanitize::SanitizeRequest& request) override {
    ++sanitized_;
    EXPECT_TRUE(request.refill_after_setup().ok());
    EXPECT_EQ(request.regions.size(), 3u);
    const std::string tool(sanitize::ToolName(request.tool));
    sanitize::Sanitization result;
    {
      const absl::MutexLock lock(&mutex_);
      asked_.push_back(absl::StrCat(tool, " ", request.bundle->plans(0).workload()));
      result.report = reports_[request.tool];
    }
    result.report.set_tool(tool);
    if (result.report.outcome() == SanitizerReport::OUTCOME_UNSPECIFIED) {
      result.report.set_outcome(SanitizerReport::CLEAN);
    }
    if (checked_kernel_ != nullptr) result.last_reply = RunChecked(request);
    if (sanitized_ > lost_sanitizers_) return result;
    result.report.set_outcome(SanitizerReport::UNAVAILABLE);
    result.report.set_reason("the runner was lost");
    result.lost = true;
    return result;
  }
  absl::StatusOr<diagnose::Diagnosed> Diagnose(Diagnosis kind, const wire::CandidateRun& run) override {
    diagnosed_.push_back(Diagnosis_Name(kind));
    EXPECT_TRUE(run.refill_after_setup().ok());
    diagnose::Diagnosed diagnosed;
    diagnosed.report.set_outcome(DiagnosisReport::DONE);
    diagnosed.warps.emplace_back().set_state("waiting at a barrier");
    diagnosed.files.push_back({".ncu-rep", "the report"});
    return diagnosed;
  }
  absl::StatusOr<verdict::TimingSeen> Time(const timing::TimingRequest& request) override {
    verdict::TimingSeen seen;
    if (++timed_ <= faults_while_timed_) {
      seen.failure = verdict::Failure{VERDICT_CODE_TRAP, "gemm trapped", {}, {}};
      seen.timing.set_status(sassay::v1::Timing::UNAVAILABLE);
      return seen;
    }
    if (timed_ <= lost_timings_) return absl::UnavailableError("the runner was lost: signal 9");
    no_baseline_ = request.no_baseline;
    if (remember_ns_ > 0) request.baseline_history->Add("a baseline", remember_ns_, 1600);
    anchor_ = request.rules.half_width < timing::Rules().half_width;
    bundle_baseline_.reset();
    if (request.bundle_baseline != nullptr) {
      bundle_baseline_ = request.bundle_baseline->program;
      EXPECT_EQ(request.bundle_baseline->bundle->plans(0).workload(), request.workload.name());
      EXPECT_TRUE(request.bundle_baseline->sets->Refresh().ok());
      EXPECT_EQ(request.bundle_baseline->sets->sets().size(), request.sets->sets().size());
    }
    for (const FakeKernel& call : timed_calls_) {
      EXPECT_TRUE(request.sets->Refresh().ok());
      EXPECT_TRUE(Call(request, call).ok());
      if (request.sets->Check(/*last=*/true).ok()) continue;
      seen.failure = request.sets->failure();
      seen.timing.set_status(sassay::v1::Timing::UNAVAILABLE);
      seen.timing.set_reason("a timed call gave wrong outputs");
      return seen;
    }
    seen.timing.set_status(sassay::v1::Timing::MEASURED);
    return seen;
  }
  absl::Status Probe(absl::Time, wire::KillSwitch*) override {
    absl::MutexLock lock(&mutex_);
    return probe_();
  }

  // One call of a checked runner.
  sassay::worker::RunnerReply RunChecked(const sanitize::SanitizeRequest& request) {
    evaluate::FakeWorkers workers(judge_, {checked_kernel_});
    auto runner = workers.StartRunner(sassay::worker::RUN_MODE_CHECKED, absl::InfiniteFuture());
    EXPECT_TRUE(runner.ok() && (*runner)->Load(*request.bundle, sassay::worker::RUN_MODE_CHECKED).ok() &&
                (*runner)->Bind(request.regions, request.descriptors).ok());
    return (*runner)->Steady(1, absl::Seconds(1)).value();
  }

  // One call of a timed runner.
  absl::Status Call(const timing::TimingRequest& request, const FakeKernel& kernel) {
    evaluate::FakeWorkers workers(judge_, {kernel});
    auto runner = workers.StartRunner(sassay::worker::RUN_MODE_TIMED, absl::InfiniteFuture());
    if (!runner.ok()) return runner.status();
    const timing::TensorSet& set = request.sets->sets()[request.sets->Take(1).front()];
    for (const auto& reply : {(*runner)->Load(*request.bundle, sassay::worker::RUN_MODE_TIMED),
                              (*runner)->Bind(set.regions, set.descriptors), (*runner)->Steady(1, absl::Seconds(1))}) {
      if (!reply.ok()) return reply.status();
    }
    return absl::OkStatus();
  }

  // What a call does that leaves out the launch of that number.
  FakeKernel without_launch_;
  std::vector<FakeKernel> timed_calls_;
  // Of the last timing.
  absl::optional<BaselineProgram> bundle_baseline_;
  std::string no_baseline_;
  bool anchor_ = false;
  // What each timing tells the history of a baseline; nothing if 0.
  double remember_ns_ = 0;
  int faults_while_timed_ = 0;
  int lost_timings_ = 0;  // the first of them lose their runner
  const std::string specification_;
  std::deque<sassay::worker::DeviceDescription> devices_;  // changed by the test's thread alone
  std::atomic<const sassay::worker::DeviceDescription*> device_ = nullptr;
  const FakeKernel kernel_;
  FakeKernel checked_kernel_;  // what runs under a tool; nothing does where it is empty
  evaluate::InProcessJudge judge_;
  // What each tool finds; CLEAN where nothing is said. This and `asked_` under mutex_ while jobs run.
  std::map<sanitize::Tool, SanitizerReport> reports_;
  std::vector<std::string> asked_;  // "memcheck gemm_n256_k256/M=64"
  std::vector<std::string> diagnosed_;
  absl::Mutex mutex_;
  std::function<absl::Status()> probe_ = [] { return absl::OkStatus(); };
  int lost_sanitizers_ = 0;  // the first of them lose their runner
  std::atomic<int> sanitized_{0}, timed_{0};
};

class RecordingObserver : public JobObserver {
 public:
  void SeatTaken(absl::string_view gpu) override { seat_ = std::string(gpu); }
  void FoundNoOpenGpu(absl::string_view why) override { why_no_gpu_ = std::string(why); }
  void StageStarted(Stage stage, absl::string_view) override { started_.push_back(stage); }
  void StageFinished(const StageReport& report) override { finished_.push_back(report.stage()); }
  bool cancelled() const override { return cancelled_; }

  std::string seat_, why_no_gpu_;
  std::vector<Stage> started_, finished_;
  std::atomic<bool> cancelled_{false};
};

class PipelineTest : public testing::Test {
 protected:
  void Build(FakeKernel kernel, const std::string& kind = "cuda") {
    PipelineParts parts{evaluate::SeedPool("a secret of sixteen bytes")};
    auto lane = std::make_unique<FakeLane>(kind, std::move(kernel), *catalog_);
    lane_ = lane.get();
    parts.lanes.push_back(std::move(lane));
    parts.usual_run_deadline = usual_run_deadline_;
    parts.retry_pause = retry_pause_;
    parts.exclusive = exclusive_;
    parts.driver_cuda = driver_cuda_;
    parts.telemetry = telemetry_;
    parts.leaving_out = absl::Minutes(1);
    parts.baseline_history_file = baseline_history_file_;
    parts.probe_every = absl::Milliseconds(1);
    parts.closed_patience = absl::Milliseconds(1);
    parts.catalog = catalog_;
    parts.provenance = [](const admission::AdmittedBundle&, absl::Time, const StopAsked&) {
      return admission::ProvenanceResult{PROVENANCE_VERIFIED, ""};
    };
    parts.trusted_bundle = [this](absl::string_view sha256) -> absl::StatusOr<std::string> {
      const auto found = trusted_.find(std::string(sha256));
      if (found != trusted_.end()) return found->second;
      return absl::NotFoundError("no such reference");
    };
    pipeline_ = std::make_unique<Pipeline>(std::move(parts));
  }

  static Job MakeJob(const std::string& workload = "gemm_n256_k256/M=64") {
    Job job;
    job.bundle_bytes = admission::ExampleBundle().SerializeAsString();
    job.request.set_bundle_sha256(Sha256Hex(job.bundle_bytes));
    job.request.set_workload(workload);
    job.deadline = absl::Now() + absl::Minutes(2);
    return job;
  }

  Verdict Run(const Job& job) { return pipeline_->Run(job, observer_); }
  Verdict Run() { return Run(MakeJob()); }

  static StageReport::Outcome OutcomeOf(const Verdict& verdict, Stage stage) {
    for (const StageReport& report : verdict.stages()) {
      if (report.stage() == stage) return report.outcome();
    }
    return StageReport::OUTCOME_UNSPECIFIED;
  }

  static sassay::v1::Finding StorePastC() {
    sassay::v1::Finding finding;
    finding.set_code(VERDICT_CODE_OOB_GLOBAL_WRITE);
    finding.set_message("2-byte store 0 bytes past the end of C by gemm");
    finding.mutable_where()->set_kernel("gemm");
    return finding;
  }

  absl::Duration usual_run_deadline_ = absl::Minutes(10), retry_pause_;
  bool exclusive_ = false;
  std::string driver_cuda_;
  telemetry::Hub* telemetry_ = nullptr;
  std::filesystem::path baseline_history_file_;
  const WorkloadCatalog* catalog_ = &WorkloadCatalog::BuiltIn();
  // Bundles that an operator approved, by digest.
  std::map<std::string, std::string> trusted_;
  FakeLane* lane_ = nullptr;
  std::unique_ptr<Pipeline> pipeline_;
  RecordingObserver observer_;
};

inline sassay::worker::RunnerReply StorePastTheEnd(int, Tensors& tensors) {
  evaluate::GemmRows(tensors, 0, 64);
  tensors["C"].data()[tensors["C"].size()] ^= 1;
  return Ended();
}
inline sassay::worker::RunnerReply Zeros(int, Tensors& tensors) {
  std::fill(tensors["C"].begin(), tensors["C"].end(), 0);
  return Ended();
}
inline sassay::worker::RunnerReply Hang(int, Tensors&) {
  return Ended(sassay::worker::RUN_OUTCOME_TIMEOUT, VERDICT_CODE_KERNEL_TIMEOUT, "gemm did not end by its deadline");
}

}  // namespace sassay::pipeline

#endif  // SASSAY_PROFILER_SERVICE_PIPELINE_TESTING_PIPELINE_FIXTURE_H_
