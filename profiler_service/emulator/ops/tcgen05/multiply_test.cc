// tcgen05.mma against products made on the host, for every kind, layout and swizzle; and what is wrong to ask of it.
#include <bit>
#include <cmath>
#include <random>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "profiler_service/emulator/testing/emulator_fixture.h"
#include "profiler_service/emulator/testing/tensor_tile.h"

namespace sassay::emulator {
namespace {

using sassay::v1::Finding;
using ::testing::HasSubstr;

// As in testing/tensor_core.cu.
struct Job {
  uint64_t image = 0;
  uint32_t words = 0, instruction = 0;
  uint64_t a = 0, b = 0, before = 0, after = 0;
  uint32_t columns = 0, accumulate = 0;
};

uint32_t LaneOf(uint32_t row, uint32_t m) { return m == 64 ? row / 16 * 32 + row % 16 : row; }

class MultiplyTest : public testing::Test {
 protected:
  static constexpr uint32_t kSharedBytes = 96 << 10;

  Job Prepare(Emulated& emulated, const Tile& a, const Tile& b, const std::vector<uint32_t>& before) {
    std::vector<uint8_t> image(64 << 10);
    Job job;
    job.a = a.Write(image, 0);
    job.b = b.Write(image, 32 << 10);
    job.words = static_cast<uint32_t>(image.size() / 4);
    job.image = emulated.Upload(image, "image");
    job.columns = static_cast<uint32_t>(before.size() / 128);
    job.before = emulated.Upload(before, "before");
    job.after = emulated.Allocate(before.size() * 4, "after");
    return job;
  }
  std::vector<uint32_t> Run(const std::string& kernel, const Job& job) {
    const auto execution = checked_.Run(kernel, {1, 1, 1}, {128, 1, 1}, {Bytes(job)}, kSharedBytes);
    EXPECT_EQ(execution.outcome, sassay::worker::RUN_OUTCOME_OK) << kernel << ": " << execution.message;
    return checked_.Download<uint32_t>(job.after, 128 * job.columns);
  }
  // One product with fp32 (or int32) accumulators, each element against the host's.
  void Compare(Kind ka, Kind kb, uint32_t m, uint32_t n, Major of_a = kAlongK, Major of_b = kAlongK,
               uint32_t mode_a = 2, uint32_t mode_b = 2) {
    const bool integer = ka.kernel == kS8.kernel;
    const Tile a(ka, m, of_a, mode_a, 1), b(kb, n, of_b, mode_b, 2);
    std::vector<uint32_t> before(128 * n);
    for (uint32_t i = 0; i < before.size(); ++i) {
      before[i] = integer ? i % 1000 : std::bit_cast<uint32_t>(static_cast<float>(i % 64) / 8);
    }
    Job job = Prepare(checked_, a, b, before);
    job.instruction = Instruction(integer ? 2 : 1, ka.code, kb.code, n, m, of_a, of_b);
    job.accumulate = 1;
    const auto after = Run(ka.kernel, job);
    uint32_t wrong = 0;
    for (uint32_t row = 0; row < m; ++row) {
      for (uint32_t column = 0; column < n; ++column) {
        const size_t at = size_t{LaneOf(row, m)} * n + column;
        double sum = integer ? before[at] : std::bit_cast<float>(before[at]);
        for (uint32_t k = 0; k < a.k(); ++k) sum += a.At(row, k) * b.At(column, k);
        const uint32_t wanted = integer ? static_cast<uint32_t>(static_cast<int64_t>(sum))
                                        : std::bit_cast<uint32_t>(static_cast<float>(sum));
        wrong += after[at] != wanted;
      }
    }
    EXPECT_EQ(wrong, 0u) << ka.kernel << " " << m << "x" << n << ", modes " << mode_a << " and " << mode_b;
    for (uint32_t lane = 16; lane < 128 && m == 64; lane += lane % 32 == 31 ? 17 : 1) {
      EXPECT_EQ(after[size_t{lane} * n], before[size_t{lane} * n]) << "lane " << lane;
    }
  }
  Finding Broken(const std::string& kernel, sassay::v1::VerdictCode code, const Tile& a, const Tile& b,
                 Job change = {}) {
    Job job = Prepare(checked_, a, b, std::vector<uint32_t>(128 * 32));
    job.instruction = change.instruction != 0 ? change.instruction : Instruction(1, 1, 1, 32, 128, kAlongK, kAlongK);
    job.a ^= change.a;
    job.b ^= change.b;
    const auto execution = checked_.Run(kernel, {1, 1, 1}, {128, 1, 1}, {Bytes(job)}, kSharedBytes);
    EXPECT_EQ(execution.outcome, sassay::worker::RUN_OUTCOME_FAULT) << kernel << ": " << execution.message;
    if (execution.findings.empty()) return {};
    EXPECT_EQ(execution.findings[0].code(), code) << execution.message;
    return execution.findings[0];
  }

