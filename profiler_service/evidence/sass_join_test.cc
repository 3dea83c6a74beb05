#include "profiler_service/evidence/sass_join.h"

#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "profiler_service/evidence/counted_call_testing.h"

namespace sassay::evidence {
namespace {

using ::testing::HasSubstr;

class JoinTest : public testing::Test {
 protected:
  absl::StatusOr<std::vector<ExecutedLaunch>> Join(const std::string& counts) {
    const auto untrusted = Parse<worker::SassCounts>(counts);
    return JoinCounts({untrusted, 7, plan_, code_, blocks_per_cluster_, most_});
  }
  // What is said when this part of honest counts is another.
  std::string Complaint(const std::string& honest, const std::string& forged) {
    const std::string counts = absl::StrReplaceAll(HonestCounts(), {{honest, forged}});
    EXPECT_NE(counts, HonestCounts()) << honest;
    const auto joined = Join(counts);
    EXPECT_EQ(joined.status().code(), absl::StatusCode::kDataLoss);
    return std::string(joined.status().message());
  }

  const v1::LaunchPlan plan_ = Parse<v1::LaunchPlan>(kPlan);
  const Disassembly code_ = ParseDisassembly(kCode).value();
  std::map<std::string, uint64_t> blocks_per_cluster_;
  double most_ = 1e6;
};

TEST_F(JoinTest, EveryCountFindsItsInstructionAndItsLaunch) {
  const auto launches = Join(HonestCounts());
  ASSERT_TRUE(launches.ok()) << launches.status();
  ASSERT_EQ(launches->size(), 3u);
  EXPECT_EQ((*launches)[2].first_launch, 2u);
  EXPECT_EQ((*launches)[1].kernel, "copy");
  const ExecutedInstruction& hgmma = (*launches)[0].instructions[2];
  EXPECT_EQ(hgmma.what->opcode, "HGMMA.64x128x16.F32.BF16");
  EXPECT_EQ(hgmma.what->source_line, 9u);
  EXPECT_EQ(hgmma.warps, 80u);
  EXPECT_EQ(hgmma.threads, 2560u);
}

TEST_F(JoinTest, LaunchesThatWereCountedTogetherAreHeldAgainstAllOfThem) {
  const std::string together = std::string("cubin_crc: 7 launches { first_launch: 0 launches: 2 kernel: 'gemm' ") +
                               "functions { function: 'gemm' pc_offset_bytes: 0 warp_count: 16 thread_count: 512 } }" +
                               "launches { first_launch: 1 launches: 1 kernel: 'copy' functions { function: 'copy' " +
                               "pc_offset_bytes: 0 warp_count: 6 thread_count: 120 } }";
  EXPECT_TRUE(Join(together).ok()) << Join(together).status();
  EXPECT_FALSE(Join(absl::StrReplaceAll(together, {{"launches: 2", "launches: 3"}})).ok());
}

TEST_F(JoinTest, KernelWhoseGridCountsClustersIsEnteredByAllBlocksOfThem) {
  blocks_per_cluster_["copy"] = 2;
  EXPECT_FALSE(Join(HonestCounts()).ok());
  EXPECT_TRUE(Join(absl::StrReplaceAll(HonestCounts(), {{"[6, 6]", "[12, 12]"}, {"[120, 120]", "[240, 240]"}})).ok());
}

TEST_F(JoinTest, LostRecordsAreNoEvidence) {
  EXPECT_THAT(Complaint("cubin_crc: 7", "cubin_crc: 7 dropped_records: 3"), HasSubstr("dropped 3 records"));
  EXPECT_THAT(Complaint("cubin_crc: 7", "cubin_crc: 7 truncated: true"), HasSubstr("more instructions executed"));
}

TEST_F(JoinTest, LaunchThatWasNotCountedIsMissed) {
  EXPECT_THAT(Complaint("launches { first_launch: 1 launches: 1 kernel: 'copy'  functions { function: 'copy' "
                        "pc_offset_bytes: [0, 16] warp_count: [6, 6] thread_count: [120, 120] } }",
                        ""),
              HasSubstr("nothing was counted for launch 1 (copy) of 3"));
}

TEST_F(JoinTest, CountsOfAnotherCubinAreRefused) {
  EXPECT_THAT(Complaint("cubin_crc: 7", "cubin_crc: 8"), HasSubstr("CRC 0x8, the admitted one has 0x7"));
}

TEST_F(JoinTest, LaunchesThatThePlanDoesNotHaveAreRefused) {
  EXPECT_THAT(Complaint("first_launch: 2", "first_launch: 3"), HasSubstr("launch 3 of the plan is not"));
  EXPECT_THAT(Complaint("first_launch: 2", "first_launch: 0"), HasSubstr("that nobody has claimed"));
  EXPECT_THAT(Complaint("first_launch: 2", "first_launch: 4294967295"), HasSubstr("launch 4294967295"));
  EXPECT_THAT(Complaint("launches: 1 kernel: 'copy'", "launches: 1 kernel: 'gemm'"), HasSubstr("launch 1"));
  EXPECT_THAT(Complaint("launches: 1 kernel: 'copy'", "launches: 0 kernel: 'copy'"), HasSubstr("not 0 launch(es)"));
}

TEST_F(JoinTest, CodeThatTheCubinDoesNotHaveIsRefused) {
  EXPECT_THAT(Complaint("function: 'copy'", "function: 'evil'"), HasSubstr("no function evil"));
  EXPECT_THAT(Complaint("[0, 16, 32, 48]", "[0, 16, 32, 64]"), HasSubstr("no instruction at 0x40"));
  EXPECT_THAT(Complaint("[0, 16, 32, 48]", "[0, 16, 33, 48]"), HasSubstr("no instruction at 0x21"));
  EXPECT_THAT(Complaint("[0, 16, 32, 48]", "[0, 16, 16, 48]"), HasSubstr("that was not counted before"));
  EXPECT_THAT(Complaint("[0, 16, 32, 48]", "[0, 16, 32]"), HasSubstr("different lengths"));
  EXPECT_THAT(Complaint("functions { function: 'copy'", "functions { function: 'copy' } functions { function: 'copy'"),
              HasSubstr("copy is there twice"));
}

TEST_F(JoinTest, KernelIsEnteredByExactlyTheLaunchedThreads) {
  EXPECT_THAT(Complaint("warp_count: [8, 8, 80, 8]", "warp_count: [9, 8, 80, 8]"),
              HasSubstr("was entered by 9 warps and 256 threads; 8 and 256 were launched"));
  EXPECT_THAT(Complaint("[120, 120]", "[119, 120]"), HasSubstr("was entered by 6 warps and 119 threads"));
  EXPECT_THAT(Complaint("pc_offset_bytes: [0, 16] warp_count: [6, 6] thread_count: [120, 120]", ""),
              HasSubstr("nobody entered copy"));
}

TEST_F(JoinTest, WarpHasThirtyTwoThreadsAtMost) {
  EXPECT_THAT(Complaint("[256, 2, 2560, 256]", "[256, 2, 2561, 256]"),
              HasSubstr("2561 threads executed what 80 warps did"));
  EXPECT_THAT(Complaint("[256, 2, 2560, 256]", "[256, 2, 18446744073709551615, 256]"), HasSubstr("threads executed"));
}

TEST_F(JoinTest, GpuIssuesOnlySoManyInstructions) {
  EXPECT_THAT(Complaint("warp_count: [8, 8, 80, 8]", "warp_count: [8, 8, 18446744073709551615, 8]"),
              HasSubstr("that the GPU can issue"));
  most_ = 200;
  EXPECT_FALSE(Join(HonestCounts()).ok());
  EXPECT_DOUBLE_EQ(MostWarpInstructions(132, 0.5), 132 * 4 * 4e9 * 0.5);
}

}  // namespace
}  // namespace sassay::evidence
