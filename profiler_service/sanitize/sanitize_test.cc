#include "profiler_service/sanitize/sanitize.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/base/files.h"
#include "profiler_service/runner/fake_runner.h"

namespace sassay::sanitize {
namespace {

using runner::BundleLaunching;
using runner::FakeRunnerOptions;
using Outcome = v1::SanitizerReport;

class SanitizeTest : public testing::Test {
 protected:
  absl::StatusOr<Sanitization> Run(const std::string& device, const std::string& kernel, const std::string& tool = "",
                                   Tool which = Tool::kMemcheck) {
    bundle_ = BundleLaunching(kernel);
    SanitizeRequest request;
    request.device = device;
    request.bundle = &bundle_;
    request.tool = which;
    request.deadline = absl::Seconds(20);
    request.kill_switch = &kill_switch_;
    request.refill_after_setup = refill_;
    return Sanitize(request, pool_, tool);
  }

  // A program that behaves like compute-sanitizer where we use it: prints `first_words`, runs the runner, then saves
  // `report`, prints `last_words` and ends with `exit_status`.
  std::string Tool(const std::string& report, const std::string& last_words, int exit_status,
                   const std::string& first_words = "") {
    const std::string testdata =
        std::string(std::getenv("SASSAY_TEST_SOURCE")) + "/profiler_service/sanitize/testdata/" + report;
    const auto xml = ReadFile(testdata);
    EXPECT_TRUE(xml.ok()) << xml.status();
    const std::filesystem::path folder = directory_->path() / "toolkit/bin";
    std::filesystem::create_directories(folder);
    const std::string path = folder / "compute-sanitizer";
    std::ofstream(path) << "#!/bin/sh\n"
                           "[ \"$1\" = --version ] && { echo 'Version 2025.3.1.0'; exit 0; }\n"
                           "while [ \"$1\" != --error-exitcode ]; do [ \"$1\" = --save ] && save=$2; shift; done\n"
                           "shift 2\n"
                           "echo '" +
                               first_words +
                               "'\n"
                               "\"$@\"\n"
                               "cat >\"$save\" <<'END'\n"
                        << *xml << "\nEND\necho '" << last_words << "'\nexit " << exit_status << "\n";
    std::filesystem::permissions(path, std::filesystem::perms(0755));
    return path;
  }

  absl::StatusOr<TemporaryDirectory> directory_ = TemporaryDirectory::Create("sanitize_test");
  v1::Bundle bundle_;
  wire::KillSwitch kill_switch_;
  std::function<absl::Status()> refill_;
  wire::RunnerPool pool_{FakeRunnerOptions()};

  void SetUp() override { std::filesystem::permissions(directory_->path(), std::filesystem::perms(0755)); }
};

TEST_F(SanitizeTest, CleanEmulatedRunIsClean) {
  const auto result = Run("emulated:sm_90a", "good");
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->report.outcome(), Outcome::CLEAN) << result->report.reason();
  EXPECT_EQ(result->report.tool(), "emulator");
}

TEST_F(SanitizeTest, WhatTheEmulatorFindsConvicts) {
  const auto result = Run("emulated:sm_90a", "writes_outside");
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->report.outcome(), Outcome::FINDINGS);
  EXPECT_EQ(result->report.reason(), "write of 2 bytes past C");
}

TEST_F(SanitizeTest, FailureWithoutAFindingIsNeitherCleanNorGuilty) {
  for (const char* kernel : {"fails", "times_out", "crashes"}) {
    const auto result = Run("emulated:sm_90a", kernel);
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_EQ(result->report.outcome(), Outcome::UNAVAILABLE) << kernel;
    EXPECT_FALSE(result->report.reason().empty()) << kernel;
  }
}

TEST_F(SanitizeTest, ALostRunnerIsToldFromARunThatEndedBadly) {
  EXPECT_TRUE(Run("emulated:sm_90a", "crashes")->lost);
  EXPECT_FALSE(Run("emulated:sm_90a", "fails")->lost);
  EXPECT_FALSE(Run("emulated:sm_90a", "times_out")->lost);
  refill_ = [] { return absl::UnavailableError("the judge was lost"); };
  EXPECT_TRUE(Run("emulated:sm_90a", "good")->lost);
}

TEST_F(SanitizeTest, InputsAreReplacedBetweenSetupAndCall) {
  int refills = 0;
  refill_ = [&] {
    ++refills;
    return absl::OkStatus();
  };
  ASSERT_TRUE(Run("emulated:sm_90a", "good").ok());
  EXPECT_EQ(refills, 1);
}

TEST_F(SanitizeTest, MissingToolIsUnavailableAndSaysHowToGetIt) {
  const auto result = Run("cuda:0", "good");
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->report.outcome(), Outcome::UNAVAILABLE);
  EXPECT_TRUE(absl::StrContains(result->report.reason(), "compute-sanitizer was not found")) << result->report.reason();
}

