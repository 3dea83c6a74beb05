// Sanitizers and diagnoses on a real GPU: the tools themselves, on runners as the service starts them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/toolchain/vendor_libraries.h"
#include "profiler_service/diagnose/core_dump.h"
#include "profiler_service/diagnose/ncu.h"
#include "tests/workers/runner_fixture.h"

namespace sassay::runner {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class DiagnoseGpuTest : public RunnerFixture {
 protected:
  DiagnoseGpuTest() : RunnerFixture("cuda:0") {}

  void SetUp() override {
    if (const std::string reason = device::cuda::WhyNoGpu(); !reason.empty()) GTEST_SKIP() << reason;
    RunnerFixture::SetUp();
  }

  // With the source's name, so that lines are told.
  v1::Bundle Launching(const std::string& kernel, const std::string& arguments, int blocks = 1, int threads = 1) {
    v1::Bundle bundle = BundleLaunching(kernel, arguments, blocks, threads);
    bundle.add_sources()->set_path("test_kernels.cu");
    return bundle;
  }

  v1::SanitizerReport Sanitize(sanitize::Tool tool, const v1::Bundle& bundle) {
    sanitize::SanitizeRequest request;
    Fill(request, bundle);
    request.tool = tool;
    const auto result = sanitize::Sanitize(request, *pool_, FindVendorTool("compute-sanitizer").value_or(""));
    EXPECT_TRUE(result.ok()) << result.status();
    return result.ok() ? result->report : v1::SanitizerReport();
  }

  void Fill(wire::CandidateRun& run, const v1::Bundle& bundle) {
    run.device = device_;
    run.bundle = &bundle;
    run.regions = regions_;
    run.descriptors = descriptors_;
    run.deadline = absl::Seconds(20);
  }

  diagnose::Diagnosed Debug(const v1::Bundle& bundle) {
    wire::CandidateRun run;
    Fill(run, bundle);
    run.deadline = absl::Seconds(2);
    auto diagnosed = diagnose::DebugFault(
        run, *pool_, {FindVendorTool("cuda-gdb").value_or(""), FindVendorTool("compute-sanitizer").value_or("")});
    EXPECT_TRUE(diagnosed.ok()) << diagnosed.status();
    return diagnosed.ok() ? *std::move(diagnosed) : diagnose::Diagnosed();
  }

