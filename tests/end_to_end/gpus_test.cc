// Several GPUs in one service, with their real judges and runners: one is closed, its workers are restarted under load,
// and nothing is lost or blamed on a candidate.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <thread>

#include "absl/synchronization/mutex.h"
#include "common/base/sha256.h"
#include "profiler_service/pipeline/service_pipeline.h"
#include "sassay/v1/control.grpc.pb.h"
#include "tests/end_to_end/service_fixture.h"

namespace sassay::testing {
namespace {

using sassay::v1::Stage;
using sassay::v1::StageReport;
using sassay::v1::Verdict;
using ::testing::HasSubstr;

constexpr char kWorkload[] = "gemm_n256_k256/M=16";
constexpr char kClosed[] = "emulated:sm_90a#1";

// Calls `on_stage` with the job's GPU whenever a stage begins.
class Watching : public JobObserver {
 public:
  explicit Watching(std::function<void(const std::string& gpu, Stage)> on_stage) : on_stage_(std::move(on_stage)) {}
  void SeatTaken(absl::string_view gpu) override { gpu_ = std::string(gpu); }
  void StageStarted(Stage stage, absl::string_view) override { on_stage_(gpu_, stage); }
  void StageFinished(const StageReport&) override {}
  bool cancelled() const override { return false; }
  const std::string& gpu() const { return gpu_; }

 private:
  const std::function<void(const std::string&, Stage)> on_stage_;
  std::string gpu_;
};

class GpusTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto directory = TemporaryDirectory::Create("gpus");
    ASSERT_TRUE(directory.ok());
    directory_.emplace(*std::move(directory));
    const std::string bundle = (directory_->path() / "kernel.bundle").string();
    const AgentResult compiled = RunAgent(
        {"compile", SourcePath("agent/examples/gemm_tiled.cu"), "--workload", kWorkload, "-o", bundle, "--json"});
    ASSERT_EQ(compiled.exit_code, 0) << compiled.stderr_text;
    bundle_ = ReadFile(bundle).value();
    pipeline::ServicePipelineOptions options;
    options.devices.assign(4, "emulated:sm_90a");
    options.programs = SASSAY_PROGRAMS;
    options.state = directory_->path();
    options.catalog = &WorkloadCatalog::BuiltIn();
    options.allow_unsandboxed = AllowUnsandboxed{"test"};
    options.telemetry = &hub_;
    watcher_ = hub_.Watch(100'000, [] {});
    auto service = pipeline::ServicePipeline::Start(options);
    ASSERT_TRUE(service.ok()) << service.status();
    service_ = *std::move(service);
  }

  Verdict Run(Watching& observer, const std::vector<std::string>& earlier = {}) {
    Job job;
    job.submission_id = "s";
    job.bundle_bytes = bundle_;
    job.request.set_bundle_sha256(Sha256Hex(bundle_));
    job.request.set_workload(kWorkload);
    job.deadline = absl::Now() + absl::Minutes(3);
    job.earlier_devices = earlier;
    return service_->runner().Run(job, observer);
  }

  pipeline::Gpus& gpus() { return service_->gpus(); }

  sassay::v1::GpuPulse PulseOf(const std::string& gpu) {
    for (const sassay::v1::GpuPulse& pulse : gpus().Pulses()) {
      if (pulse.uuid() == gpu) return pulse;
    }
    ADD_FAILURE() << "no pulse of " << gpu;
    return {};
  }

