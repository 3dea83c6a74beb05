// Candidates that end badly, on a real GPU: their runner dies and is gone from it, the GPU takes a fresh runner, and
// neither the next candidate nor one that runs beside them notices. Prints what it measured, a line that begins with
// "isolation:" for each ending.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <iostream>
#include <thread>

#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "tests/workers/gpu_processes.h"
#include "tests/workers/runner_fixture.h"

namespace sassay::runner {
namespace {

constexpr absl::Duration kSoon = absl::Seconds(1);
constexpr absl::Duration kLong = absl::Seconds(60);

struct Ending {
  const char* kernel;
  std::string arguments;
  int blocks, threads;
  worker::RunOutcome outcome;
};

std::ostream& operator<<(std::ostream& out, const Ending& ending) { return out << ending.kernel; }

class IsolationGpuTest : public RunnerFixture, public testing::WithParamInterface<Ending> {
 protected:
  IsolationGpuTest() : RunnerFixture("cuda:0") {}

  void SetUp() override {
    if (const std::string reason = device::cuda::WhyNoGpu(); !reason.empty()) GTEST_SKIP() << reason;
    RunnerFixture::SetUp();
    pool_->Keep(device_, worker::RUN_MODE_PLAIN, 1);
  }

  std::unique_ptr<wire::RunnerClient> Acquire() {
    auto runner = pool_->Acquire(device_, worker::RUN_MODE_PLAIN, absl::Now() + kLong);
    EXPECT_TRUE(runner.ok()) << runner.status();
    return runner.ok() ? *std::move(runner) : nullptr;
  }

  absl::StatusOr<worker::RunnerReply> Open(wire::RunnerClient& runner, const v1::Bundle& bundle) {
    for (const auto& reply : {runner.Load(bundle, worker::RUN_MODE_PLAIN), runner.Bind(regions_, descriptors_)}) {
      if (!reply.ok() || reply->outcome() != worker::RUN_OUTCOME_OK) return reply;
    }
    return runner.Setup(1, absl::Seconds(20));
  }

  v1::Bundle Honest() { return BundleLaunching("add", Pointer(0) + Pointer(0) + Pointer(1) + Int(500), 2, 256); }

  bool Right(const absl::StatusOr<worker::RunnerReply>& reply) {
    EXPECT_TRUE(reply.ok()) << reply.status();
    EXPECT_TRUE(!reply.ok() || reply->outcome() == worker::RUN_OUTCOME_OK) << reply->message();
    return reply.ok() && reply->outcome() == worker::RUN_OUTCOME_OK && ReadOutput<float>(499) == 2 * kInput;
  }

  void FillInput() {
    const std::vector<float> input(kTensorBytes / 4, kInput);
    ASSERT_TRUE(judge_
                    ->Write(memory_.address + kOffset,
                            absl::MakeSpan(reinterpret_cast<const char*>(input.data()), kTensorBytes))
                    .ok());
  }

  // Which process of the runner's has the context.
  std::set<pid_t> OnTheGpu(const std::set<pid_t>& processes) {
    const auto all = GpuProcesses(judge_->info().uuid);
    EXPECT_TRUE(all.ok()) << all.status();
    std::set<pid_t> ours;
    for (const pid_t pid : processes) {
      if (all.ok() && all->count(pid) != 0) ours.insert(pid);
    }
    return ours;
  }

  absl::Duration UntilGone(const std::set<pid_t>& processes, absl::Time start) {
    while (!OnTheGpu(processes).empty() && absl::Now() - start < kLong) std::this_thread::yield();
    return absl::Now() - start;
  }

  static constexpr float kInput = 3;
};

// A candidate beside: calls one after the other until it is told to end.
class Neighbour {
 public:
  Neighbour(wire::RunnerClient& runner) : thread_([this, &runner] { Run(runner); }) {}
  ~Neighbour() { End(); }
  absl::Duration End() {
    ended_ = true;
    if (thread_.joinable()) thread_.join();
    return longest_;
  }
  int calls() const { return calls_; }
  const std::string& trouble() const { return trouble_; }

 private:
  void Run(wire::RunnerClient& runner) {
    while (!ended_ && trouble_.empty()) {
      const absl::Time begin = absl::Now();
      const auto reply = runner.Steady(2, absl::Seconds(20));
      longest_ = std::max(longest_, absl::Now() - begin);
      if (!reply.ok()) trouble_ = reply.status().ToString();
      if (reply.ok() && reply->outcome() != worker::RUN_OUTCOME_OK) trouble_ = reply->message();
      ++calls_;
    }
  }

