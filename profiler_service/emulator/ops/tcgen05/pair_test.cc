// Pairs of blocks (.cta_group::2): who holds which part of a product, and what breaks the rules between the two.
#include <bit>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "profiler_service/emulator/testing/emulator_fixture.h"
#include "profiler_service/emulator/testing/tensor_tile.h"

namespace sassay::emulator {
namespace {

using sassay::v1::Finding;
using ::testing::HasSubstr;

// As in testing/tensor_pair.cu.
struct Job {
  uint64_t image = 0;
  uint32_t words = 0, instruction = 0;
  uint64_t a = 0, b = 0, before = 0, after = 0;
  uint32_t columns = 0, accumulate = 0, issuer = 0;
};

// One block's parts of A and B; the other block's differ by their seeds.
struct Part {
  Tile a, b;
};

class PairTest : public testing::Test {
 protected:
  static constexpr uint32_t kSharedBytes = 96 << 10;

  std::vector<Part> Parts(Kind ka, Kind kb, uint32_t m, uint32_t n, Major of_a, Major of_b, uint32_t mode) {
    return {{Tile(ka, m / 2, of_a, mode, 1), Tile(kb, n / 2, of_b, mode, 2)},
            {Tile(ka, m / 2, of_a, mode, 3), Tile(kb, n / 2, of_b, mode, 4)}};
  }
  Job Prepare(Emulated& emulated, const std::vector<Part>& parts, const std::vector<uint32_t>& before) {
    std::vector<uint8_t> images;
    Job job;
    for (const Part& part : parts) {
      std::vector<uint8_t> image(64 << 10);
      job.a = part.a.Write(image, 0);
      job.b = part.b.Write(image, 32 << 10);
      images.insert(images.end(), image.begin(), image.end());
    }
    job.words = static_cast<uint32_t>(images.size() / 8);
    job.image = emulated.Upload(images, "image");
    job.columns = static_cast<uint32_t>(before.size() / 256);
    job.before = emulated.Upload(before, "before");
    job.after = emulated.Allocate(before.size() * 4, "after");
    return job;
  }
  std::vector<uint32_t> Run(const std::string& kernel, const Job& job) {
    const auto execution = checked_.Run(kernel, {2, 1, 1}, {128, 1, 1}, {Bytes(job)}, kSharedBytes);
    EXPECT_EQ(execution.outcome, sassay::worker::RUN_OUTCOME_OK) << kernel << ": " << execution.message;
    return checked_.Download<uint32_t>(job.after, 256 * job.columns);
  }
  // A product's element: row and column of the whole D.
  static double Sum(const std::vector<Part>& parts, uint32_t m, uint32_t n, uint32_t row, uint32_t column) {
    const Tile& a = parts[row / (m / 2)].a;
    const Tile& b = parts[column / (n / 2)].b;
    double sum = 0;
    for (uint32_t k = 0; k < a.k(); ++k) sum += a.At(row % (m / 2), k) * b.At(column % (n / 2), k);
    return sum;
  }
  // Where that element lies among the cells of `columns` columns: M = 256 as layout A, 128 as layout B.
  static size_t CellOf(uint32_t m, uint32_t n, uint32_t row, uint32_t column, uint32_t columns) {
    const bool split = m == 128;
    const uint32_t block = row / (m / 2), lane = row % (m / 2) + (split && column >= n / 2 ? 64 : 0);
    return (size_t{block} * 128 + lane) * columns + (split ? column % (n / 2) : column);
  }
  static uint32_t CellValue(double value, bool integer) {
    return integer ? static_cast<uint32_t>(static_cast<int64_t>(value))
                   : std::bit_cast<uint32_t>(static_cast<float>(value));
  }
  void Compare(Kind ka, Kind kb, uint32_t m, uint32_t n, Major of_a = kAlongK, Major of_b = kAlongK, uint32_t mode = 2,
               uint32_t issuer = 0) {
    const bool integer = ka.kernel == kS8.kernel;
    const std::vector<Part> parts = Parts(ka, kb, m, n, of_a, of_b, mode);
    const uint32_t columns = m == 128 ? n / 2 : n;
    std::vector<uint32_t> before(256 * columns);
    for (uint32_t i = 0; i < before.size(); ++i) before[i] = CellValue(integer ? i % 1000 : i % 64 / 8.0, integer);
    Job job = Prepare(checked_, parts, before);
    job.instruction = Instruction(integer ? 2 : 1, ka.code, kb.code, n, m, of_a, of_b);
    job.accumulate = 1;
    job.issuer = issuer;
    const auto after = Run(ka.kernel, job);
    uint32_t wrong = 0;
    for (uint32_t row = 0; row < m; ++row) {
      for (uint32_t column = 0; column < n; ++column) {
        const size_t at = CellOf(m, n, row, column, columns);
        const double old = integer ? before[at] : std::bit_cast<float>(before[at]);
        wrong += after[at] != CellValue(old + Sum(parts, m, n, row, column), integer);
      }
    }
    EXPECT_EQ(wrong, 0u) << ka.kernel << " " << m << "x" << n << ", mode " << mode << ", asked by " << issuer;
  }
  Job BrokenJob(uint32_t issuer = 0) {
    Job job = Prepare(checked_, Parts(kBf16, kBf16, 256, 32, kAlongK, kAlongK, 2), std::vector<uint32_t>(256 * 32));
    job.instruction = Instruction(1, 1, 1, 32, 256, kAlongK, kAlongK);
    job.issuer = issuer;
    return job;
  }
  device::Execution RunBroken(const std::string& kernel) {
    return checked_.Run(kernel, {2, 1, 1}, {128, 1, 1}, {Bytes(BrokenJob())}, kSharedBytes);
  }
  Finding FirstOf(const device::Execution& execution, sassay::v1::VerdictCode code) {
    EXPECT_EQ(execution.outcome, sassay::worker::RUN_OUTCOME_FAULT) << execution.message;
    if (execution.findings.empty()) return {};
    EXPECT_EQ(execution.findings[0].code(), code) << execution.message;
    return execution.findings[0];
  }
  Finding Broken(const std::string& kernel, sassay::v1::VerdictCode code) { return FirstOf(RunBroken(kernel), code); }
  // Kernels that only allocate.
  device::Execution Allocate(const std::string& kernel, uint32_t blocks = 2) {
    return checked_.Run(kernel, {blocks, 1, 1}, {32, 1, 1}, {Bytes(checked_.Allocate(64, "out"))});
  }
  std::string Line(const std::string& mark) const {
    const std::vector<std::string> lines = absl::StrSplit(bundle_.sources(0).content(), '\n');
    for (size_t i = 0; i < lines.size(); ++i) {
      if (lines[i].find(absl::StrCat("LINE ", mark)) != std::string::npos) {
        return absl::StrCat("tensor_pair.cu:", i + 1);
      }
    }
    return "no line marked";
  }

