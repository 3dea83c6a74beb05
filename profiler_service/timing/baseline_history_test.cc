#include "profiler_service/timing/baseline_history.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <memory>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/files.h"

namespace sassay::timing {
namespace {

constexpr double kClock = 1600;

class BaselineHistoryTest : public testing::Test {
 protected:
  void SetUp() override { Restart(); }
  void Restart() { history_ = std::make_unique<BaselineHistory>(path_); }
  void Add(int times, double ns, double clock_mhz = kClock, const std::string& key = "k") {
    for (int i = 0; i < times; ++i) history_->Add(key, ns, clock_mhz);
  }
  std::string Why(double ns, double clock_mhz = kClock, const std::string& key = "k") {
    return SlowerThanBefore(history_->Compare(key, ns, clock_mhz));
  }
  size_t Lines() {
    const std::string content = ReadFile(path_).value();
    return static_cast<size_t>(std::count(content.begin(), content.end(), '\n'));
  }

  const TemporaryDirectory folder_ = *TemporaryDirectory::Create("baseline-history-test");
  const std::filesystem::path path_ = folder_.path() / "baseline_history";
  std::unique_ptr<BaselineHistory> history_;
};

TEST_F(BaselineHistoryTest, BaselineThatIsSlowerByTimeAndByCyclesIsToldWithBothNumbers) {
  Add(20, 700e3);
  const std::string why = Why(1000e3);
  EXPECT_TRUE(absl::StrContains(why, "took 1000.00 us, 1.43 times what it took in its last 20 measurements")) << why;
  EXPECT_TRUE(absl::StrContains(why, "(700.00 us), and 1.43 times their SM cycles")) << why;
}

// Under the power cap a GEMM that takes 0.74 ms at 1580 MHz took 0.82 ms at 1420 MHz (H200): by its clock the same.
TEST_F(BaselineHistoryTest, ClockThatExplainsTheTimeIsNoSlowness) {
  Add(20, 742e3, 1580);
  EXPECT_EQ(Why(950e3, 1580 * 742.0 / 950), "");
}

TEST_F(BaselineHistoryTest, MemoryBoundCallAtAFasterClockTakesMoreCyclesAndIsNotSlower) {
  Add(20, 742e3, 1400);
  EXPECT_EQ(Why(750e3, 1980), "");
}

TEST_F(BaselineHistoryTest, LessThanTheMarginIsNoSlowness) {
  Add(20, 1000);
  EXPECT_EQ(Why(1090), "");
  EXPECT_NE(Why(1110), "");
}

TEST_F(BaselineHistoryTest, AFasterBaselineIsBelieved) {
  Add(20, 1000);
  EXPECT_EQ(Why(500), "");
}

TEST_F(BaselineHistoryTest, WithoutAClockTimeAloneDecidesByAWiderMargin) {
  Add(20, 1000);
  EXPECT_EQ(Why(1250, 0), "");
  EXPECT_NE(Why(1350, 0), "");
  Add(20, 1000, 0);
  EXPECT_EQ(Why(1250), "") << "the remembered ones have no clock";
}

TEST_F(BaselineHistoryTest, AFewMeasurementsSayNothing) {
  EXPECT_EQ(history_->Compare("k", 1000, kClock).measurements(), 0u);
  Add(kFewestRemembered - 1, 1000);
  EXPECT_EQ(Why(5000), "");
  Add(1, 1000);
  EXPECT_NE(Why(5000), "");
}

TEST_F(BaselineHistoryTest, OneThatWasOffDoesNotMoveTheOthers) {
  Add(10, 1000);
  Add(3, 1090);
  Add(2, 300);
  EXPECT_DOUBLE_EQ(history_->Compare("k", 1000, kClock).median_ns(), 1000);
}

TEST_F(BaselineHistoryTest, TheLastTwentyCount) {
  Add(30, 2000);
  Add(20, 1000);
  EXPECT_EQ(history_->Compare("k", 1000, kClock).measurements(), 20u);
  EXPECT_NE(Why(1500), "");
}

TEST_F(BaselineHistoryTest, AnotherGpuDriverWorkloadInputOrAlgorithmIsAnotherHistory) {
  v1::Workload workload, other_size, other_definition;
  workload.set_name("gemm/M=64");
  other_size.set_name("gemm/M=128");
  other_definition.set_name("gemm/M=64");
  other_definition.set_definition_sha256("another");
  v1::BaselineProgram program, other_version, other_algorithm;
  program.set_library("cuBLASLt");
  program.set_version("13.1.0");
  program.set_algorithm("algorithm 66");
  other_version = other_algorithm = program;
  other_version.set_version("13.2.0");
  other_algorithm.set_algorithm("algorithm 67");
  const std::string key = HistoryKey("GPU-1", "580.1", workload, "normal", program);
  EXPECT_EQ(key, HistoryKey("GPU-1", "580.1", workload, "normal", program));
  for (const std::string& other : {HistoryKey("GPU-2", "580.1", workload, "normal", program),
                                   HistoryKey("GPU-1", "590.1", workload, "normal", program),
                                   HistoryKey("GPU-1", "580.1", other_size, "normal", program),
                                   HistoryKey("GPU-1", "580.1", other_definition, "normal", program),
                                   HistoryKey("GPU-1", "580.1", workload, "small", program),
                                   HistoryKey("GPU-1", "580.1", workload, "normal", other_version),
                                   HistoryKey("GPU-1", "580.1", workload, "normal", other_algorithm)}) {
    EXPECT_NE(key, other);
  }
  Add(20, 1000, kClock, key);
  EXPECT_EQ(Why(5000, kClock, HistoryKey("GPU-2", "580.1", workload, "normal", program)), "");
}

TEST_F(BaselineHistoryTest, ARestartForgetsNothing) {
  Add(12, 1000);
  const std::string before = history_->Compare("k", 1234, kClock).SerializeAsString();
  Restart();
  EXPECT_EQ(history_->Compare("k", 1234, kClock).SerializeAsString(), before);
  EXPECT_NE(Why(1500), "");
}

TEST_F(BaselineHistoryTest, ALineThatACrashCutOffIsForgottenAndTheNextOneIsNot) {
  Add(6, 1000);
  std::ofstream(path_, std::ios::app) << R"({"baseline":"k","med)";
  Restart();
  EXPECT_EQ(history_->Compare("k", 1000, kClock).measurements(), 6u);
  Add(1, 1000);
  Restart();
  EXPECT_EQ(history_->Compare("k", 1000, kClock).measurements(), 7u);
}

TEST_F(BaselineHistoryTest, LinesThatAreNoMeasurementsAreForgotten) {
  std::ofstream(path_) << "\n[]\n{}\nnull\n"
                       << R"({"baseline":1,"median_ns":1,"clock_mhz":1})"
                       << "\n"
                       << R"({"baseline":"k","median_ns":-1,"clock_mhz":1})"
                       << "\n"
                       << R"({"baseline":"k","median_ns":"1","clock_mhz":1})"
                       << "\n"
                       << R"({"baseline":"k","median_ns":1e999,"clock_mhz":1})"
                       << "\n"
                       << R"({"baseline":"k","median_ns":1000,"clock_mhz":1600})"
                       << "\n";
  Restart();
  EXPECT_EQ(history_->Compare("k", 1000, kClock).measurements(), 1u);
}

TEST_F(BaselineHistoryTest, TheFileIsRewrittenBeforeItGrowsBeyondReason) {
  for (int i = 0; i < 5000; ++i) history_->Add("k", 1000 + i, kClock);
  EXPECT_LT(Lines(), 4500u);
  const std::string before = history_->Compare("k", 1000, kClock).SerializeAsString();
  Restart();
  EXPECT_EQ(history_->Compare("k", 1000, kClock).SerializeAsString(), before);
}

TEST_F(BaselineHistoryTest, OfManyKeysTheOldestAreForgotten) {
  history_ = std::make_unique<BaselineHistory>();
  for (size_t i = 0; i <= BaselineHistory::kKeys; ++i) Add(1, 1000, kClock, absl::StrCat(i));
  EXPECT_EQ(history_->Compare("0", 1000, kClock).measurements(), 0u);
  EXPECT_EQ(history_->Compare("1", 1000, kClock).measurements(), 1u);
  EXPECT_EQ(history_->Compare(absl::StrCat(BaselineHistory::kKeys), 1000, kClock).measurements(), 1u);
}

TEST_F(BaselineHistoryTest, WhatIsNoTimeIsNotRemembered) {
  Add(5, 0);
  Add(5, std::nan(""));
  Add(5, -3);
  EXPECT_EQ(history_->Compare("k", 1000, kClock).measurements(), 0u);
}

TEST_F(BaselineHistoryTest, AFolderThatIsGoneIsNoFailure) {
  BaselineHistory nowhere(folder_.path() / "gone" / "file");
  for (int i = 0; i < 6; ++i) nowhere.Add("k", 1000, kClock);
  EXPECT_EQ(nowhere.Compare("k", 1000, kClock).measurements(), 6u);
}

}  // namespace
}  // namespace sassay::timing