  absl::Duration longest_;
  std::string trouble_;
  std::atomic<int> calls_{0};
  std::atomic<bool> ended_{false};
  std::thread thread_;
};

TEST_P(IsolationGpuTest, LeavesTheGpuToOthersAsItWas) {
  const Ending& ending = GetParam();
  FillInput();
  const auto beside = Acquire();
  const auto bad = Acquire();
  ASSERT_TRUE(beside != nullptr && bad != nullptr);
  ASSERT_TRUE(Open(*beside, Honest()).ok());
  const auto opened = Open(*bad, BundleLaunching(ending.kernel, ending.arguments, ending.blocks, ending.threads));
  ASSERT_TRUE(opened.ok()) << opened.status();
  const std::set<pid_t> processes = WithDescendants(bad->process().pid());
  ASSERT_EQ(OnTheGpu(processes).size(), 1u) << "NVML does not show the runner; its pids are of another namespace here";
  auto spare = Acquire();
  ASSERT_NE(spare, nullptr);

  Neighbour neighbour(*beside);
  const auto reply = bad->Steady(2, absl::Seconds(1));
  const absl::Time ended = absl::Now();
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_EQ(worker::RunOutcome_Name(reply->outcome()), worker::RunOutcome_Name(ending.outcome)) << reply->message();
  bad->Kill();
  ASSERT_TRUE(Open(*spare, Honest()).ok());
  EXPECT_TRUE(Right(spare->Steady(2, absl::Seconds(20))));
  const absl::Duration next = absl::Now() - ended;
  const absl::Duration gone = UntilGone(processes, ended);
  const absl::Time probing = absl::Now();
  const absl::Status probe =
      wire::StartRunner(pool_->options(), device_, worker::RUN_MODE_PLAIN, absl::Now() + kLong).status();
  const absl::Duration fresh = absl::Now() - probing;
  const absl::Duration longest = neighbour.End();

  EXPECT_TRUE(probe.ok()) << probe;
  EXPECT_LT(next, kSoon);
  EXPECT_LT(gone, kSoon);
  EXPECT_LT(longest, kSoon);
  EXPECT_EQ(neighbour.trouble(), "");
  EXPECT_GT(neighbour.calls(), 1);
  std::cout << absl::StrFormat(
      "isolation: %-18s next candidate right after %4.0f ms, gone from NVML after %4.0f ms, fresh runner in %4.0f ms, "
      "neighbour's longest of %d calls %4.0f ms\n",
      ending.kernel, absl::ToDoubleMilliseconds(next), absl::ToDoubleMilliseconds(gone),
      absl::ToDoubleMilliseconds(fresh), neighbour.calls(), absl::ToDoubleMilliseconds(longest));
}

INSTANTIATE_TEST_SUITE_P(Endings, IsolationGpuTest,
                         testing::Values(Ending{"spins_for_ever", "", 1, 1, worker::RUN_OUTCOME_TIMEOUT},
                                         Ending{"stores_far_away", Pointer(1), 1, 1, worker::RUN_OUTCOME_FAULT},
                                         Ending{"traps", "", 1, 1, worker::RUN_OUTCOME_FAULT},
                                         Ending{"fails_an_assert", Int(1), 1, 1, worker::RUN_OUTCOME_FAULT},
                                         Ending{"exhausts_the_heap", "", 1, 1, worker::RUN_OUTCOME_FAULT},
                                         Ending{"floods_printf", "", 32, 256, worker::RUN_OUTCOME_OK}),
                         [](const testing::TestParamInfo<Ending>& info) { return std::string(info.param.kernel); });

TEST_F(IsolationGpuTest, WhatAFloodPrintsIsCappedAndSaysSo) {
  const auto reply = Run(BundleLaunching("floods_printf", "", 32, 256));
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_EQ(reply->outcome(), worker::RUN_OUTCOME_OK) << reply->message();
  EXPECT_LE(reply->device_output().size(), wire::RunnerClient::kMaxTextBytes);
  EXPECT_THAT(reply->device_output(), testing::HasSubstr("says a line"));
}

// Twelve runners' worth of memory is asked for by one; the device is no poorer afterwards.
TEST_F(IsolationGpuTest, MemoryThatIsNotThereIsRefusedAndNothingIsKept) {
  v1::Bundle bundle = Honest();
  auto& workspace = *bundle.mutable_plans(0)->add_buffers();
  workspace.set_kind(v1::BUFFER_KIND_CALL_ALLOCATION);
  workspace.set_size_bytes(judge_->info().memory_bytes);
  const auto reply = Run(bundle);
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_NE(reply->outcome(), worker::RUN_OUTCOME_OK);
  EXPECT_THAT(reply->message(), testing::HasSubstr("memory"));
  FillInput();
  EXPECT_TRUE(Right(Run(Honest())));
}

}  // namespace
}  // namespace sassay::runner
