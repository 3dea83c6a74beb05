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

}  // namespace
}  // namespace sassay::pipeline
