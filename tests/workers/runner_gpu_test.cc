// profiler-runner on a real GPU, as the service uses it: a sandboxed process of its own, memory that belongs to
// another.
#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/time/clock.h"
#include "common/toolchain/toolchain.h"
#include "profiler_service/timing/timing.h"
#include "tests/workers/runner_fixture.h"

namespace sassay::runner {
namespace {

class RunnerGpuTest : public RunnerFixture {
 protected:
  RunnerGpuTest() : RunnerFixture("cuda:0") {}

  void SetUp() override {
    if (const std::string reason = device::cuda::WhyNoGpu(); !reason.empty()) GTEST_SKIP() << reason;
    RunnerFixture::SetUp();
  }

  void ExpectFault(const std::string& kernel, const std::string& arguments, v1::VerdictCode code) {
    const auto reply = Run(BundleLaunching(kernel, arguments));
    ASSERT_TRUE(reply.ok()) << reply.status();
    EXPECT_EQ(reply->outcome(), worker::RUN_OUTCOME_FAULT) << reply->message();
    EXPECT_EQ(v1::VerdictCode_Name(reply->code()), v1::VerdictCode_Name(code)) << reply->message();
    EXPECT_TRUE(absl::StrContains(reply->message(), kernel)) << reply->message();
  }
};

// The fixture's tensors, unchecked.
class OneSet : public timing::TimedSets {
 public:
  OneSet(const std::vector<worker::SharedRegion>& regions, const std::vector<int>& descriptors)
      : sets_{{regions, descriptors}} {}
  absl::Span<const timing::TensorSet> sets() const override { return sets_; }
  std::vector<uint32_t> Take(int calls) override { return std::vector<uint32_t>(static_cast<size_t>(calls), 0); }
  absl::Status Refresh() override { return absl::OkStatus(); }
  absl::Status Check(bool) override { return absl::OkStatus(); }
  const evaluate::MaybeFailure& failure() const override { return failure_; }
  // Nothing is, but a time of which nothing was checked is none.
  uint32_t checked_calls() const override { return 1; }
  int ring() const override { return 1; }
  uint32_t renewed_sets() const override { return 0; }

 private:
  const std::vector<timing::TensorSet> sets_;
  evaluate::MaybeFailure failure_;
};

TEST_F(RunnerGpuTest, WritesIntoMemoryThatBelongsToAnotherProcess) {
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
  EXPECT_GT(reply->device_ns(), 0u);
}

TEST_F(RunnerGpuTest, EndlessKernelIsATimeoutAtItsDeadlineAndTheGpuIsFreeAgain) {
  const absl::Time start = absl::Now();
  const auto reply = Run(BundleLaunching("spins_for_ever", ""), absl::Seconds(1));
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_EQ(reply->outcome(), worker::RUN_OUTCOME_TIMEOUT);
  EXPECT_EQ(reply->code(), v1::VERDICT_CODE_KERNEL_TIMEOUT);
  EXPECT_LT(absl::Now() - start, absl::Seconds(15));
  const auto next = Run(BundleLaunching("add", Pointer(0) + Pointer(0) + Pointer(1) + Int(500), 2, 256));
  ASSERT_TRUE(next.ok()) << next.status();
  EXPECT_EQ(next->outcome(), worker::RUN_OUTCOME_OK) << next->message();
}

TEST_F(RunnerGpuTest, FaultsHaveTheirNames) {
  ExpectFault("stores_far_away", Pointer(1), v1::VERDICT_CODE_ILLEGAL_ADDRESS);
  ExpectFault("stores_misaligned", Pointer(1), v1::VERDICT_CODE_MISALIGNED);
  ExpectFault("fails_an_assert", Int(1), v1::VERDICT_CODE_ASSERT);
}

TEST_F(RunnerGpuTest, TrapIsAFaultOfTheCandidate) {
  const auto reply = Run(BundleLaunching("traps", ""));
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_EQ(reply->outcome(), worker::RUN_OUTCOME_FAULT) << reply->message();
}

TEST_F(RunnerGpuTest, WhatTheKernelPrintsComesBack) {
  const auto reply = Run(BundleLaunching("prints", "", 1, 2));
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_TRUE(absl::StrContains(reply->device_output(), "hello from thread 1")) << reply->device_output();
}

TEST_F(RunnerGpuTest, TimingGivesSamplesAndClocks) {
  const v1::Bundle bundle = BundleLaunching("add", Pointer(0) + Pointer(0) + Pointer(1) + Int(500), 2, 256);
  OneSet sets(regions_, descriptors_);
  timing::TimingRequest request;
  request.device = device_;
  request.bundle = &bundle;
  request.sets = &sets;
  const auto seen = timing::Time(request, *pool_);
  ASSERT_TRUE(seen.ok()) << seen.status();
  const v1::Timing& timing = seen->timing;
  ASSERT_EQ(timing.status(), v1::Timing::MEASURED) << timing.reason();
  EXPECT_GE(timing.candidate().samples_ns_size(), 50);
  EXPECT_GT(timing.candidate().median_ns(), 500.0);
  EXPECT_LT(timing.candidate().median_ns(), 1e6);
  EXPECT_GT(timing.sm_clock_max_mhz(), 0u) << timing.reason();
  EXPECT_GT(timing.candidate_clock_mhz(), 300);
}

TEST_F(RunnerGpuTest, MemcheckNamesTheStorePastTheEnd) {
  const auto toolchain = FindToolchain();
  if (!toolchain.ok() || toolchain->compute_sanitizer.empty()) GTEST_SKIP() << "no compute-sanitizer here";
  v1::Bundle bundle = BundleLaunching("stores_past_the_end", Pointer(1) + Int(kTensorBytes / 2), 2, 512);
  auto& source = *bundle.add_sources();
  source.set_path("test_kernels.cu");
  const auto result = Check(bundle, toolchain->compute_sanitizer);
  ASSERT_TRUE(result.ok()) << result.status();
  ASSERT_EQ(result->report.outcome(), v1::SanitizerReport::FINDINGS) << result->report.reason();
  const v1::Finding& finding = result->report.convicting(0);
  EXPECT_EQ(finding.code(), v1::VERDICT_CODE_OOB_GLOBAL_WRITE);
  EXPECT_EQ(finding.buffer(), "C") << finding.message();
  EXPECT_EQ(finding.distance_bytes(), 0) << finding.message();
  EXPECT_EQ(finding.where().kernel(), "stores_past_the_end");
  EXPECT_TRUE(absl::StartsWith(finding.where().source_line(), "test_kernels.cu:")) << finding.where().source_line();
}

TEST_F(RunnerGpuTest, MemcheckFindsNothingInAGoodKernel) {
  const auto toolchain = FindToolchain();
  if (!toolchain.ok() || toolchain->compute_sanitizer.empty()) GTEST_SKIP() << "no compute-sanitizer here";
  const v1::Bundle bundle = BundleLaunching("add", Pointer(0) + Pointer(0) + Pointer(1) + Int(500), 2, 256);
  const auto result = Check(bundle, toolchain->compute_sanitizer);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->report.outcome(), v1::SanitizerReport::CLEAN) << result->report.reason();
}

}  // namespace
}  // namespace sassay::runner
