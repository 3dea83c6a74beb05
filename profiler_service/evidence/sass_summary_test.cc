#include "profiler_service/evidence/sass_summary.h"

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "profiler_service/evidence/counted_call_testing.h"

namespace sassay::evidence {
namespace {

using sassay::v1::Evidence;
using ::testing::HasSubstr;

// Of one kernel, one after the other, as nvdisasm spells them.
class Code {
 public:
  explicit Code(const std::vector<std::string>& opcodes) {
    std::string text = ".text.k:\n";
    for (size_t i = 0; i < opcodes.size(); ++i)
      absl::StrAppend(&text, "/*", absl::Hex(i * 16), "*/ ", opcodes[i], " ;\n");
    code_ = ParseDisassembly(text).value();
  }
  const Disassembly& disassembly() const { return code_; }
  ExecutedLaunch Launch(const std::vector<std::pair<uint64_t, uint64_t>>& warps_and_threads) const {
    ExecutedLaunch launch{0, 1, "k", {}};
    for (size_t i = 0; i < warps_and_threads.size(); ++i) {
      const auto& [warps, threads] = warps_and_threads[i];
      if (warps > 0) launch.instructions.push_back({&code_.at("k")[i], warps, threads});
    }
    return launch;
  }

 private:
  Disassembly code_;
};

TEST(SummarizeSass, WarpgroupFlopsAreAQuarterOfTheShapeForEachWarp) {
  const Code code({"EXIT", "HGMMA.64x128x16.F32.BF16 R24, gdesc[UR4], R24"});
  const Evidence evidence =
      SummarizeSass({code.Launch({{4, 128}, {40, 1280}})}, code.disassembly(), 2.0 * 64 * 128 * 16 * 10, "H");
  EXPECT_EQ(evidence.status(), Evidence::DYNAMIC_PRESENT);
  EXPECT_EQ(evidence.family_thread_counts().at("GMMA"), 1280u);
  EXPECT_DOUBLE_EQ(evidence.tensor_core_flops(), 2.0 * 64 * 128 * 16 * 10);
  EXPECT_DOUBLE_EQ(evidence.tensor_core_flop_share(), 1.0);
  EXPECT_EQ(evidence.tensor_core_flop_share_reason(), "");
  EXPECT_EQ(evidence.warp_instructions(), 44u);
  EXPECT_EQ(evidence.thread_instructions(), 1408u);
}

TEST(SummarizeSass, WarpMultipliesCountForTheirWarp) {
  const Code code({"HMMA.16816.F32.BF16 R4, R4, R8, RZ"});
  const Evidence evidence = SummarizeSass({code.Launch({{3, 96}})}, code.disassembly(), 2.0 * 16 * 8 * 16 * 6, "H");
  EXPECT_EQ(evidence.status(), Evidence::CUBIN_SASS_ABSENT);
  EXPECT_DOUBLE_EQ(evidence.tensor_core_flop_share(), 0.5);
}

TEST(SummarizeSass, FamilyThatWasOnlyReachedWithAFalsePredicateWasNotExecuted) {
  const Code code({"EXIT", "@!P0 HGMMA.64x8x16.F32.BF16 R24, gdesc[UR4], R24", "UTMALDG.2D [UR8], [UR4]"});
  const Evidence evidence = SummarizeSass({code.Launch({{4, 128}, {4, 0}, {0, 0}})}, code.disassembly(), 1e9, "H");
  EXPECT_EQ(evidence.status(), Evidence::DYNAMIC_NOT_EXECUTED);
  EXPECT_TRUE(evidence.family_thread_counts().empty());
  EXPECT_DOUBLE_EQ(evidence.tensor_core_flop_share(), 0.0);
}

TEST(SummarizeSass, TmaAloneIsTheFamilyAndNoTensorCoreWork) {
  const Code code({"UTMALDG.2D [UR8], [UR4]"});
  const Evidence evidence = SummarizeSass({code.Launch({{1, 1}})}, code.disassembly(), 1e9, "H");
  EXPECT_EQ(evidence.status(), Evidence::DYNAMIC_PRESENT);
  EXPECT_EQ(evidence.family_thread_counts().at("TMA"), 1u);
  EXPECT_DOUBLE_EQ(evidence.tensor_core_flop_share(), 0.0);
}

TEST(SummarizeSass, CacheControlOfTheTmaUnitIsNotItsWork) {
  const Code code({"UTMACCTL.PF [UR4]", "UTMACMDFLUSH", "UTMAPF.L2.2D [UR4]"});
  EXPECT_EQ(SummarizeSass({code.Launch({{1, 1}, {1, 1}, {1, 1}})}, code.disassembly(), 1, "H").status(),
            Evidence::CUBIN_SASS_ABSENT);
}

TEST(SummarizeSass, OnBlackwellTheOpcodeDoesNotTellSoTheShareIsAbsentWithTheReason) {
  const Code code({"UTCHMMA gdesc[UR4], gdesc[UR6], tmem[UR8], tmem[UR10], idesc[UR11], UP0", "LDTM.x32 R4, tmem[UR4]",
                   "UTCATOMSWS.FIND_AND_SET.ALIGN UP0, UR4, UR4"});
  const Evidence evidence = SummarizeSass({code.Launch({{8, 8}, {4, 128}, {1, 1}})}, code.disassembly(), 1e9, "B");
  EXPECT_EQ(evidence.status(), Evidence::DYNAMIC_PRESENT);
  EXPECT_EQ(evidence.family_thread_counts().at("TCGEN"), 9u);
  EXPECT_EQ(evidence.family_thread_counts().at("TMEM"), 128u);
  EXPECT_FALSE(evidence.has_tensor_core_flop_share());
  EXPECT_FALSE(evidence.has_tensor_core_flops());
  EXPECT_THAT(evidence.tensor_core_flop_share_reason(), HasSubstr("UTCHMMA does not tell"));
}

TEST(SummarizeSass, SparseMultipliesDoNotTellEither) {
  const Code code({"HGMMA.SP.64x128x32.F32.BF16 R24, gdesc[UR4], R24"});
  EXPECT_FALSE(SummarizeSass({code.Launch({{4, 128}})}, code.disassembly(), 1, "H").has_tensor_core_flop_share());
}

TEST(SummarizeSass, ShareIsAbsentWhereNobodyKnowsTheWork) {
  const Code code({"EXIT"});
  const Evidence evidence = SummarizeSass({code.Launch({{1, 32}})}, code.disassembly(), 0, "");
  EXPECT_FALSE(evidence.has_tensor_core_flop_share());
  EXPECT_THAT(evidence.tensor_core_flop_share_reason(), HasSubstr("does not say"));
  EXPECT_EQ(evidence.status(), Evidence::UNAVAILABLE);
  EXPECT_EQ(evidence.thread_instructions(), 32u);
}

TEST(SummarizeSass, EachLaunchHasItsOwnTotals) {
  const auto counts = Parse<worker::SassCounts>(HonestCounts());
  const auto plan = Parse<v1::LaunchPlan>(kPlan);
  const Disassembly code = ParseDisassembly(kCode).value();
  const auto launches = JoinCounts({counts, 7, plan, code, {}, 1e6});
  ASSERT_TRUE(launches.ok()) << launches.status();
  const Evidence evidence = SummarizeSass(*launches, code, 2.0 * 64 * 128 * 16 * 80, "H");
  ASSERT_EQ(evidence.launches_size(), 3);
  EXPECT_EQ(evidence.launches(1).kernel(), "copy");
  EXPECT_EQ(evidence.launches(1).warp_instructions(), 12u);
  EXPECT_TRUE(evidence.launches(1).family_thread_counts().empty());
  EXPECT_EQ(evidence.launches(2).launch(), 2u);
  EXPECT_EQ(evidence.launches(2).family_thread_counts().at("GMMA"), 2560u);
  EXPECT_DOUBLE_EQ(evidence.launches(2).tensor_core_flops(), 2.0 * 64 * 128 * 16 * 20);
  EXPECT_DOUBLE_EQ(evidence.tensor_core_flop_share(), 0.5);
  EXPECT_EQ(evidence.family_thread_counts().at("TMA"), 4u);
}

TEST(SummarizeSass, OpcodesOfAFamilyComeFirstHoweverRare) {
  std::vector<std::string> opcodes;
  for (int i = 0; i < 100; ++i) opcodes.push_back(absl::StrCat("OP", i));
  opcodes.push_back("UTMALDG.2D [UR8], [UR4]");
  const Code code(opcodes);
  std::vector<std::pair<uint64_t, uint64_t>> counts(100, {10, 320});
  counts.emplace_back(1, 1);
  const Evidence evidence = SummarizeSass({code.Launch(counts)}, code.disassembly(), 1, "H");
  ASSERT_EQ(evidence.opcodes_size(), kMaxOpcodes);
  EXPECT_EQ(evidence.opcodes(0).opcode(), "UTMALDG.2D");
  EXPECT_EQ(evidence.opcodes(0).family(), "TMA");
}

TEST(HottestInstructions, AreSummedOverLaunchesAndCarryTheirSource) {
  const auto counts = Parse<worker::SassCounts>(HonestCounts());
  const auto plan = Parse<v1::LaunchPlan>(kPlan);
  const Disassembly code = ParseDisassembly(kCode).value();
  const auto launches = JoinCounts({counts, 7, plan, code, {}, 1e6});
  ASSERT_TRUE(launches.ok()) << launches.status();
  const std::vector<HotInstruction> hot = HottestInstructions(*launches, 2);
  ASSERT_EQ(hot.size(), 2u);
  EXPECT_EQ(hot[0].kernel, "gemm");
  EXPECT_EQ(hot[0].text, "HGMMA.64x128x16.F32.BF16 R24, gdesc[UR4], R24, gsb0");
  EXPECT_EQ(hot[0].warp_count, 160u);
  EXPECT_EQ(hot[0].thread_count, 5120u);
  EXPECT_EQ(hot[0].source_file, "kernel.cu");
  EXPECT_EQ(hot[0].source_line, 9u);
  EXPECT_EQ(hot[1].pc_offset_bytes, 0u);
  EXPECT_EQ(hot[1].source_line, 7u);
}

}  // namespace
}  // namespace sassay::evidence