TEST_F(SanitizeTest, MemcheckFindingInGlobalMemoryConvicts) {
  const auto result =
      Run("cuda:0", "fails", Tool("memcheck_out_of_bounds.xml", "========= ERROR SUMMARY: 2 errors", 33));
  ASSERT_TRUE(result.ok()) << result.status();
  ASSERT_EQ(result->report.outcome(), Outcome::FINDINGS) << result->report.reason();
  EXPECT_EQ(result->report.convicting(0).code(), v1::VERDICT_CODE_OOB_GLOBAL_WRITE);
  EXPECT_EQ(result->report.version(), "2025.3.1.0");
}

TEST_F(SanitizeTest, CleanMemcheckIsClean) {
  const auto result = Run("cuda:0", "good", Tool("memcheck_clean.xml", "========= ERROR SUMMARY: 0 errors", 0));
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->report.outcome(), Outcome::CLEAN) << result->report.reason();
}

TEST_F(SanitizeTest, TrapUnderTheToolOnlyAdvises) {
  const auto result = Run("cuda:0", "fails", Tool("memcheck_trap.xml", "========= ERROR SUMMARY: 2 errors", 33));
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->report.outcome(), Outcome::UNAVAILABLE);
  EXPECT_EQ(result->report.advisory(0).code(), v1::VERDICT_CODE_TRAP);
}

TEST_F(SanitizeTest, ToolThatDidNotRunToItsEndIsNeverClean) {
  const struct {
    const char* last_words;
    int exit_status;
  } broken[] = {{"========= COMPUTE-SANITIZER", 0},
                {"========= ERROR SUMMARY: 0 errors", 1},
                {"========= ERROR SUMMARY: 0 errors", 127},
                {"========= ERROR SUMMARY: 3 errors", 33},
                {"========= ERROR SUMMARY: 0 errors", 33}};
  for (const auto& row : broken) {
    const auto result = Run("cuda:0", "good", Tool("memcheck_clean.xml", row.last_words, row.exit_status));
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_EQ(result->report.outcome(), Outcome::UNAVAILABLE) << row.last_words << ", status " << row.exit_status;
    EXPECT_FALSE(result->report.reason().empty());
  }
}

TEST_F(SanitizeTest, WhatMemcheckFoundBeforeItWasLateOrLostConvicts) {
  const std::string found =
      "========= Invalid __global__ write of size 4 bytes\n=========     at flood+0x140 in x.cu:9\n"
      "=========     by thread (1,0,0) in block (8,0,0)\n=========     Access to 0x10 is out of bounds\n";
  for (const char* kernel : {"times_out", "crashes"}) {
    const auto result = Run("cuda:0", kernel, Tool("memcheck_clean.xml", "", 0, found));
    ASSERT_TRUE(result.ok()) << result.status();
    ASSERT_EQ(result->report.outcome(), Outcome::FINDINGS) << kernel;
    EXPECT_EQ(result->report.convicting(0).code(), v1::VERDICT_CODE_OOB_GLOBAL_WRITE);
    EXPECT_FALSE(result->lost) << "another attempt would meet the same";
    EXPECT_TRUE(absl::StrContains(result->report.reason(), "had not ended")) << result->report.reason();
  }
}

TEST_F(SanitizeTest, WhatOtherToolsFoundBeforeTheyWereLateIsUnavailable) {
  const std::string found =
      "========= Invalid __global__ write of size 4 bytes\n=========     Access to 0x10 is out of bounds\n";
  const auto result = Run("cuda:0", "times_out", Tool("memcheck_clean.xml", "", 0, found), sanitize::Tool::kInitcheck);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->report.outcome(), Outcome::UNAVAILABLE);
}

TEST(LongestRunTest, IsAMultipleOfThePlainRunUpToALimit) {
  EXPECT_EQ(LongestRun(Tool::kMemcheck, absl::ZeroDuration()), absl::Seconds(20));
  EXPECT_EQ(LongestRun(Tool::kMemcheck, absl::Milliseconds(5)), absl::Seconds(25));
  EXPECT_EQ(LongestRun(Tool::kMemcheck, absl::Seconds(5)), absl::Minutes(1));
  EXPECT_EQ(LongestRun(Tool::kRacecheck, absl::Seconds(5)), absl::Minutes(2));
}

TEST_F(SanitizeTest, CancellationEndsTheStage) {
  refill_ = [&] {
    kill_switch_.Pull();
    return absl::OkStatus();
  };
  EXPECT_EQ(Run("emulated:sm_90a", "never_ends").status().code(), absl::StatusCode::kCancelled);
}

}  // namespace
}  // namespace sassay::sanitize
