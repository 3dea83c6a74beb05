// No block does anything before its turn, however slow the host: the estimate's samples are taken from the first moment
// on here, as on a host on which hardly a block has begun by then.
#include "profiler_service/emulator/exec/grid.h"

#include <cstring>

#include "gtest/gtest.h"
#include "profiler_service/emulator/memory/private_pages.h"
#include "profiler_service/emulator/ops/families.h"
#include "profiler_service/emulator/pace/estimate.h"
#include "profiler_service/emulator/ptx/parser.h"

namespace sassay::emulator {
namespace {

constexpr uint64_t kWords = 4096;

// Kernel `k` of one parameter, a pointer to kWords zeros.
class GridTest : public testing::TestWithParam<bool> {
 protected:
  GridResult Run(const std::string& body, uint32_t blocks, GridOptions options) {
    auto module = ptx::Parse(
        ".version 9.0\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 words) {\n"
        ".reg .b32 %r<9>; .reg .b64 %d<9>; .reg .pred %p<9>;\n"
        "ld.param.u64 %d1, [words];\nmov.u32 %r1, %ctaid.x;\nmul.wide.u32 %d2, %r1, 4;\nadd.u64 %d2, %d1, %d2;\n" +
        body + "\nret;\n}\n");
    EXPECT_TRUE(module.ok()) << module.status();
    auto program = LoadProgram(*std::move(module), StandardOperations(), memory_);
    EXPECT_TRUE(program.ok()) << program.status();
    LaunchContext launch;
    launch.program = program->get();
    launch.kernel = (*program)->entries.at("k");
    launch.memory = &memory_;
    launch.checked = GetParam();
    launch.grid.x = blocks;
    launch.block.x = 32;
    launch.parameters.resize(8);
    std::memcpy(launch.parameters.data(), &words_, 8);
    options.estimate_after = absl::ZeroDuration();
    return RunGrid(launch, options);
  }

  uint32_t Word(uint64_t index) {
    uint32_t word = 0;
    std::memcpy(&word, *memory_.Host(words_ + 4 * index, 4), 4);
    return word;
  }

  static GridOptions Options(int threads, uint64_t resident_blocks) {
    GridOptions options;
    options.threads = threads;
    options.resident_blocks = resident_blocks;
    options.deadline = absl::Now() + absl::Minutes(2);
    return options;
  }

