#include "profiler_service/diagnose/ncu_csv.h"

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "profiler_service/diagnose/testing.h"

namespace sassay::diagnose {
namespace {

using testing::HasSubstr;

TEST(NcuCsv, MetricsHaveKernelLaunchSectionUnitAndPlainNumbers) {
  v1::DiagnosisReport report;
  ASSERT_TRUE(ReadNcuCsv(Recorded("ncu_details.csv"), report).ok());
  ASSERT_GT(report.metrics_size(), 30);
  const v1::Metric& cycles = report.metrics(2);
  EXPECT_EQ(cycles.kernel(), "race");
  EXPECT_EQ(cycles.launch(), 0u);
  EXPECT_EQ(cycles.section(), "GPU Speed Of Light Throughput");
  EXPECT_EQ(cycles.name(), "Elapsed Cycles");
  EXPECT_EQ(cycles.unit(), "cycle");
  EXPECT_EQ(cycles.value(), "3179") << "without thousands separators";
}

TEST(NcuCsv, TheSummaryIsOneLinePerLaunch) {
  v1::DiagnosisReport report;
  ASSERT_TRUE(ReadNcuCsv(Recorded("ncu_details.csv"), report).ok());
  ASSERT_EQ(report.summary_size(), 1);
  EXPECT_EQ(report.summary(0),
            "race, launch 0: memory 0.64 %, takes 1.66 us, compute 0.02 %, no eligible warp 93.93 %, "
            "occupancy 11.43 %");
}

TEST(NcuCsv, OnlyAdviceThatPromisesSomethingIsKept) {
  v1::DiagnosisReport report;
  ASSERT_TRUE(ReadNcuCsv(Recorded("ncu_details.csv"), report).ok());
  ASSERT_GT(report.advice_size(), 0);
  EXPECT_EQ(report.advice(0).rule(), "SOLBottleneck");
  EXPECT_THAT(report.advice(0).text(), HasSubstr("grid is too small"));
  for (const v1::Advice& advice : report.advice()) EXPECT_NE(advice.rule(), "CPIStall");
}

TEST(NcuCsv, LaunchesAreCountedFromZeroWhateverTheToolCallsThem) {
  v1::DiagnosisReport report;
  ASSERT_TRUE(ReadNcuCsv("==PROF== Connected\n\"ID\",\"Kernel Name\",\"Metric Name\",\"Metric Value\"\n"
                         "\"4\",\"a\",\"Duration\",\"1\"\n\"9\",\"b\",\"Duration\",\"2\"\n",
                         report)
                  .ok());
  EXPECT_EQ(report.metrics(0).launch(), 0u);
  EXPECT_EQ(report.metrics(1).launch(), 1u);
}

TEST(NcuCsv, WhatIsNoPageIsDataLossAndAnEmptyOneIsNotFound) {
  v1::DiagnosisReport report;
  EXPECT_EQ(ReadNcuCsv("==ERROR== nothing", report).code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(ReadNcuCsv("", report).code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(ReadNcuCsv("\"ID\",\"Kernel Name\"\n", report).code(), absl::StatusCode::kNotFound);
}

TEST(NcuCsv, ALongNameIsToldShortly) {
  std::string symbol = "_Z4gemmI8UnrolledISt16integer_sequenceIiJ";
  for (int i = 0; i < 2560; ++i) absl::StrAppend(&symbol, "Li", i, "E");
  symbol += "EEEEvPKfPf";
  v1::DiagnosisReport report;
  ASSERT_TRUE(ReadNcuCsv(absl::StrCat("\"ID\",\"Kernel Name\",\"Metric Name\",\"Metric Value\"\n\"0\",\"", symbol,
                                      "\",\"Duration\",\"1\"\n"),
                         report)
                  .ok());
  EXPECT_THAT(report.metrics(0).kernel(), HasSubstr("gemm"));
  EXPECT_LE(report.metrics(0).kernel().size(), 200u);
}

TEST(NcuCsv, AFloodIsBounded) {
  std::string csv = "\"ID\",\"Kernel Name\",\"Metric Name\",\"Rule Type\",\"Rule Description\"\n";
  for (int i = 0; i < 2000; ++i)
    absl::StrAppend(&csv, "\"", i, "\",\"k\",\"m\",\"OPT\",\"", std::string(5000, 'x'), "\"\n");
  v1::DiagnosisReport report;
  ASSERT_TRUE(ReadNcuCsv(csv, report).ok());
  EXPECT_EQ(report.metrics_size(), kMaxMetrics);
  EXPECT_EQ(report.advice_size(), kMaxAdvice);
  EXPECT_LE(report.advice(0).text().size(), 1000u);
}

}  // namespace
}  // namespace sassay::diagnose
