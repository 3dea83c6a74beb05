#include "profiler_service/sanitize/report.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "common/base/files.h"
#include "google/protobuf/text_format.h"

namespace sassay::sanitize {
namespace {

std::string Recorded(const std::string& name) {
  const std::string root = std::getenv("SASSAY_TEST_SOURCE");
  auto content = ReadFile(root + "/profiler_service/sanitize/testdata/" + name);
  EXPECT_TRUE(content.ok()) << content.status();
  return content.value_or("");
}

v1::Bundle Bundle() {
  v1::Bundle bundle;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
      R"pb(kernels { symbol: "_Z10store_pastPsi" name: "store_past(short*, int)" }
           kernels { symbol: "_Z5trapkv" name: "trapk()" }
           sources { path: "oob.cu" content: "one\ntwo\nthree\n  p[i] = 1;  // past\nfive\n" })pb",
      &bundle));
  return bundle;
}

worker::Placement At(const std::string& buffer, uint64_t address, uint64_t size) {
  worker::Placement placement;
  placement.set_buffer(buffer);
  placement.set_address(address);
  placement.set_size_bytes(size);
  return placement;
}

TEST(Report, StorePastTheEndNamesKernelThreadLineAndBuffer) {
  const auto report = ParseReport(Recorded("memcheck_out_of_bounds.xml"),
                                  {At("A", 0x7f13fa000000, 2000), At("C", 0x7f13fa800000, 2000)}, Bundle());
  ASSERT_TRUE(report.ok()) << report.status();
  ASSERT_EQ(report->convicting.size(), 1u);
  EXPECT_TRUE(report->advisory.empty()) << "the API error that follows is not a finding of its own";
  const v1::Finding& finding = report->convicting[0];
  EXPECT_EQ(finding.code(), v1::VERDICT_CODE_OOB_GLOBAL_WRITE);
  EXPECT_EQ(finding.where().kernel(), "_Z10store_pastPsi");
  EXPECT_EQ(finding.where().thread().x(), 488u);
  EXPECT_EQ(finding.where().block().x(), 1u);
  EXPECT_EQ(finding.where().source_line(), "oob.cu:4");
  EXPECT_EQ(finding.where().source_text(), "p[i] = 1;  // past");
  EXPECT_EQ(finding.buffer(), "C");
  EXPECT_EQ(finding.distance_bytes(), 0) << "the first byte past the end";
  EXPECT_EQ(finding.access_bytes(), 2u);
  EXPECT_EQ(finding.message(),
            "__global__ write of 2 bytes is out of bounds 0 bytes past the end of C (2000 bytes), by thread (488,0,0) "
            "of block (1,0,0) in store_past at oob.cu:4");
}

TEST(Report, DistanceIsNegativeBeforeABufferAndTheNearestBufferIsMeant) {
  const auto report = ParseReport(Recorded("memcheck_out_of_bounds.xml"),
                                  {At("far", 0x7f13fa000000, 2000), At("near", 0x7f13fa8007d0 + 12, 64)}, Bundle());
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->convicting.at(0).buffer(), "near");
  EXPECT_EQ(report->convicting.at(0).distance_bytes(), -12);
}

TEST(Report, WithoutPlacementsTheFindingStandsWithoutABuffer) {
  const auto report = ParseReport(Recorded("memcheck_out_of_bounds.xml"), {}, Bundle());
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->convicting.at(0).buffer(), "");
}

TEST(Report, EqualFindingsOfManyThreadsAreOneWithACount) {
  const auto report = ParseReport(Recorded("memcheck_misaligned.xml"), {At("C", 0x7ff044800000, 2000)}, Bundle());
  ASSERT_TRUE(report.ok()) << report.status();
  ASSERT_EQ(report->convicting.size(), 1u);
  EXPECT_EQ(report->convicting[0].code(), v1::VERDICT_CODE_MISALIGNED);
  EXPECT_EQ(report->convicting[0].count(), 5u);
  EXPECT_EQ(report->convicting[0].where().thread().x(), 0u);
}

TEST(Report, TrapsAndRacesAdviseAndDoNotConvict) {
  const auto trap = ParseReport(Recorded("memcheck_trap.xml"), {}, Bundle());
  ASSERT_TRUE(trap.ok());
  EXPECT_TRUE(trap->convicting.empty());
  EXPECT_EQ(trap->advisory.at(0).code(), v1::VERDICT_CODE_TRAP);
  EXPECT_EQ(trap->advisory.at(0).where().kernel(), "_Z5trapkv");
  const auto race = ParseReport(Recorded("racecheck_race.xml"), {}, Bundle());
  ASSERT_TRUE(race.ok());
  EXPECT_TRUE(race->convicting.empty());
  EXPECT_EQ(race->advisory.at(0).code(), v1::VERDICT_CODE_SHARED_RACE);
  EXPECT_EQ(race->advisory.at(0).count(), 256u);
  EXPECT_EQ(race->advisory.at(0).other().source_line(), "oob.cu:6");
}

TEST(Report, CleanRunHasNoFindings) {
  const auto report = ParseReport(Recorded("memcheck_clean.xml"), {}, Bundle());
  ASSERT_TRUE(report.ok());
  EXPECT_TRUE(report->convicting.empty());
  EXPECT_TRUE(report->advisory.empty());
}

TEST(Report, WhatIsNoReportIsDataLossAndNeverClean) {
  const std::string whole = Recorded("memcheck_out_of_bounds.xml");
  for (const std::string& bad :
       {std::string(), std::string("<html/>"), std::string("PASSED"), whole.substr(0, whole.size() / 2)}) {
    EXPECT_EQ(ParseReport(bad, {}, Bundle()).status().code(), absl::StatusCode::kDataLoss) << bad.size();
  }
}

TEST(Summary, CountsErrorsAndItsAbsenceIsNotZero) {
  EXPECT_EQ(*ParseSummary("========= COMPUTE-SANITIZER\n========= ERROR SUMMARY: 0 errors\n"), 0u);
  EXPECT_EQ(*ParseSummary("========= ERROR SUMMARY: 33 errors\n========= ERROR SUMMARY: 28 errors were not printed.\n"),
            33u);
  EXPECT_EQ(*ParseSummary("========= ERROR SUMMARY: 1 error\n"), 1u);
  EXPECT_EQ(ParseSummary("========= COMPUTE-SANITIZER\n").status().code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(ParseSummary("ERROR SUMMARY: no errors").status().code(), absl::StatusCode::kDataLoss);
}

}  // namespace
}  // namespace sassay::sanitize
