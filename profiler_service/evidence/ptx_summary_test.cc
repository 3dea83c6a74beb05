#include "profiler_service/evidence/ptx_summary.h"

#include "gtest/gtest.h"
#include "profiler_service/evidence/sass_summary.h"

namespace sassay::evidence {
namespace {

using sassay::v1::Evidence;

constexpr char kMma[] = "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32";
constexpr char kWgmma[] = "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16";

void Add(Evidence& evidence, const std::string& opcode, uint64_t warps, uint64_t threads) {
  auto* count = evidence.add_opcodes();
  count->set_kernel("k");
  count->set_opcode(opcode);
  count->set_warp_count(warps);
  count->set_thread_count(threads);
}

TEST(PtxSummary, ExecutedInstructionsOfTheFamilyArePresent) {
  Evidence counted;
  Add(counted, "add.f32", 10, 320);
  Add(counted, kWgmma, 4, 128);
  const Evidence evidence = SummarizePtx(counted, "", 2.0 * 64 * 128 * 16, "H");
  EXPECT_EQ(evidence.status(), Evidence::DYNAMIC_PRESENT);
  EXPECT_EQ(evidence.family_thread_counts().at("GMMA"), 128u);
  EXPECT_DOUBLE_EQ(evidence.tensor_core_flop_share(), 1.0);
}

TEST(PtxSummary, InstructionsThatNeverExecutedAreNotEvidence) {
  Evidence counted;
  Add(counted, "add.f32", 10, 320);
  Add(counted, kWgmma, 4, 0);  // reached with every predicate false
  EXPECT_EQ(SummarizePtx(counted, std::string("@%p1 ") + kWgmma + " {%f1};\n", 1, "H").status(),
            Evidence::DYNAMIC_NOT_EXECUTED);
}

TEST(PtxSummary, OtherTensorCoreWorkIsNotTheRequiredFamily) {
  Evidence counted;
  Add(counted, kMma, 4, 128);
  const Evidence evidence = SummarizePtx(counted, std::string("\t") + kMma + " {%f1};\n", 2.0 * 16 * 8 * 16 * 4, "H");
  EXPECT_EQ(evidence.status(), Evidence::CUBIN_SASS_ABSENT);
  EXPECT_EQ(evidence.family_thread_counts().at("HMMA"), 128u);
  EXPECT_DOUBLE_EQ(evidence.tensor_core_flop_share(), 1.0);
}

TEST(PtxSummary, ShareIsAbsentWhereNobodyKnowsTheWork) {
  Evidence counted;
  Add(counted, kMma, 4, 128);
  EXPECT_FALSE(SummarizePtx(counted, "", 0, "H").has_tensor_core_flop_share());
}

TEST(PtxSummary, WithoutARequiredFamilyThereIsNothingToSay) {
  EXPECT_EQ(SummarizePtx(Evidence(), "", 1, "").status(), Evidence::UNAVAILABLE);
}

TEST(PtxSummary, KeepsTheMostExecutedOpcodesInOrder) {
  Evidence counted;
  for (int i = 0; i < 100; ++i) Add(counted, "op" + std::to_string(i), 1, i);
  const Evidence evidence = SummarizePtx(counted, "", 1, "H");
  ASSERT_EQ(evidence.opcodes_size(), kMaxOpcodes);
  EXPECT_EQ(evidence.opcodes(0).opcode(), "op99");
}

}  // namespace
}  // namespace sassay::evidence
