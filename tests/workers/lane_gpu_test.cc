// A GPU as operators and the monitor act on it, with its real judge and runners. Prints what the canary took, a line
// that begins with "canary:" for each.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <set>
#include <thread>

#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "common/base/files.h"
#include "common/base/sha256.h"
#include "profiler_service/pipeline/service_pipeline.h"
#include "profiler_service/wire/gpu_nodes.h"
#include "tests/workers/gpu_processes.h"

namespace sassay::pipeline {
namespace {

constexpr absl::Duration kLong = absl::Seconds(30);

class LaneGpuTest : public testing::Test {
 protected:
  void SetUp() override {
    if (wire::ListGpuNodes().empty()) GTEST_SKIP() << "no GPU here";
    auto directory = TemporaryDirectory::Create("lane");
    ASSERT_TRUE(directory.ok());
    directory_.emplace(*std::move(directory));
    ServicePipelineOptions options;
    options.devices = {"cuda:0"};
    options.programs = std::getenv("SASSAY_TEST_BIN");
    options.state = directory_->path();
    options.catalog = &WorkloadCatalog::BuiltIn();
    options.allow_unsandboxed = AllowUnsandboxed{"test on a machine without sandbox"};
    options.telemetry = &hub_;
    watcher_ = hub_.Watch(1000, [] {});
    auto service = ServicePipeline::Start(options);
    ASSERT_TRUE(service.ok()) << service.status();
    service_ = *std::move(service);
    gpu_ = service_->gpus().List().front().uuid();
  }

  Gpus& gpus() { return service_->gpus(); }
  sassay::v1::GpuPulse Pulse() { return gpus().Pulses().front(); }

  // Three more: there is a spare for each of three modes.
  bool AwaitSpares() {
    int started = 0;
    for (const absl::Time end = absl::Now() + kLong; started < 3 && absl::Now() < end; std::this_thread::yield()) {
      const auto message = watcher_->Take();
      if (!message.has_value() || !message->has_worker()) continue;
      started +=
          message->worker().kind() == "runner" && message->worker().happening() == sassay::v1::WorkerObserved::STARTED;
    }
    return started == 3;
  }

  absl::StatusOr<sassay::v1::RunCanaryResponse> Canary(const char* when) {
    const absl::Time begin = absl::Now();
    auto response = gpus().RunCanary(gpu_, kLong);
    if (!response.ok()) return response;
    std::cout << absl::StrFormat(
        "canary: %s: tensor %.1f us (%.1f to %.1f) at %.0f MHz, memory %.1f us (%.1f to %.1f); %.0f ms in all\n", when,
        response->tensor().median_ns() / 1e3, response->tensor().min_ns() / 1e3, response->tensor().max_ns() / 1e3,
        response->tensor().sm_clock_mhz(), response->memory().median_ns() / 1e3, response->memory().min_ns() / 1e3,
        response->memory().max_ns() / 1e3, absl::ToDoubleMilliseconds(absl::Now() - begin));
    return response;
  }

  // A bundle of the package that this test travels with; empty if it runs elsewhere.
  static std::string Bundle(const std::string& name) {
    return ReadFile(std::string(std::getenv("SASSAY_TEST_BIN")) + "/../bundles/" + name + ".bundle").value_or("");
  }

  sassay::v1::Verdict Run(const std::string& bundle, const std::string& workload, sassay::v1::Stage stage) {
    class Unheard : public JobObserver {
     public:
      void SeatTaken(absl::string_view) override {}
      void StageStarted(sassay::v1::Stage, absl::string_view) override {}
      void StageFinished(const sassay::v1::StageReport&) override {}
      bool cancelled() const override { return false; }
    } observer;
    Job job;
    job.submission_id = "s";
    job.bundle_bytes = bundle;
    job.request.set_bundle_sha256(Sha256Hex(bundle));
    job.request.set_workload(workload);
    job.request.add_stages(stage);
    job.request.set_sanitize(sassay::v1::SANITIZE_POLICY_NONE);
    job.deadline = absl::Now() + absl::Minutes(1);
    return service_->runner().Run(job, observer);
  }

