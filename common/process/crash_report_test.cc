#include "common/process/crash_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>

#include "common/base/files.h"

namespace sassay {
namespace {

class CrashReportTest : public testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "fast"); }
  std::filesystem::path path() const { return directory_.path() / "crash_report"; }

  TemporaryDirectory directory_ = *TemporaryDirectory::Create("crash_report_test");
};

void Begin(const std::filesystem::path& path) {
  CatchFatalSignals();
  if (!BeginCrashReport(path).ok()) _exit(9);
}

void Crash(const std::filesystem::path& path) {
  Begin(path);
  std::abort();
}

TEST_F(CrashReportTest, TheFirstProcessFindsNothing) { EXPECT_EQ(*BeginCrashReport(path()), ""); }

TEST_F(CrashReportTest, ACrashIsToldToTheNextProcessOnceAndKept) {
  EXPECT_EXIT(Crash(path()), testing::KilledBySignal(SIGABRT), "SIGABRT");
  EXPECT_THAT(*BeginCrashReport(path()), testing::HasSubstr("SIGABRT"));
  EXPECT_EQ(*BeginCrashReport(path()), "");
  EXPECT_THAT(*ReadFile(path().string() + ".last"), testing::HasSubstr("SIGABRT"));
}

TEST_F(CrashReportTest, AKillLeavesNoReport) {
  EXPECT_EXIT((Begin(path()), kill(getpid(), SIGKILL)), testing::KilledBySignal(SIGKILL), "");
  EXPECT_EQ(*BeginCrashReport(path()), "");
}

TEST_F(CrashReportTest, AnOrderlyEndLeavesNoReport) {
  EXPECT_EXIT((Begin(path()), _exit(0)), testing::ExitedWithCode(0), "");
  EXPECT_EQ(*BeginCrashReport(path()), "");
}

TEST_F(CrashReportTest, APlaceThatCannotBeWrittenIsNamed) {
  const auto begun = BeginCrashReport(directory_.path() / "nowhere" / "crash_report");
  EXPECT_EQ(begun.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(begun.status().message()), testing::HasSubstr("nowhere/crash_report"));
}

}  // namespace
}  // namespace sassay
