// Tensor memory: which register of which thread holds which cell, and what breaks its rules.
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "profiler_service/emulator/testing/emulator_fixture.h"

namespace sassay::emulator {
namespace {

using sassay::v1::Finding;
using ::testing::HasSubstr;

class TensorMemoryTest : public testing::Test {
 protected:
  std::vector<uint32_t> Run(const std::string& kernel, size_t words, uint32_t lane, uint32_t threads = 128) {
    const uint64_t out = checked_.Allocate(words * 4, "out");
    const auto execution = checked_.Run(kernel, {1, 1, 1}, {threads, 1, 1}, {Bytes(out), Bytes(lane)});
    EXPECT_EQ(execution.outcome, sassay::worker::RUN_OUTCOME_OK) << kernel << ": " << execution.message;
    return checked_.Download<uint32_t>(out, words);
  }
  std::string Line(const std::string& mark) const {
    const std::vector<std::string> lines = absl::StrSplit(bundle_.sources(0).content(), '\n');
    for (size_t i = 0; i < lines.size(); ++i) {
      if (lines[i].find(absl::StrCat("LINE ", mark)) != std::string::npos) {
        return absl::StrCat("tensor_memory.cu:", i + 1);
      }
    }
    return "no line marked";
  }
  // The first finding of a kernel with one mistake, which must lie on the line that is marked with its name.
  Finding Broken(const std::string& kernel, uint32_t threads = 32,
                 sassay::v1::VerdictCode code = sassay::v1::VERDICT_CODE_TENSOR_MEMORY_MISUSE) {
    const uint64_t out = checked_.Allocate(128 * 4, "out");
    const auto execution = checked_.Run(kernel, {1, 1, 1}, {threads, 1, 1}, {Bytes(out)});
    EXPECT_EQ(execution.outcome, sassay::worker::RUN_OUTCOME_FAULT) << kernel << ": " << execution.message;
    if (execution.findings.empty()) return {};
    EXPECT_EQ(execution.findings[0].code(), code) << execution.message;
    EXPECT_EQ(execution.findings[0].where().source_line(), Line(kernel)) << execution.message;
    return execution.findings[0];
  }