  const sassay::v1::Bundle bundle_ = CompiledBundle("tensor_pair");
  Emulated checked_{bundle_, sassay::worker::RUN_MODE_CHECKED, "sm_100a"};
};

TEST_F(PairTest, EveryTypeMultipliesOverBothBlocks) {
  Compare(kF16, kF16, 256, 32);
  Compare(kBf16, kBf16, 256, 64);
  Compare(kTf32, kTf32, 256, 32);
  Compare(kE4m3, kE5m2, 256, 32);
  Compare(kE2m1, kE3m2, 256, 32);
  Compare(kS8, kU8, 256, 32);
}

TEST_F(PairTest, EachBlockHoldsHalfOfTheRowsAndBringsHalfOfB) {
  Compare(kBf16, kBf16, 256, 256);
  Compare(kBf16, kBf16, 256, 128, kAlongMn, kAlongMn);
  Compare(kBf16, kBf16, 256, 64, kAlongK, kAlongK, 4);
  Compare(kE4m3, kE4m3, 256, 256, kAlongMn, kAlongMn);
}

// Layout B: 64 rows of each block, in lanes 0 to 63 with the first half of the columns, in 64 to 127 with the second.
TEST_F(PairTest, OneHundredAndTwentyEightRowsLieTwoByTwo) {
  Compare(kBf16, kBf16, 128, 32);
  Compare(kBf16, kBf16, 128, 256);
  Compare(kTf32, kTf32, 128, 64);
  Compare(kS8, kS8, 128, 64);
}

TEST_F(PairTest, EitherBlockMayAsk) {
  Compare(kBf16, kBf16, 256, 64, kAlongK, kAlongK, 2, 1);
  Compare(kBf16, kBf16, 128, 64, kAlongK, kAlongK, 2, 1);
}

// Under layout B each half of the lanes has its own copy of A.
TEST_F(PairTest, AMayLieInBothTensorMemories) {
  for (const uint32_t m : {256, 128}) {
    const std::vector<Part> parts = Parts(kBf16, kBf16, m, 32, kAlongK, kAlongK, 2);
    std::vector<uint32_t> before(256 * 264);
    for (uint32_t lane = 0; lane < 256; ++lane) {
      const Tile& a = parts[lane / 128].a;
      const uint32_t row = lane % 128 % (m / 2);
      for (uint32_t k = 0; k < 16; k += 2) before[lane * 264 + 256 + k / 2] = a.Bits(row, k) | a.Bits(row, k + 1) << 16;
    }
    Job job = Prepare(checked_, parts, before);
    job.instruction = Instruction(1, 1, 1, 32, m, kAlongK, kAlongK);
    const auto after = Run("multiply_from_tensor", job);
    for (const auto& [row, column] : {std::pair(0u, 0u), std::pair(m - 1, 31u), std::pair(m / 2, 5u)}) {
      EXPECT_EQ(std::bit_cast<float>(after[CellOf(m, 32, row, column, 264)]),
                static_cast<float>(Sum(parts, m, 32, row, column)))
          << m << ": " << row << ", " << column;
    }
  }
}

TEST_F(PairTest, CopiesBringEachBlocksRowsToItsLanes) {
  const std::vector<Part> parts = Parts(kBf16, kBf16, 256, 32, kAlongK, kAlongK, 2);
  const auto after = Run("copy_128x256b", Prepare(checked_, parts, std::vector<uint32_t>(256 * 16, 7)));
  for (uint32_t block = 0; block < 2; ++block) {
    const uint32_t* cells = &after[(block * 128 + 100) * 16];
    EXPECT_EQ(cells[3], 7u);
    EXPECT_EQ(cells[4 + 5], parts[block].a.Bits(100, 10) | parts[block].a.Bits(100, 11) << 16);
  }
}

TEST_F(PairTest, AMaskOfZerosIsNoneAndAnyOtherIsRefusedByName) {
  Job job = BrokenJob();
  Run("multiply_masked_by_nothing", job);
  const auto masked = checked_.Run("multiply_masked", {2, 1, 1}, {128, 1, 1}, {Bytes(job)}, kSharedBytes);
  EXPECT_THAT(masked.message, HasSubstr("emulator lacks tcgen05.mma.cta_group::2 with disabled lanes"));
}

TEST_F(PairTest, BothBlocksGetTheSameColumns) {
  const uint64_t out = checked_.Allocate(16, "out");
  const auto execution = checked_.Run("allocate_twice", {2, 1, 1}, {32, 1, 1}, {Bytes(out)});
  EXPECT_EQ(execution.outcome, sassay::worker::RUN_OUTCOME_OK) << execution.message;
  EXPECT_THAT(checked_.Download<uint32_t>(out, 4), testing::ElementsAre(0, 128, 0, 128));
}

// Four allocations, though the first block's warp looked twice.
TEST_F(PairTest, WaitingCountsOnce) {
  Emulated counted(bundle_, sassay::worker::RUN_MODE_COUNTED, "sm_100a");
  counted.Run("allocate_twice", {2, 1, 1}, {32, 1, 1}, {Bytes(counted.Allocate(16, "out"))});
  const auto evidence = counted.device().CollectEvidence();
  ASSERT_TRUE(evidence.ok()) << evidence.status();
  for (const auto& opcode : evidence->opcodes()) {
    if (opcode.opcode().find("tcgen05.alloc") == std::string::npos) continue;
    EXPECT_EQ(opcode.warp_count(), 4u);
    EXPECT_EQ(opcode.thread_count(), 128u);
    return;
  }
  FAIL() << evidence->DebugString();
}

TEST_F(PairTest, AnAllocationWaitsForTheOtherBlock) {
  const auto execution = Allocate("allocated_by_one");
  EXPECT_EQ(execution.outcome, sassay::worker::RUN_OUTCOME_TIMEOUT);
  EXPECT_EQ(execution.code, sassay::v1::VERDICT_CODE_BARRIER_DEADLOCK);
  EXPECT_THAT(execution.message,
              HasSubstr(absl::StrCat("waiting in tcgen05.alloc.cta_group::2 of 64 columns for a warp "
                                     "of block 1, the other one of its pair at ",
                                     Line("allocated_by_one"))));
  EXPECT_THAT(execution.message, HasSubstr("waiting at barrier.cluster, where 32 of 64 threads are"));
}

TEST_F(PairTest, BothBlocksAskForAsMany) {
  const auto execution = Allocate("allocated_unequally");
  ASSERT_FALSE(execution.findings.empty()) << execution.message;
  EXPECT_THAT(execution.findings[0].message(),
              HasSubstr("tcgen05.alloc.cta_group::2 of 128 columns, where the pair's other block asks for 64"));
}

TEST_F(PairTest, WhatOneOfTheTwoDoesNotFreeIsALeak) {
  const Finding finding = FirstOf(Allocate("freed_by_one"), sassay::v1::VERDICT_CODE_TENSOR_MEMORY_MISUSE);
  EXPECT_THAT(finding.message(), HasSubstr("columns 0 to 63 is allocated here and never freed"));
  EXPECT_EQ(finding.where().block().x(), 1u);
  EXPECT_EQ(finding.where().source_line(), Line("freed_by_one"));
}

TEST_F(PairTest, ABlockAloneIsNoPair) {
  EXPECT_THAT(
      FirstOf(Allocate("allocated_without_a_cluster", 1), sassay::v1::VERDICT_CODE_TENSOR_MEMORY_MISUSE).message(),
      HasSubstr("by block 0 of a cluster of 1, which has no other block to make a pair with"));
}

TEST_F(PairTest, ThePeerMustStillBeThere) {
  EXPECT_THAT(FirstOf(Allocate("commit_after_the_peer_left"), sassay::v1::VERDICT_CODE_TENSOR_MEMORY_MISUSE).message(),
              HasSubstr("for a pair whose other block (1) has exited"));
}

TEST_F(PairTest, AKernelKeepsToOneGroup) {
  const Finding finding = Broken("mixed_groups", sassay::v1::VERDICT_CODE_TENSOR_MEMORY_MISUSE);
  EXPECT_THAT(finding.message(),
              HasSubstr("tcgen05.mma.cta_group::1.kind::f16 in a block that has used .cta_group::2"));
}

TEST_F(PairTest, ReadingBeforeTheCommitIsARaceInEitherBlock) {
  const Finding finding = Broken("read_early", sassay::v1::VERDICT_CODE_ASYNC_RACE);
  EXPECT_THAT(finding.message(), HasSubstr("nobody has waited for a tcgen05.commit that covers it"));
  EXPECT_EQ(finding.count(), 8u);  // four warps of each block
}

TEST_F(PairTest, StoresOfTheOtherBlockMustHaveBeenWaitedFor) {
  EXPECT_THAT(Broken("store_not_waited", sassay::v1::VERDICT_CODE_ASYNC_RACE).message(),
              HasSubstr("writes columns 0 to 31 of the pair's other block while the tcgen05.st at"));
}

TEST_F(PairTest, OperandsInTheOtherBlockAreOrderedAgainstItsStores) {
  EXPECT_THAT(Broken("operand_not_fenced", sassay::v1::VERDICT_CODE_ASYNC_RACE).message(),
              HasSubstr("with no fence.proxy.async between"));
  const Finding overwritten = Broken("operand_overwritten", sassay::v1::VERDICT_CODE_ASYNC_RACE);
  EXPECT_THAT(overwritten.message(), HasSubstr("still reads there"));
  EXPECT_EQ(overwritten.where().block().x(), 1u);
  EXPECT_EQ(overwritten.other().block().x(), 0u);
}

TEST_F(PairTest, NeitherBlockMayFreeWhatAProductStillWrites) {
  const Finding finding = Broken("freed_early", sassay::v1::VERDICT_CODE_ASYNC_RACE);
  EXPECT_THAT(finding.message(), HasSubstr("tcgen05.dealloc of columns 0 to 511 while the tcgen05.mma at"));
  EXPECT_EQ(finding.where().block().x(), 1u);
}

TEST_F(PairTest, TheFirstProductMustNotAddToWhatNobodyWrote) {
  EXPECT_THAT(Broken("adds_to_leftovers", sassay::v1::VERDICT_CODE_UNINITIALIZED_READ).message(),
              HasSubstr("adds to columns 0 to 31 of tensor memory, which nobody has written"));
}

TEST_F(PairTest, ACommitReachesTheBlocksThatItsMaskNames) {
  EXPECT_THAT(Broken("committed_to_too_many", sassay::v1::VERDICT_CODE_BARRIER_MISUSE).message(),
              HasSubstr("tcgen05.commit to blocks 0x7 of a cluster of 2"));
  const auto execution = RunBroken("committed_to_itself_alone");
  EXPECT_EQ(execution.outcome, sassay::worker::RUN_OUTCOME_TIMEOUT);
  EXPECT_THAT(execution.message, HasSubstr("nobody arrives at the mbarrier"));
}

// 16 x 64 numbers, of which a box has two rows.
class PairLoadTest : public PairTest {
 protected:
  device::Execution Load(const std::string& kernel, uint32_t issuer) {
    std::vector<uint16_t> numbers(16 * 64);
    std::iota(numbers.begin(), numbers.end(), 0);
    sassay::v1::TensorMap map;
    map.set_data_type(1);  // CU_TENSOR_MAP_DATA_TYPE_UINT16
    for (const uint64_t extent : {64, 16}) map.add_global_dim(extent);
    for (const uint32_t extent : {64, 2}) map.add_box_dim(extent);
    for (int d = 0; d < 2; ++d) map.add_element_stride(1);
    map.add_global_stride_bytes(128);
    const auto encoded = checked_.device().EncodeTensorMap(map, checked_.Upload(numbers, "numbers"));
    EXPECT_TRUE(encoded.ok()) << encoded.status();
    out_ = checked_.Allocate(4 * 128 * 2, "out");
    return checked_.Run(kernel, {4, 1, 1}, {128, 1, 1},
                        {std::string(encoded->begin(), encoded->end()), Bytes(issuer), Bytes(out_)});
  }
  uint64_t out_ = 0;
};

TEST_F(PairLoadTest, ALoadForManySignalsOneBlockOfEachPair) {
  for (const uint32_t issuer : {0, 1, 3}) {
    const auto execution = Load("load_for_all", issuer);
    EXPECT_EQ(execution.outcome, sassay::worker::RUN_OUTCOME_OK) << execution.message;
    const auto values = checked_.Download<uint16_t>(out_, 4 * 128);
    for (uint32_t i = 0; i < 4 * 128; ++i) ASSERT_EQ(values[i], 128 + i % 128) << issuer << ": " << i;
  }
}

TEST_F(PairLoadTest, TheBarrierLiesInThePair) {
  EXPECT_THAT(
      FirstOf(Load("load_for_strangers", 0), sassay::v1::VERDICT_CODE_BARRIER_MISUSE).message(),
      HasSubstr("a bulk copy to block 0 of the cluster that signals a barrier of block 2, which is not of its pair"));
}

}  // namespace
}  // namespace sassay::emulator