  static bool Has(const char* tool) { return FindVendorTool(tool).ok(); }
};

TEST_F(DiagnoseGpuTest, EveryToolIsContentWithAGoodKernel) {
  if (!Has("compute-sanitizer")) GTEST_SKIP() << "no compute-sanitizer here";
  const v1::Bundle good = Launching("add", Pointer(0) + Pointer(0) + Pointer(1) + Int(500), 2, 256);
  for (const sanitize::Tool tool : sanitize::ToolsOf(v1::SANITIZE_POLICY_FULL)) {
    const v1::SanitizerReport report = Sanitize(tool, good);
    EXPECT_EQ(report.outcome(), v1::SanitizerReport::CLEAN) << report.ShortDebugString();
    EXPECT_NE(report.version(), "");
  }
}

TEST_F(DiagnoseGpuTest, RacecheckNamesBothLinesOfARace) {
  if (!Has("compute-sanitizer")) GTEST_SKIP() << "no compute-sanitizer here";
  const v1::SanitizerReport report = Sanitize(sanitize::Tool::kRacecheck, Launching("races", Pointer(1), 1, 256));
  ASSERT_EQ(report.advisory_size(), 1) << report.ShortDebugString();
  EXPECT_EQ(report.advisory(0).code(), v1::VERDICT_CODE_SHARED_RACE);
  EXPECT_EQ(report.advisory(0).where().kernel(), "races");
  EXPECT_THAT(report.advisory(0).where().source_line(), StartsWith("test_kernels.cu:"));
  EXPECT_TRUE(report.convicting().empty());
}

TEST_F(DiagnoseGpuTest, InitcheckSeesThroughPoisonAndKnowsInputs) {
  if (!Has("compute-sanitizer")) GTEST_SKIP() << "no compute-sanitizer here";
  // Reads A, which the judge filled, and C, which only poison did.
  const v1::SanitizerReport report =
      Sanitize(sanitize::Tool::kInitcheck, Launching("add", Pointer(0) + Pointer(1) + Pointer(1) + Int(500), 2, 256));
  ASSERT_EQ(report.advisory_size(), 1) << report.ShortDebugString();
  EXPECT_EQ(report.advisory(0).code(), v1::VERDICT_CODE_UNINITIALIZED_READ);
  EXPECT_EQ(report.advisory(0).buffer(), "C");
}

TEST_F(DiagnoseGpuTest, SynccheckNamesABarrierWithoutItsCaller) {
  if (!Has("compute-sanitizer")) GTEST_SKIP() << "no compute-sanitizer here";
  const v1::SanitizerReport report =
      Sanitize(sanitize::Tool::kSynccheck, Launching("syncs_without_itself", Pointer(1), 1, 32));
  ASSERT_GE(report.advisory_size(), 1) << report.ShortDebugString();
  EXPECT_EQ(report.advisory(0).code(), v1::VERDICT_CODE_BARRIER_MISUSE);
  EXPECT_EQ(report.advisory(0).where().kernel(), "syncs_without_itself");
}

TEST_F(DiagnoseGpuTest, NsightComputeMeasuresTheLaunch) {
  if (!Has("ncu")) GTEST_SKIP() << "no ncu here";
  const v1::Bundle bundle = Launching("add", Pointer(0) + Pointer(0) + Pointer(1) + Int(500), 2, 256);
  wire::CandidateRun run;
  Fill(run, bundle);
  const auto diagnosed = diagnose::ProfileWithNcu(run, *pool_, *FindVendorTool("ncu"));
  ASSERT_TRUE(diagnosed.ok()) << diagnosed.status();
  ASSERT_EQ(diagnosed->report.outcome(), v1::DiagnosisReport::DONE) << diagnosed->report.reason();
  ASSERT_EQ(diagnosed->report.summary_size(), 1);
  EXPECT_THAT(diagnosed->report.summary(0), StartsWith("add, launch 0: "));
  EXPECT_THAT(diagnosed->report.summary(0), HasSubstr("occupancy"));
  EXPECT_GT(diagnosed->files.at(0).bytes.size(), 10'000u);
}

TEST_F(DiagnoseGpuTest, AFaultIsToldWithItsLine) {
  if (!Has("cuda-gdb")) GTEST_SKIP() << "no cuda-gdb here";
  const diagnose::Diagnosed diagnosed = Debug(Launching("stores_misaligned", Pointer(1)));
  ASSERT_EQ(diagnosed.report.outcome(), v1::DiagnosisReport::DONE) << diagnosed.report.reason();
  EXPECT_EQ(diagnosed.report.reason(), "Warp Misaligned Address");
  EXPECT_EQ(diagnosed.warps.at(0).where().kernel(), "stores_misaligned");
  EXPECT_THAT(diagnosed.warps.at(0).where().source_line(), StartsWith("test_kernels.cu:"));
}

TEST_F(DiagnoseGpuTest, AHangTellsWhoWaitsAndWhoRuns) {
  if (!Has("cuda-gdb")) GTEST_SKIP() << "no cuda-gdb here";
  const diagnose::Diagnosed diagnosed = Debug(Launching("waits_for_nobody", Pointer(1), 4, 128));
  ASSERT_EQ(diagnosed.report.outcome(), v1::DiagnosisReport::DONE) << diagnosed.report.reason();
  std::map<std::string, uint64_t> states;
  for (const v1::WarpState& warp : diagnosed.warps) states[warp.state()] += warp.count();
  EXPECT_EQ(states["waiting at a barrier"], 4u);
  EXPECT_EQ(states["running"], 12u);
  for (const v1::WarpState& warp : diagnosed.warps) {
    EXPECT_EQ(warp.where().kernel(), "waits_for_nobody");
    EXPECT_NE(warp.sass(), "");
  }
}

}  // namespace
}  // namespace sassay::runner