  const sassay::v1::Bundle bundle_ = CompiledBundle("tensor_memory");
  Emulated checked_{bundle_, sassay::worker::RUN_MODE_CHECKED, "sm_100a"};
};

// A cell's contents in the kernels: its lane and its column.
uint32_t Cell(uint32_t lane, uint32_t column) { return lane << 16 | column; }

// From the figures of PTX ISA 9.0, 9.7.16.2.3.1: the registers of some threads of the second warp (lanes 32 to 63).
TEST_F(TensorMemoryTest, EachShapeDealsCellsToThreadsAsItsFigureShows) {
  const auto rows = Run("load_32x32b", 1024, 0);
  EXPECT_EQ(rows[(32 + 0) * 8 + 0], Cell(32, 0));
  EXPECT_EQ(rows[(32 + 31) * 8 + 7], Cell(63, 7));
  const auto narrow = Run("load_16x64b", 1024, 0);
  EXPECT_EQ(narrow[(32 + 0) * 8 + 0], Cell(32, 0));
  EXPECT_EQ(narrow[(32 + 1) * 8 + 0], Cell(40, 0));
  EXPECT_EQ(narrow[(32 + 2) * 8 + 0], Cell(32, 1));
  EXPECT_EQ(narrow[(32 + 3) * 8 + 0], Cell(40, 1));
  EXPECT_EQ(narrow[(32 + 4) * 8 + 0], Cell(33, 0));
  EXPECT_EQ(narrow[(32 + 31) * 8 + 3], Cell(47, 7));
  const auto middle = Run("load_16x128b", 1024, 0);
  EXPECT_EQ(middle[(32 + 3) * 8 + 0], Cell(32, 3));
  EXPECT_EQ(middle[(32 + 4) * 8 + 0], Cell(33, 0));
  EXPECT_EQ(middle[(32 + 4) * 8 + 1], Cell(41, 0));
  EXPECT_EQ(middle[(32 + 4) * 8 + 2], Cell(33, 4));
  const auto wide = Run("load_16x256b", 1024, 0);
  EXPECT_EQ(wide[(32 + 1) * 8 + 1], Cell(32, 3));
  EXPECT_EQ(wide[(32 + 5) * 8 + 2], Cell(41, 2));
  EXPECT_EQ(wide[(32 + 5) * 8 + 7], Cell(41, 11));
  const auto split = Run("load_16x32bx2", 1024, 0);
  EXPECT_EQ(split[(32 + 15) * 8 + 2], Cell(47, 2));
  EXPECT_EQ(split[(32 + 16) * 8 + 2], Cell(32, 18));
}

TEST_F(TensorMemoryTest, ShapesOfSixteenLanesReachEitherHalf) {
  EXPECT_EQ(Run("load_16x256b", 1024, 16)[(96 + 4) * 8 + 0], Cell(113, 0));
  EXPECT_EQ(Run("load_16x64b", 1024, 16)[(96 + 1) * 8 + 0], Cell(120, 0));
}

TEST_F(TensorMemoryTest, PackingTakesTheLowHalvesOfTwoColumns) {
  const auto rows = Run("load_32x32b_pack", 1024, 0);
  EXPECT_EQ(rows[5 * 8 + 0], 0u | 1u << 16);
  EXPECT_EQ(rows[5 * 8 + 7], 14u | 15u << 16);
  const auto narrow = Run("load_16x64b_pack", 1024, 0);
  EXPECT_EQ(narrow[2 * 8 + 1], 6u | 7u << 16);
}

// A store followed by a load of the same shape gives every thread its own registers back, and no two share a cell.
TEST_F(TensorMemoryTest, StoresDealAsLoadsDo) {
  for (const char* shape : {"32x32b", "16x64b", "16x128b", "16x256b", "16x32bx2"}) {
    const uint32_t lane = std::string(shape) == "32x32b" ? 0 : 16;
    const auto cells = Run(absl::StrCat("store_", shape), 4096, lane);
    const auto map = Run(absl::StrCat("load_", shape), 1024, lane);
    uint32_t changed = 0;
    for (const uint32_t cell : cells) changed += cell >> 31;
    EXPECT_EQ(changed, 1024u) << shape;
    for (uint32_t thread = 0; thread < 128; ++thread) {
      for (uint32_t r = 0; r < 8; ++r) {
        const uint32_t place = map[thread * 8 + r];
        EXPECT_EQ(cells[(place >> 16) * 32 + (place & 0xffff)], 0x80008000u | thread << 20 | r) << shape;
      }
    }
  }
}

TEST_F(TensorMemoryTest, UnpackingFillsTheLowHalvesOfTwoColumns) {
  const auto cells = Run("store_32x32b_unpack", 4096, 0);
  EXPECT_EQ(cells[3 * 32 + 4], 0x8002u);
  EXPECT_EQ(cells[3 * 32 + 5], 0x8000u | 3u << 4);
}

TEST_F(TensorMemoryTest, AllocationsTakeTheFirstColumnsThatAreFree) {
  const auto columns = Run("allocate_three", 3, 0, 32);
  EXPECT_THAT(columns, testing::ElementsAre(0, 256, 0));
}

TEST_F(TensorMemoryTest, AnAllocationWaitsForColumns) {
  const uint64_t out = checked_.Allocate(32 * 4, "out");
  const auto freed = checked_.Run("contend", {1, 1, 1}, {64, 1, 1}, {Bytes(out), Bytes(1)});
  EXPECT_EQ(freed.outcome, sassay::worker::RUN_OUTCOME_OK) << freed.message;
  const auto held = checked_.Run("contend", {1, 1, 1}, {64, 1, 1}, {Bytes(out), Bytes(0)});
  EXPECT_EQ(held.outcome, sassay::worker::RUN_OUTCOME_TIMEOUT);
  EXPECT_EQ(held.code, sassay::v1::VERDICT_CODE_BARRIER_DEADLOCK);
  EXPECT_THAT(held.message,
              HasSubstr(absl::StrCat("waiting in tcgen05.alloc for 512 columns of tensor memory, of which "
                                     "512 of 512 are taken at ",
                                     Line("contend"))));
}

TEST_F(TensorMemoryTest, WhatIsNotFreedIsALeak) {
  EXPECT_EQ(Broken("leak").message(),
            "tensor memory columns 0 to 63 is allocated here and never freed: the next block that wants it waits for "
            "ever");
}

TEST_F(TensorMemoryTest, FreeingIsOnceAndByTheSameCount) {
  EXPECT_THAT(Broken("double_free").message(), HasSubstr("held: nothing"));
  EXPECT_THAT(Broken("free_by_another_count", 128).message(), HasSubstr("held: 64 from column 0"));
}

TEST_F(TensorMemoryTest, AllocationHasRules) {
  EXPECT_THAT(Broken("odd_columns").message(), HasSubstr("of 96 columns; a power of two from 32 to 512"));
  EXPECT_THAT(Broken("late_allocation").message(), HasSubstr("after tcgen05.relinquish_alloc_permit"));
  EXPECT_THAT(Broken("growing_allocation").message(), HasSubstr("of 128 columns after one of 64"));
}

TEST_F(TensorMemoryTest, AWarpReachesItsQuarterOfTheLanes) {
  EXPECT_EQ(Broken("others_lanes", 64).message(),
            "tcgen05.ld of lanes 0 to 31 by warp 1, which reaches lanes 32 to 63");
}

TEST_F(TensorMemoryTest, ColumnsMustBeAllocated) {
  EXPECT_EQ(Broken("past_the_allocation", 128).message(),
            "tcgen05.st of column 32 of tensor memory, which are not all allocated");
}

TEST_F(TensorMemoryTest, WhatWasNeverStoredIsUninitialised) {
  EXPECT_THAT(Broken("unwritten", 32, sassay::v1::VERDICT_CODE_UNINITIALIZED_READ).message(),
              HasSubstr("it comes from tensor memory"));
}

TEST_F(TensorMemoryTest, RegistersAreReadAfterTheWait) {
  const Finding finding = Broken("used_before_wait", 128, sassay::v1::VERDICT_CODE_ASYNC_RACE);
  EXPECT_THAT(finding.message(), HasSubstr("a register that the tcgen05.ld at tensor_memory.cu:"));
  EXPECT_THAT(finding.message(), HasSubstr("is touched before a tcgen05.wait::ld has followed"));
}

// A plain run ends where hardware would have faulted.
TEST_F(TensorMemoryTest, APlainRunStopsAtAMistake) {
  Emulated plain(bundle_, sassay::worker::RUN_MODE_PLAIN, "sm_100a");
  const uint64_t out = plain.Allocate(128 * 4, "out");
  const auto execution = plain.Run("others_lanes", {1, 1, 1}, {128, 1, 1}, {Bytes(out)});
  EXPECT_EQ(execution.outcome, sassay::worker::RUN_OUTCOME_FAULT);
  EXPECT_EQ(execution.code, sassay::v1::VERDICT_CODE_ILLEGAL_INSTRUCTION);
}

}  // namespace
}  // namespace sassay::emulator