  const sassay::v1::Bundle bundle_ = CompiledBundle("tensor_core");
  Emulated checked_{bundle_, sassay::worker::RUN_MODE_CHECKED, "sm_100a"};
  const Tile a_{kBf16, 128, kAlongK, 2, 3}, b_{kBf16, 32, kAlongK, 2, 4};
};

TEST_F(MultiplyTest, EveryTypeMultiplies) {
  Compare(kF16, kF16, 128, 32);
  Compare(kBf16, kBf16, 128, 32);
  Compare(kTf32, kTf32, 128, 32);
  Compare(kE4m3, kE4m3, 128, 32);
  Compare(kE5m2, kE4m3, 128, 32);
  Compare(kE2m1, kE4m3, 128, 32);
  Compare(kE4m3, kE3m2, 128, 32);
  Compare(kS8, kS8, 128, 32);
  Compare(kU8, kS8, 128, 32);
}

TEST_F(MultiplyTest, ShapesReachFromSmallToWhole) {
  Compare(kBf16, kBf16, 64, 8);
  Compare(kBf16, kBf16, 64, 136);
  Compare(kBf16, kBf16, 128, 256);
  Compare(kS8, kS8, 64, 48);
}

TEST_F(MultiplyTest, EverySwizzleOfEitherMajor) {
  for (const uint32_t mode : {0, 6, 4, 2}) {
    Compare(kBf16, kBf16, 128, 64, kAlongK, kAlongK, mode, mode);
    Compare(kBf16, kBf16, 128, 64, kAlongMn, kAlongMn, mode, mode);
    Compare(kE4m3, kE4m3, 128, 128, kAlongMn, kAlongMn, mode, mode);
  }
  Compare(kTf32, kTf32, 128, 64, kAlongMn, kAlongMn, 1, 1);
  Compare(kBf16, kBf16, 128, 64, kAlongMn, kAlongK, 2, 4);
}

TEST_F(MultiplyTest, ThePredicateReplacesDAndProductsFollowOneAnother) {
  const std::vector<uint32_t> before(128 * 32, std::bit_cast<uint32_t>(100.0f));
  Job job = Prepare(checked_, a_, b_, before);
  job.instruction = Instruction(1, 1, 1, 32, 128, kAlongK, kAlongK);
  const auto after = Run("multiply_twice", job);
  double sum = 0;
  for (uint32_t k = 0; k < a_.k(); ++k) sum += a_.At(7, k) * b_.At(9, k);
  EXPECT_EQ(std::bit_cast<float>(after[7 * 32 + 9]), static_cast<float>(2 * sum));
}

TEST_F(MultiplyTest, ASecondOperandMayLieInTensorMemory) {
  std::vector<uint32_t> before(128 * 264);
  for (uint32_t row = 0; row < 128; ++row) {
    for (uint32_t k = 0; k < 16; k += 2) {
      before[row * 264 + 256 + k / 2] = a_.Bits(row, k) | a_.Bits(row, k + 1) << 16;
    }
  }
  Job job = Prepare(checked_, a_, b_, before);
  job.instruction = Instruction(1, 1, 1, 32, 128, kAlongK, kAlongK);
  const auto after = Run("multiply_from_tensor", job);
  for (const auto& [row, column] : {std::pair(0, 0), std::pair(127, 31), std::pair(64, 5)}) {
    double sum = 0;
    for (uint32_t k = 0; k < 16; ++k) sum += a_.At(row, k) * b_.At(column, k);
    EXPECT_EQ(std::bit_cast<float>(after[row * 264 + column]), static_cast<float>(sum));
  }
}

TEST_F(MultiplyTest, LanesCanBeLeftOutAndTheOldDScaled) {
  const std::vector<uint32_t> before(128 * 32, std::bit_cast<uint32_t>(100.0f));
  Job job = Prepare(checked_, a_, b_, before);
  job.instruction = Instruction(1, 1, 1, 32, 128, kAlongK, kAlongK);
  job.accumulate = 1;
  const auto after = Run("multiply_masked_and_scaled", job);
  EXPECT_EQ(std::bit_cast<float>(after[5 * 32]), 100.0f);
  EXPECT_EQ(std::bit_cast<float>(after[40 * 32 + 3]), 100.0f);
  double sum = 25;
  for (uint32_t k = 0; k < 16; ++k) sum += a_.At(64, k) * b_.At(3, k);
  EXPECT_EQ(std::bit_cast<float>(after[64 * 32 + 3]), static_cast<float>(sum));
}

TEST_F(MultiplyTest, NegationAndHalfAccumulators) {
  const Tile a(kF16, 128, kAlongK, 2, 5), b(kF16, 32, kAlongK, 2, 6);
  Job job = Prepare(checked_, a, b, std::vector<uint32_t>(128 * 32));
  job.instruction = Instruction(0, 0, 0, 32, 128, kAlongK, kAlongK) | 1u << 13;
  const auto after = Run("multiply_f16", job);
  double sum = 0;
  for (uint32_t k = 0; k < 16; ++k) sum -= a.At(3, k) * b.At(4, k);
  EXPECT_EQ(after[3 * 32 + 4], FloatToHalf(static_cast<float>(sum)));
}

TEST_F(MultiplyTest, IntegersWrapOrSaturate) {
  const Tile a(kU8, 128, kAlongK, 2, 7), b(kU8, 32, kAlongK, 2, 8);
  const std::vector<uint32_t> before(128 * 32, 0x7fffffff);
  Job job = Prepare(checked_, a, b, before);
  job.accumulate = 1;
  job.instruction = Instruction(2, 0, 0, 32, 128, kAlongK, kAlongK) | 1u << 3;
  EXPECT_EQ(Run("multiply_i8", job)[0], 0x7fffffffu);
  job.instruction ^= 1u << 3;
  EXPECT_GT(Run("multiply_i8", job)[0], 0x80000000u);
}

TEST_F(MultiplyTest, CopiesBringRowsToLanes) {
  const std::vector<uint32_t> before(128 * 16, 7);
  const Job job = Prepare(checked_, a_, b_, before);
  const auto word = [&](uint32_t row, uint32_t column) {
    return a_.Bits(row, 2 * column) | a_.Bits(row, 2 * column + 1) << 16;
  };
  const auto wide = Run("copy_128x256b", job);
  EXPECT_EQ(wide[100 * 16 + 3], 7u);
  for (uint32_t column = 0; column < 8; ++column) EXPECT_EQ(wide[100 * 16 + 4 + column], word(100, column));
  EXPECT_EQ(wide[100 * 16 + 12], 7u);
  const auto narrow = Run("copy_128x128b", job);
  for (uint32_t column = 0; column < 4; ++column) EXPECT_EQ(narrow[77 * 16 + 4 + column], word(77, column));
  EXPECT_EQ(narrow[77 * 16 + 8], 7u);
  const auto fourfold = Run("copy_32x128b", job);
  for (uint32_t lane = 5; lane < 128; lane += 32) EXPECT_EQ(fourfold[lane * 16 + 6], word(5, 2)) << lane;
}

TEST_F(MultiplyTest, ReadingBeforeTheCommitIsARaceAndFindsTheOldCells) {
  const Finding finding = Broken("read_early", sassay::v1::VERDICT_CODE_ASYNC_RACE, a_, b_);
  EXPECT_THAT(finding.message(), HasSubstr("tcgen05.ld of column 0 while the tcgen05.mma at tensor_core.cu:"));
  EXPECT_THAT(finding.message(), HasSubstr("nobody has waited for a tcgen05.commit that covers it"));
  EXPECT_TRUE(finding.has_other());
}

TEST_F(MultiplyTest, TransfersMustHaveBeenWaitedFor) {
  EXPECT_THAT(Broken("store_not_waited", sassay::v1::VERDICT_CODE_ASYNC_RACE, a_, b_).message(),
              HasSubstr("no tcgen05.wait::st has followed it"));
  EXPECT_THAT(Broken("load_not_waited", sassay::v1::VERDICT_CODE_ASYNC_RACE, a_, b_).message(),
              HasSubstr("no tcgen05.wait::ld has followed it"));
}

TEST_F(MultiplyTest, OtherWarpsCellsNeedABarrierBetween) {
  EXPECT_THAT(Broken("overwritten_without_barrier", sassay::v1::VERDICT_CODE_ASYNC_RACE, a_, b_).message(),
              HasSubstr("with nothing between that orders the two"));
}

TEST_F(MultiplyTest, ACommitCoversItsOwnThreadAlone) {
  EXPECT_THAT(Broken("committed_by_another", sassay::v1::VERDICT_CODE_ASYNC_RACE, a_, b_).message(),
              HasSubstr("tcgen05.dealloc of columns 0 to 511 while the tcgen05.mma at"));
}

TEST_F(MultiplyTest, ACommitMayNameBlocksOfTheCluster) {
  Job job = Prepare(checked_, a_, b_, std::vector<uint32_t>(128 * 32));
  job.instruction = Instruction(1, 1, 1, 32, 128, kAlongK, kAlongK);
  Run("committed_to_the_cluster", job);
  EXPECT_THAT(Broken("committed_to_nobody", sassay::v1::VERDICT_CODE_BARRIER_MISUSE, a_, b_).message(),
              HasSubstr("tcgen05.commit to blocks 0x3 of a cluster of 1"));
}

TEST_F(MultiplyTest, TheFirstProductMustNotAddToWhatNobodyWrote) {
  EXPECT_THAT(Broken("adds_to_leftovers", sassay::v1::VERDICT_CODE_UNINITIALIZED_READ, a_, b_).message(),
              HasSubstr("adds to columns 0 to 31 of tensor memory, which nobody has written"));
}

TEST_F(MultiplyTest, OperandsAreOrderedAgainstStores) {
  EXPECT_THAT(Broken("operand_not_fenced", sassay::v1::VERDICT_CODE_ASYNC_RACE, a_, b_).message(),
              HasSubstr("with no fence.proxy.async between"));
  EXPECT_THAT(Broken("operand_overwritten", sassay::v1::VERDICT_CODE_ASYNC_RACE, a_, b_).message(),
              HasSubstr("still reads there"));
}

TEST_F(MultiplyTest, DMustLieInsideAndAligned) {
  EXPECT_THAT(Broken("past_the_columns", sassay::v1::VERDICT_CODE_TENSOR_MEMORY_MISUSE, a_, b_).message(),
              HasSubstr("D in columns 500 to 531 of tensor memory, which are not all allocated"));
  EXPECT_THAT(Broken("odd_lane", sassay::v1::VERDICT_CODE_TENSOR_MEMORY_MISUSE, a_, b_).message(),
              HasSubstr("D begins at lane 32; for M = 128 it is 0"));
}

TEST_F(MultiplyTest, DescriptorsThatTheIsaDoesNotKnowAreNamed) {
  constexpr auto kCode = sassay::v1::VERDICT_CODE_DESCRIPTOR_INVALID;
  Job change;
  change.b = uint64_t{1} << 46;
  EXPECT_THAT(Broken("multiply_f16", kCode, a_, b_, change).message(),
              HasSubstr("the shared-memory descriptor of B: bits 46 to 48 are 0"));
  change = {};
  change.a = uint64_t{1} << 61;
  EXPECT_THAT(Broken("multiply_f16", kCode, a_, b_, change).message(), HasSubstr("of A: the swizzle mode is 3"));
  change = {};
  change.instruction = Instruction(1, 2, 1, 32, 128, kAlongK, kAlongK);
  EXPECT_THAT(Broken("multiply_f16", kCode, a_, b_, change).message(), HasSubstr("type of A"));
  change.instruction = Instruction(1, 2, 2, 32, 128, kAlongMn, kAlongK);
  EXPECT_THAT(Broken("multiply_tf32", kCode, a_, b_, change).message(), HasSubstr("swizzle mode 1"));
}

TEST_F(MultiplyTest, OperandsMustLieInSharedMemory) {
  Job change;
  change.a = uint64_t{0x3000};
  EXPECT_THAT(Broken("multiply_f16", sassay::v1::VERDICT_CODE_OOB_SHARED, a_, b_, change).message(),
              HasSubstr("leads outside of the block's"));
}

}  // namespace
}  // namespace sassay::emulator
