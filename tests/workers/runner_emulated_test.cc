// profiler-runner on the emulated device, as the service uses it on machines without a GPU.
#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/time/clock.h"
#include "tests/workers/runner_fixture.h"

namespace sassay::runner {
namespace {

class RunnerEmulatedTest : public RunnerFixture {
 protected:
  RunnerEmulatedTest() : RunnerFixture("emulated:sm_90a") {}
};

TEST_F(RunnerEmulatedTest, WritesIntoMemoryThatBelongsToAnotherProcess) {
  std::vector<float> input(kTensorBytes / 4, 3.0f);
  ASSERT_TRUE(
      judge_
          ->Write(memory_.address + kOffset, absl::MakeSpan(reinterpret_cast<const char*>(input.data()), kTensorBytes))
          .ok());
  const auto reply = Run(BundleLaunching("add", Pointer(0) + Pointer(0) + Pointer(1) + Int(500), 2, 256));
  ASSERT_TRUE(reply.ok()) << reply.status();
  ASSERT_EQ(reply->outcome(), worker::RUN_OUTCOME_OK) << reply->message();
  EXPECT_EQ(ReadOutput<float>(0), 6.0f);
  EXPECT_EQ(ReadOutput<float>(499), 6.0f);
}

TEST_F(RunnerEmulatedTest, EndlessKernelIsATimeoutAtItsDeadline) {
  const auto reply = Run(BundleLaunching("spins_for_ever", ""), absl::Milliseconds(200));
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_EQ(reply->outcome(), worker::RUN_OUTCOME_TIMEOUT) << reply->message();
  EXPECT_GT(reply->warps_size(), 0) << "where the warps stood is not told";
}

TEST_F(RunnerEmulatedTest, ARunnerThatWaitsProvesThatItsDeviceWorks) {
  pool_->Keep(device_, worker::RUN_MODE_PLAIN, 1);
  ASSERT_TRUE(pool_->AwaitSpareForTest(device_, worker::RUN_MODE_PLAIN, SteadyNow() + absl::Seconds(60)));
  EXPECT_TRUE(pool_->Confirm(device_, worker::RUN_MODE_PLAIN, SteadyNow() + absl::Seconds(60)).ok());
  EXPECT_EQ(pool_->started().Total(worker::RUN_MODE_PLAIN), 1u);
}

TEST_F(RunnerEmulatedTest, TheEndOfTheProcessItselfIsSeen) {
  auto runner = pool_->Acquire(device_, worker::RUN_MODE_PLAIN, SteadyNow() + absl::Seconds(60));
  ASSERT_TRUE(runner.ok()) << runner.status();
  EXPECT_TRUE((*runner)->KillAndAwaitEnd(SteadyNow() + absl::Seconds(60)));
}

TEST_F(RunnerEmulatedTest, StoreFarAwayIsAFault) {
  const auto reply = Run(BundleLaunching("stores_far_away", Pointer(1)));
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_EQ(reply->outcome(), worker::RUN_OUTCOME_FAULT) << reply->message();
}

TEST_F(RunnerEmulatedTest, WhatTheKernelPrintsComesBack) {
  const auto reply = Run(BundleLaunching("prints", "", 1, 2));
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_TRUE(absl::StrContains(reply->device_output(), "hello from thread 1")) << reply->device_output();
}

TEST_F(RunnerEmulatedTest, ChecksNameTheStorePastTheEnd) {
  const auto result = Check(BundleLaunching("stores_past_the_end", Pointer(1) + Int(kTensorBytes / 2), 2, 512), "");
  ASSERT_TRUE(result.ok()) << result.status();
  ASSERT_EQ(result->report.outcome(), v1::SanitizerReport::FINDINGS) << result->report.reason();
  const v1::Finding& finding = result->report.convicting(0);
  EXPECT_EQ(finding.code(), v1::VERDICT_CODE_OOB_GLOBAL_WRITE);
  EXPECT_EQ(finding.buffer(), "C") << finding.message();
  EXPECT_EQ(finding.distance_bytes(), 0) << finding.message();
}

TEST_F(RunnerEmulatedTest, ChecksFindNothingInAGoodKernel) {
  const auto result = Check(BundleLaunching("add", Pointer(0) + Pointer(0) + Pointer(1) + Int(500), 2, 256), "");
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->report.outcome(), v1::SanitizerReport::CLEAN) << result->report.reason();
}

}  // namespace
}  // namespace sassay::runner
