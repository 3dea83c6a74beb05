// Whose fault a fault or a hang is: what must be seen before a candidate, or its digest, is blamed.
#include <thread>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "profiler_service/pipeline/testing/pipeline_fixture.h"

namespace sassay::pipeline {
namespace {

class Blame : public PipelineTest {};

// Every second hang, that of the proof, takes the device with it; it comes back after a while.
TEST_F(Blame, ADigestThatWedgesTwoDevicesAloneIsBarred) {
  std::atomic<int> hangs{0};
  std::atomic<bool> broken{false};
  Build([&](int call, Tensors& tensors) {
    if (++hangs % 2 == 0) broken = true;
    return Hang(call, tensors);
  });
  lane_->probe_ = [&] { return broken.exchange(false) ? absl::UnavailableError("no context") : absl::OkStatus(); };
  EXPECT_EQ(Run().status(), VERDICT_STATUS_TIMEOUT);
  lane_->ExchangeDevice("GPU-2");
  const Verdict second = Run();
  EXPECT_EQ(second.status(), VERDICT_STATUS_TIMEOUT);
  EXPECT_THAT(second.details().notes(), Contains(HasSubstr("GPU-2 takes no runner")));
  const Verdict verdict = Run();
  EXPECT_EQ(verdict.code(), VERDICT_CODE_DIGEST_BARRED);
  EXPECT_THAT(verdict.reason(), HasSubstr("GPU-1 and GPU-2"));
  EXPECT_THAT(observer_.started_.back(), STAGE_ADMISSION);
}

// A driver that is gone, or a neighbour that hangs, says nothing about a digest.
TEST_F(Blame, DeadDevicesBarNobody) {
  std::atomic<bool> dead{false};
  Build([&](int, Tensors&) {
    dead = true;
    return sassay::worker::RunnerReply();  // what a lost runner looks like
  });
  lane_->probe_ = [&] { return dead.exchange(false) ? absl::UnavailableError("no context") : absl::OkStatus(); };
  for (const char* uuid : {"GPU-1", "GPU-2", "GPU-3"}) {
    lane_->ExchangeDevice(uuid);
    const Verdict verdict = Run();
    EXPECT_EQ(verdict.status(), VERDICT_STATUS_INFRA_ERROR);
    EXPECT_EQ(verdict.code(), VERDICT_CODE_RUNNER_LOST);
  }
}

TEST_F(Blame, ADeviceOnWhichNoRunnerComesUpProvesNothing) {
  std::atomic<int> calls{0};
  Build([&](int call, Tensors& tensors) {
    ++calls;
    return Hang(call, tensors);
  });
  Job job = MakeJob();
  job.earlier_devices = {"NVIDIA H200 GPU-7"};
  lane_->probe_ = [] { return absl::UnavailableError("no context"); };
  const Verdict verdict = Run(job);
  EXPECT_EQ(verdict.code(), VERDICT_CODE_DEVICE_LOST) << verdict.reason();
  EXPECT_EQ(calls, 0) << "what failed elsewhere runs alone on a device that was seen well";
}

// The second run that convicts is nobody's neighbour.
TEST_F(Blame, AFaultIsProvenAloneOnTheDevice) {
  absl::Notification neighbour_runs;
  std::atomic<bool> neighbour_ended{false}, alone{true};
  std::atomic<int> faults{0};
  Build([&](int, Tensors&) {
    if (++faults == 2) alone = neighbour_ended.load();
    return evaluate::Ended(sassay::worker::RUN_OUTCOME_FAULT, VERDICT_CODE_ILLEGAL_ADDRESS, "illegal address");
  });
  auto held = lane_->lease().Acquire(DeviceLease::Mode::kShared, 0, absl::InfiniteFuture(), [] { return false; });
  ASSERT_TRUE(held.ok());
  std::thread neighbour([&] {
    while (faults < 1) std::this_thread::yield();
    neighbour_ended = true;
    const auto released = std::move(held);
  });
  EXPECT_EQ(Run().code(), VERDICT_CODE_ILLEGAL_ADDRESS);
  neighbour.join();
  EXPECT_TRUE(alone);
  EXPECT_EQ(faults, 2);
}

// Faults in its first `times` calls.
FakeKernel Faults(std::atomic<int>& calls, int times) {
  return [&calls, times](int call, Tensors& tensors) {
    if (++calls > times) return evaluate::HonestGemm(call, tensors);
    return Ended(sassay::worker::RUN_OUTCOME_FAULT, VERDICT_CODE_ILLEGAL_ADDRESS, "illegal address");
  };
}

TEST_F(Blame, AFaultThatMemcheckNamesIsNotRunAgain) {
  std::atomic<int> calls{0};
  Build(Faults(calls, 9));
  lane_->probe_ = [] { return absl::UnavailableError("nobody asks"); };
  lane_->reports_[sanitize::Tool::kMemcheck].set_outcome(SanitizerReport::FINDINGS);
  *lane_->reports_[sanitize::Tool::kMemcheck].add_convicting() = StorePastC();
  const Verdict verdict = Run();
  EXPECT_EQ(verdict.code(), VERDICT_CODE_OOB_GLOBAL_WRITE) << verdict.reason();
  EXPECT_EQ(verdict.stage(), STAGE_SANITIZE);
  EXPECT_THAT(verdict.details().notes(), Contains(HasSubstr("evaluate saw: illegal address")));
  EXPECT_EQ(OutcomeOf(verdict, STAGE_EVALUATE), StageReport::FAILED);
  EXPECT_EQ(OutcomeOf(verdict, STAGE_SANITIZE), StageReport::FAILED);
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(lane_->sanitized_, 1);
}

TEST_F(Blame, AFaultThatMemcheckDoesNotNameIsRunAgainAndMemcheckIsNot) {
  std::atomic<int> calls{0};
  Build(Faults(calls, 9));
  const Verdict verdict = Run();
  EXPECT_EQ(verdict.code(), VERDICT_CODE_ILLEGAL_ADDRESS) << verdict.reason();
  EXPECT_EQ(calls, 2);
  EXPECT_EQ(lane_->sanitized_, 1);
  EXPECT_EQ(verdict.sanitizers_size(), 1);
}

TEST_F(Blame, WithoutToolsAFaultIsRunAgain) {
  std::atomic<int> calls{0};
  Build(Faults(calls, 9));
  Job job = MakeJob();
  job.request.set_sanitize(SANITIZE_POLICY_NONE);
  EXPECT_EQ(Run(job).code(), VERDICT_CODE_ILLEGAL_ADDRESS);
  EXPECT_EQ(calls, 2);
}

// Nothing of what memcheck said of the fault is left: it did not watch the run that counts.
TEST_F(Blame, AFaultThatDoesNotHappenAgainIsNobodysAndNotDiagnosed) {
  std::atomic<int> calls{0};
  Build(Faults(calls, 1));
  const Verdict verdict = Run();
  EXPECT_EQ(verdict.status(), VERDICT_STATUS_INFRA_ERROR);
  EXPECT_THAT(verdict.reason(), HasSubstr("did not happen again"));
  EXPECT_EQ(verdict.sanitizers_size(), 0);
  EXPECT_EQ(OutcomeOf(verdict, STAGE_SANITIZE), StageReport::SKIPPED);
}

TEST_F(Blame, AKernelThatIsOnlySlowBesideOthersIsCorrect) {
  std::atomic<int> calls{0};
  Build([&](int call, Tensors& tensors) {
    return ++calls == 1 ? Hang(call, tensors) : evaluate::HonestGemm(call, tensors);
  });
  const Verdict verdict = Run();
  EXPECT_EQ(verdict.status(), VERDICT_STATUS_CORRECT) << verdict.reason();
  EXPECT_THAT(verdict.details().notes(), Contains(HasSubstr("run again alone on the device")));
}

}  // namespace
}  // namespace sassay::pipeline