  GlobalMemory memory_{GetParam(), uint64_t{1} << 30};
  const uint64_t words_ = *memory_.Allocate(4 * kWords, "words", true);
};

// Blocks from 50 on set the flag.
constexpr char kSpinUntilALaterBlock[] =
    "setp.ge.u32 %p1, %r1, 50;\n@%p1 bra set;\n"
    "spin: ld.volatile.global.u32 %r2, [%d1];\nsetp.eq.u32 %p2, %r2, 0;\n@%p2 bra spin;\nret;\n"
    "set: st.volatile.global.u32 [%d1], 7;";

TEST_P(GridTest, WhatOnlyABlockWithoutRoomWouldWriteIsWaitedForInVain) {
  for (const int threads : {1, 2}) {
    const GridResult result = Run(kSpinUntilALaterBlock, 200, Options(threads, 4));
    EXPECT_EQ(result.kind, GridResult::kEndless) << result.message;
    EXPECT_EQ(result.blocks_done, 0u);
    EXPECT_EQ(Word(0), 0u);
  }
}

TEST_P(GridTest, BlocksThatAllFitMayWaitForAnyOfThem) {
  EXPECT_EQ(Run(kSpinUntilALaterBlock, 200, Options(1, 200)).kind, GridResult::kDone);
}

// About a hundred thousand instructions, before and after which every block counts itself.
constexpr char kCountsItself[] =
    "red.global.add.u32 [%d2+4], 1;\nmov.u32 %r3, 0;\n"
    "loop: add.u32 %r3, %r3, 1;\nsetp.lt.u32 %p1, %r3, 40000;\n@%p1 bra loop;\n"
    "red.global.add.u32 [%d1], 1;\nst.global.u32 [%d2+8192], %r3;";

TEST_P(GridTest, TrialsLeaveNoTrace) {
  const GridResult result = Run(kCountsItself, 100, Options(2, 8));
  EXPECT_EQ(result.kind, GridResult::kDone) << result.message;
  EXPECT_EQ(result.blocks_done, 100u);
  EXPECT_EQ(Word(0), 100u * 32);
  for (uint64_t i = 0; i < 100; ++i) {
    ASSERT_EQ(Word(1 + i), 32u) << i;
    ASSERT_EQ(Word(2048 + i), 40000u) << i;
  }
}

TEST_P(GridTest, ALaunchThatIsRefusedHasRunBlocksInTheirTurnOnly) {
  GridOptions options = Options(2, 8);
  options.repeats = 1e9;
  const GridResult result = Run(kCountsItself, 1000, options);
  EXPECT_EQ(result.kind, GridResult::kTooLarge) << result.message;
  uint64_t begun = 0;
  while (begun < 1000 && Word(1 + begun) != 0) ++begun;
  EXPECT_LE(begun, result.blocks_done + 8);
  for (uint64_t i = begun; i < 1000; ++i) ASSERT_EQ(Word(1 + i), 0u) << "block " << i << " had no turn";
}

// A trial's world is its own; what it takes there may be what others take on a GPU.
TEST_P(GridTest, BlocksThatShareAQueueOfWorkAreNotRefused) {
  const GridResult result =
      Run("next: atom.global.add.u32 %r2, [%d1], 1;\nsetp.gt.u32 %p1, %r2, 2400;\n@%p1 bra end;\nmov.u32 %r3, 0;\n"
          "loop: add.u32 %r3, %r3, 1;\nsetp.lt.u32 %p2, %r3, 100000;\n@%p2 bra loop;\nbra next;\nend:",
          200000, Options(2, 8));
  EXPECT_EQ(result.kind, GridResult::kDone) << result.message;
}

INSTANTIATE_TEST_SUITE_P(Modes, GridTest, testing::Bool(),
                         [](const auto& info) { return info.param ? "checked" : "plain"; });

TEST(PrivatePagesTest, WritesAreSeenByTheWriterAlone) {
  alignas(PrivatePages::kPageBytes) static uint8_t memory[3 * PrivatePages::kPageBytes] = {};
  PrivatePages pages;
  EXPECT_EQ(pages.At(memory + 8, 4, false), memory + 8);
  uint8_t* const own = pages.At(memory + 8, 4, true);
  ASSERT_NE(own, nullptr);
  *own = 5;
  EXPECT_EQ(memory[8], 0);
  EXPECT_EQ(pages.At(memory + 8, 4, false), own);
  EXPECT_EQ(pages.At(memory + 12, 4, false), own + 4);
  EXPECT_EQ(pages.At(memory + PrivatePages::kPageBytes, 4, false), memory + PrivatePages::kPageBytes);
  EXPECT_EQ(pages.At(memory + PrivatePages::kPageBytes - 2, 4, false), nullptr) << "half of it is a copy";
  EXPECT_EQ(pages.At(memory + 2 * PrivatePages::kPageBytes - 2, 4, true), nullptr);
  pages.Clear();
  EXPECT_EQ(pages.At(memory + 8, 4, false), memory + 8);
}

TEST(PrivatePagesTest, CopiesAreBounded) {
  constexpr size_t kBytes = (PrivatePages::kMostPages + 2) * PrivatePages::kPageBytes;
  // Whole pages, as the emulator's global memory is.
  alignas(PrivatePages::kPageBytes) static uint8_t memory[kBytes];
  PrivatePages pages;
  size_t copies = 0;
  for (size_t at = 0; at < kBytes; at += PrivatePages::kPageBytes) {
    copies += pages.At(&memory[at], 1, true) != nullptr;
  }
  EXPECT_EQ(copies, PrivatePages::kMostPages);
}

}  // namespace
}  // namespace sassay::emulator