  std::optional<TemporaryDirectory> directory_;
  std::string bundle_;
  telemetry::Hub hub_;
  std::shared_ptr<telemetry::Watcher> watcher_;
  std::unique_ptr<pipeline::ServicePipeline> service_;
};

TEST_F(GpusTest, AClosedGpuGetsNoJobUntilItIsOpenAndTheOthersGoOn) {
  ASSERT_EQ(gpus().List().size(), 4u);
  EXPECT_EQ(gpus().List()[1].uuid(), kClosed);
  EXPECT_EQ(gpus().open_seats(), 8u);
  ASSERT_TRUE(gpus().Close(kClosed, "too hot").ok());
  EXPECT_EQ(gpus().open_seats(), 6u);
  absl::Mutex mutex;
  std::set<std::string> used;
  std::vector<std::thread> jobs;
  for (int i = 0; i < 6; ++i) {
    jobs.emplace_back([&] {
      Watching observer([](const std::string&, Stage) {});
      EXPECT_EQ(Run(observer).status(), sassay::v1::VERDICT_STATUS_CORRECT);
      absl::MutexLock lock(&mutex);
      used.insert(observer.gpu());
    });
  }
  for (std::thread& job : jobs) job.join();
  EXPECT_EQ(used.count(kClosed), 0u);
  for (const char* other : {"emulated:sm_90a#0", "emulated:sm_90a#2", "emulated:sm_90a#3"}) {
    ASSERT_TRUE(gpus().Close(other, "it is the other one's turn").ok());
  }
  ASSERT_TRUE(gpus().Open(kClosed).ok());
  Watching observer([](const std::string&, Stage) {});
  EXPECT_EQ(Run(observer).status(), sassay::v1::VERDICT_STATUS_CORRECT);
  EXPECT_EQ(observer.gpu(), kClosed);
  EXPECT_EQ(gpus().RunCanary(kClosed, absl::Seconds(1)).status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(GpusTest, WorkersRestartedUnderLoadLoseAttemptsAndNothingElse) {
  const uint32_t judge = PulseOf(kClosed).judge_pid();
  EXPECT_NE(judge, 0u);
  std::atomic<int> restarts{0}, lost{0}, correct{0};
  const auto restart = [&](const std::string& gpu, Stage stage) {
    const bool under_way = stage == sassay::v1::STAGE_EVALUATE || stage == sassay::v1::STAGE_SANITIZE;
    if (gpu != kClosed || !under_way || restarts >= 3) return;
    ++restarts;
    EXPECT_GE(PulseOf(gpu).running(), 1u);
    EXPECT_TRUE(gpus().RestartWorkers(gpu, "a runner hangs").ok());
  };
  std::vector<std::thread> jobs;
  for (int i = 0; i < 8; ++i) {
    jobs.emplace_back([&] {
      // As the queue would: trouble of ours is tried again.
      for (int attempt = 0; attempt < 8; ++attempt) {
        Watching observer(restart);
        const Verdict verdict = Run(observer);
        if (verdict.status() == sassay::v1::VERDICT_STATUS_CORRECT) {
          ++correct;
          return;
        }
        ++lost;
        EXPECT_EQ(verdict.status(), sassay::v1::VERDICT_STATUS_INFRA_ERROR) << verdict.reason();
        EXPECT_EQ(observer.gpu(), kClosed) << verdict.reason();
        EXPECT_THAT(verdict.reason(), HasSubstr("were restarted: a runner hangs"));
      }
    });
  }
  for (std::thread& job : jobs) job.join();
  EXPECT_EQ(correct, 8);
  EXPECT_GE(restarts, 1);
  EXPECT_GE(lost, restarts);
  EXPECT_EQ(gpus().open_seats(), 8u) << "no device was taken for sick";
  EXPECT_EQ(service_->judge_deaths(), 0u);
  int judges = 0;
  while (const auto message = watcher_->Take()) {
    EXPECT_FALSE(message->has_fault()) << message->DebugString();
    if (!message->has_worker()) continue;
    EXPECT_NE(message->worker().happening(), sassay::v1::WorkerObserved::DIED) << message->DebugString();
    judges += message->worker().kind() == "judge" && message->worker().uuid() == kClosed &&
              message->worker().happening() == sassay::v1::WorkerObserved::STARTED;
  }
  EXPECT_GE(judges, 2);
  EXPECT_LE(judges, 1 + restarts);
  EXPECT_NE(PulseOf(kClosed).judge_pid(), judge);
}

TEST_F(GpusTest, RunnersThatWaitAreKnownAndComeBackAfterTheyWereEnded) {
  const auto await_pids = [&] {
    for (const absl::Time end = absl::Now() + absl::Seconds(60); absl::Now() < end; std::this_thread::yield()) {
      const sassay::v1::GpuPulse pulse = PulseOf(kClosed);
      if (pulse.runner_pids_size() >= 2)
        return std::set<uint32_t>(pulse.runner_pids().begin(), pulse.runner_pids().end());
    }
    return std::set<uint32_t>();
  };
  const std::set<uint32_t> before = await_pids();
  ASSERT_FALSE(before.empty()) << "a spare, and its sandbox";
  EXPECT_EQ(*gpus().RestartWorkers(kClosed, "to see them come back"), 1u);
  const std::set<uint32_t> after = await_pids();
  ASSERT_FALSE(after.empty());
  EXPECT_EQ(PulseOf(kClosed).runner_overdue_ns(), 0u);
  EXPECT_EQ(PulseOf(kClosed).judge_silent_ns(), 0u);
}

// The same from outside: what the monitor does to a GPU whose runner hangs.
TEST(GpusOfAService, WhatRanOnAGpuThatIsPausedAndRestartedIsRunAgainElsewhere) {
  constexpr char kFour[] = "emulated:sm_90a,emulated:sm_90a,emulated:sm_90a,emulated:sm_90a";
  auto service = Service::Start("", {"--device", kFour});
  ASSERT_TRUE(service.ok()) << service.status();
  const std::string& address = (*service)->address();
  std::vector<std::string> ids;
  for (int i = 0; i < 8; ++i) {
    const AgentResult detached =
        RunAgent({"submit", SourcePath("agent/examples/gemm_tiled.cu"), "--workload", "gemm_n256_k256/M=128", "--fresh",
                  "--service", address, "--detach", "--json"});
    ASSERT_TRUE(detached.json.is_object()) << detached.stdout_text << detached.stderr_text;
    ids.push_back(detached.json["submission_id"]);
  }
  const auto control = sassay::v1::Control::NewStub(grpc::CreateChannel(address, grpc::InsecureChannelCredentials()));
  const auto running = [&] {
    grpc::ClientContext context;
    sassay::v1::ListGpusResponse gpus;
    EXPECT_TRUE(control->ListGpus(&context, {}, &gpus).ok());
    EXPECT_EQ(gpus.gpus_size(), 4);
    EXPECT_EQ(gpus.gpus(1).uuid(), kClosed);
    return gpus.gpus(1).running();
  };
  for (const absl::Time end = absl::Now() + absl::Seconds(60); running() == 0 && absl::Now() < end;) {
    std::this_thread::yield();
  }
  sassay::v1::PauseDispatchRequest pause;
  pause.set_uuid(kClosed);
  pause.set_holder("monitor");
  grpc::ClientContext pausing, restarting;
  sassay::v1::PauseDispatchResponse paused;
  ASSERT_TRUE(control->PauseDispatch(&pausing, pause, &paused).ok());
  sassay::v1::RestartWorkersRequest restart;
  restart.set_uuid(kClosed);
  restart.set_reason("a runner hangs");
  sassay::v1::RestartWorkersResponse restarted;
  ASSERT_TRUE(control->RestartWorkers(&restarting, restart, &restarted).ok());
  int again = 0;
  for (const std::string& id : ids) {
    const AgentResult result = RunAgent({"attach", id, "--service", address, "--json"});
    EXPECT_EQ(result.json.value("status", ""), "CORRECT") << result.stdout_text << result.stderr_text;
    again += result.json.value("attempt", 1) > 1;
  }
  EXPECT_GE(again, 1) << "what ran there was lost, and is not the candidate's fault";
  EXPECT_EQ(running(), 0u);
}

}  // namespace
}  // namespace sassay::testing