  telemetry::Hub hub_;
  std::shared_ptr<telemetry::Watcher> watcher_;
  std::optional<TemporaryDirectory> directory_;
  std::unique_ptr<ServicePipeline> service_;
  std::string gpu_;
};

TEST_F(LaneGpuTest, TheCanaryOfAClosedGpuIsThatOfAnOpenOneAlsoAfterARestart) {
  const auto first = Canary("open");
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_GT(first->max_sm_clock_mhz(), 500u);
  ASSERT_TRUE(gpus().Close(gpu_, "to test it").ok());
  const auto closed = Canary("closed");
  ASSERT_TRUE(closed.ok()) << closed.status();
  ASSERT_TRUE(gpus().RestartWorkers(gpu_, "to test it").ok());
  const auto restarted = Canary("restarted");
  ASSERT_TRUE(restarted.ok()) << restarted.status();
  for (const auto& later : {*closed, *restarted}) {
    EXPECT_NEAR(later.tensor().median_ns() / first->tensor().median_ns(), 1, 0.02);
    EXPECT_NEAR(later.memory().median_ns() / first->memory().median_ns(), 1, 0.02);
  }
}

TEST_F(LaneGpuTest, WhoeverIsOnTheGpuIsKnownToBeOurs) {
  ASSERT_TRUE(AwaitSpares());
  const sassay::v1::GpuPulse pulse = Pulse();
  EXPECT_EQ(pulse.judge_silent_ns(), 0u);
  EXPECT_EQ(pulse.runner_overdue_ns(), 0u);
  const auto there = runner::GpuProcesses(gpu_);
  ASSERT_TRUE(there.ok()) << there.status();
  if (there->count(static_cast<pid_t>(pulse.judge_pid())) == 0) {
    GTEST_SKIP() << "NVML counts processes in another namespace here";
  }
  std::set<pid_t> ours(pulse.runner_pids().begin(), pulse.runner_pids().end());
  ours.insert(static_cast<pid_t>(pulse.judge_pid()));
  for (const pid_t pid : *there) EXPECT_EQ(ours.count(pid), 1u) << pid << " has a context there and is not ours";
}

TEST_F(LaneGpuTest, RestartedWorkersLeaveTheGpuAndOthersTakeTheirPlaces) {
  ASSERT_TRUE(AwaitSpares());
  const sassay::v1::GpuPulse before = Pulse();
  const auto ended = gpus().RestartWorkers(gpu_, "to test it");
  ASSERT_TRUE(ended.ok());
  EXPECT_EQ(*ended, 3u);
  ASSERT_TRUE(AwaitSpares());
  const sassay::v1::GpuPulse after = Pulse();
  for (const uint32_t pid : before.runner_pids())
    EXPECT_THAT(after.runner_pids(), testing::Not(testing::Contains(pid)));
  EXPECT_TRUE(Canary("others").ok());
  EXPECT_NE(Pulse().judge_pid(), before.judge_pid());
  EXPECT_EQ(service_->judge_deaths(), 0u);
}

TEST_F(LaneGpuTest, AFaultIsToldWithTheProcessThatTheDriverNamesAndBlamedWhenItHappensAgain) {
  const std::string bundle = Bundle("illegal_address");
  if (bundle.empty()) GTEST_SKIP() << "no bundles/ beside the programs";
  const auto verdict = Run(bundle, "gemm_n256_k256/M=64", sassay::v1::STAGE_EVALUATE);
  EXPECT_EQ(verdict.status(), sassay::v1::VERDICT_STATUS_RUNTIME_ERROR) << verdict.reason();
  std::set<uint32_t> started;
  std::vector<sassay::v1::FaultObserved> faults;
  while (const auto message = watcher_->Take()) {
    if (message->has_fault()) faults.push_back(message->fault());
    if (message->worker().kind() == "runner") started.insert(message->worker().pid());
  }
  ASSERT_EQ(faults.size(), 2u);
  EXPECT_FALSE(faults[0].blamed());
  EXPECT_TRUE(faults[1].blamed());
  EXPECT_NE(faults[0].pid(), faults[1].pid()) << "a fresh runner";
  for (const sassay::v1::FaultObserved& fault : faults) {
    std::cout << "fault: " << sassay::v1::VerdictCode_Name(fault.code()) << " of process " << fault.pid() << "\n";
    EXPECT_EQ(started.count(fault.pid()), 1u);
  }
}

TEST_F(LaneGpuTest, ATimingIsToldWithItsBlocks) {
  const std::string bundle = Bundle("gemm_tiled");
  if (bundle.empty()) GTEST_SKIP() << "no bundles/ beside the programs";
  const auto verdict = Run(bundle, "gemm_n256_k256/M=64", sassay::v1::STAGE_TIMING);
  EXPECT_EQ(verdict.status(), sassay::v1::VERDICT_STATUS_CORRECT) << verdict.reason();
  std::vector<sassay::v1::TimingObserved> timings;
  while (const auto message = watcher_->Take()) {
    if (message->has_timing()) timings.push_back(message->timing());
    EXPECT_FALSE(message->has_fault()) << message->DebugString();
  }
  ASSERT_EQ(timings.size(), 1u);
  std::cout << "timing: " << timings[0].ShortDebugString() << "\n";
  EXPECT_EQ(timings[0].uuid(), gpu_);
  EXPECT_GT(timings[0].blocks(), 0u);
  EXPECT_LE(timings[0].void_blocks(), timings[0].blocks());
}

}  // namespace
}  // namespace sassay::pipeline
