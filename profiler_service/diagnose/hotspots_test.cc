#include "profiler_service/diagnose/hotspots.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "profiler_service/diagnose/testing.h"

namespace sassay::diagnose {
namespace {

evidence::HotInstruction Hot(const std::string& file, uint32_t line, uint64_t warps) {
  evidence::HotInstruction hot;
  hot.kernel = "_Z4gemmPKfPf";
  hot.source_file = file;
  hot.source_line = line;
  hot.warp_count = warps;
  return hot;
}

TEST(Hotspots, InstructionsHaveTheTextOfTheirLine) {
  const Diagnosed diagnosed = Hotspots({Hot("bad.cu", 7, 30), Hot("cuda_fp16.h", 9, 10)}, "", RecordedSource());
  EXPECT_EQ(diagnosed.report.outcome(), v1::DiagnosisReport::DONE);
  EXPECT_EQ(diagnosed.report.hot(0).source_line(), "bad.cu:7");
  EXPECT_EQ(diagnosed.report.hot(0).source_text(), "line 7");
  EXPECT_EQ(diagnosed.report.hot(1).source_text(), "");
}

TEST(Hotspots, TheSummarySaysWhichLinesTheInstructionsWereSpentOn) {
  const Diagnosed diagnosed =
      Hotspots({Hot("bad.cu", 7, 30), Hot("bad.cu", 8, 15), Hot("bad.cu", 7, 15)}, "", RecordedSource());
  EXPECT_THAT(diagnosed.report.summary(),
              testing::ElementsAre("75.0 % of the hottest warp instructions: gemm at bad.cu:7",
                                   "25.0 % of the hottest warp instructions: gemm at bad.cu:8"));
}

TEST(Hotspots, WithoutCountsItIsUnavailableWithTheReason) {
  const Diagnosed diagnosed = Hotspots({}, "CUPTI was not found", v1::Bundle());
  EXPECT_EQ(diagnosed.report.outcome(), v1::DiagnosisReport::UNAVAILABLE);
  EXPECT_EQ(diagnosed.report.reason(), "CUPTI was not found");
}

TEST(Hotspots, TheListIsBounded) {
  const std::vector<evidence::HotInstruction> many(500, Hot("bad.cu", 7, 1));
  EXPECT_EQ(Hotspots(many, "", v1::Bundle()).report.hot_size(), kMaxHot);
}

}  // namespace
}  // namespace sassay::diagnose
