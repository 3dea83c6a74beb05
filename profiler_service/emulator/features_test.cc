// What CUDA C++ uses besides arithmetic, in plain and in checked mode: the checked runs must draw no finding.
#include <cmath>
#include <numeric>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "profiler_service/emulator/ops/arithmetic/numeric.h"
#include "profiler_service/emulator/testing/emulator_fixture.h"

namespace sassay::emulator {
namespace {

using ::testing::HasSubstr;

#define ASSERT_RAN(execution) ASSERT_EQ((execution).outcome, sassay::worker::RUN_OUTCOME_OK) << (execution).message

class FeaturesTest : public testing::TestWithParam<sassay::worker::RunMode> {
 protected:
  FeaturesTest() : emulated_(CompiledBundle("features"), GetParam()) {}
  Emulated emulated_;
};

struct Scale {
  char tag;
  int shift;
  double factor;
  float values[3];
};

TEST_P(FeaturesTest, StructsGoByValueThroughCalls) {
  const uint64_t out = emulated_.Allocate(64);
  ASSERT_RAN(emulated_.Run("call_struct", {1, 1, 1}, {16, 1, 1}, {Bytes(Scale{1, 7, 0.5, {1, 3, 2}}), Bytes(out)}));
  const auto result = emulated_.Download<float>(out, 16);
  for (int i = 0; i < 4; ++i) EXPECT_FLOAT_EQ(result[i], (i + 1) * 3.0f + std::sin(i + 1.0f) + 7 + 0.5f) << i;
  const auto symbol = emulated_.device().Symbol("counter");
  ASSERT_TRUE(symbol.ok());
  EXPECT_EQ(emulated_.Download<int>(symbol->address, 1)[0], 5 + 16);
}

TEST_P(FeaturesTest, LanesMayCallDifferentFunctions) {
  std::vector<int> values(32);
  std::iota(values.begin(), values.end(), 0);
  const uint64_t io = emulated_.Upload(values);
  ASSERT_RAN(emulated_.Run("call_indirect", {1, 1, 1}, {32, 1, 1}, {Bytes(io)}));
  const auto result = emulated_.Download<int>(io, 32);
  for (int i = 0; i < 32; ++i) EXPECT_EQ(result[i], i % 2 ? i * 2 : i + 1);
}

TEST_P(FeaturesTest, RecursionHasAFramePerCall) {
  const uint64_t io = emulated_.Upload(std::vector<int>{1, 2, 3, 4, 5, 6, 7, 8});
  ASSERT_RAN(emulated_.Run("recurse", {1, 1, 1}, {8, 1, 1}, {Bytes(io)}));
  EXPECT_THAT(emulated_.Download<int>(io, 8), testing::ElementsAre(1, 2, 6, 24, 120, 720, 5040, 40320));
}

TEST_P(FeaturesTest, DivergentLoopsAndSwitchesFollowEachLane) {
  const uint64_t out = emulated_.Upload(std::vector<int>(64, -7));
  ASSERT_RAN(emulated_.Run("diverge", {1, 1, 1}, {64, 1, 1}, {Bytes(out)}));
  const auto result = emulated_.Download<int>(out, 64);
  for (int i = 0; i < 64; ++i) {
    int x = i, steps = 0;
    while (x != 1 && steps < 200) {
      x = x % 2 ? 3 * x + 1 : x / 2;
      if (x == 0) break;
      ++steps;
    }
    int expected = steps;
    if (i % 5 == 0) expected += 100;
    if (i % 5 == 1) expected *= 2;
    if (i % 5 == 2) expected = -expected;
    if (i % 5 == 3) expected = steps > 10 ? -7 : steps ^ 1;
    if (i % 5 == 4) expected = steps ^ 1;
    EXPECT_EQ(result[i], expected) << i;
  }
}

TEST_P(FeaturesTest, SpinLocksWithinAWarpEnd) {
  for (const char* kernel : {"spin_lock", "spin_lock_naked"}) {
    const uint64_t lock = emulated_.Upload(std::vector<int>{0}), sum = emulated_.Upload(std::vector<int>{0});
    ASSERT_RAN(emulated_.Run(kernel, {3, 1, 1}, {64, 1, 1}, {Bytes(lock), Bytes(sum)}));
    EXPECT_EQ(emulated_.Download<int>(sum, 1)[0], 192) << kernel;
  }
}

TEST_P(FeaturesTest, ReductionsAddUp) {
  std::vector<float> values(512);
  std::iota(values.begin(), values.end(), 1.0f);
  const uint64_t in = emulated_.Upload(values), out = emulated_.Upload(std::vector<float>{0, 0});
  ASSERT_RAN(emulated_.Run("block_reduce", {2, 1, 1}, {256, 1, 1}, {Bytes(in), Bytes(out)}));
  ASSERT_RAN(emulated_.Run("tree_reduce", {1, 1, 1}, {256, 1, 1}, {Bytes(in), Bytes(out + 4)}, 1024));
  EXPECT_THAT(emulated_.Download<float>(out, 2), testing::ElementsAre(512 * 513 / 2, 256 * 257 / 2));
}

TEST_P(FeaturesTest, BlocksMayMeetThroughSemaphores) {
  std::vector<float> values(32 * 40, 1.0f);
  const uint64_t in = emulated_.Upload(values), partial = emulated_.Allocate(40 * 4);
  const uint64_t arrived = emulated_.Upload(std::vector<int>{0}), out = emulated_.Allocate(4);
  ASSERT_RAN(
      emulated_.Run("split_sum", {40, 1, 1}, {32, 1, 1}, {Bytes(in), Bytes(partial), Bytes(arrived), Bytes(out)}));
  EXPECT_EQ(emulated_.Download<float>(out, 1)[0], 1280);
}

TEST_P(FeaturesTest, BlocksThatWaitForEarlierOnesEnd) {
  const uint64_t turn = emulated_.Upload(std::vector<int>{0}), out = emulated_.Upload(std::vector<float>{0});
  ASSERT_RAN(emulated_.Run("in_order", {20, 1, 1}, {64, 1, 1}, {Bytes(turn), Bytes(out)}));
  float expected = 0;
  for (int i = 0; i < 20; ++i) expected = expected * 2 + static_cast<float>(i);
  EXPECT_EQ(emulated_.Download<float>(out, 1)[0], expected);
}

TEST_P(FeaturesTest, GridSyncHoldsAllBlocks) {
  const uint64_t data = emulated_.Allocate(16 * 64 * 4), out = emulated_.Allocate(16 * 64 * 4);
  ASSERT_RAN(emulated_.Run("grid_sync", {16, 1, 1}, {64, 1, 1}, {Bytes(data), Bytes(out)}, 0, true));
  const auto result = emulated_.Download<int>(out, 16 * 64);
  for (int i = 0; i < 16 * 64; ++i) ASSERT_EQ(result[i], (i + 64) % (16 * 64));
}

TEST_P(FeaturesTest, PrintfFormatsOnTheDevice) {
  const auto execution = emulated_.Run("print_and_check", {1, 1, 1}, {32, 1, 1}, {Bytes(32)});
  ASSERT_RAN(execution);
  EXPECT_EQ(execution.device_output, "block 0 of 1:  2.50 text x 1099511627776%\n");
}

TEST_P(FeaturesTest, AssertionsNameTheirText) {
  const auto execution = emulated_.Run("print_and_check", {1, 1, 1}, {32, 1, 1}, {Bytes(20)});
  EXPECT_EQ(execution.outcome, sassay::worker::RUN_OUTCOME_FAULT);
  EXPECT_EQ(execution.code, sassay::v1::VERDICT_CODE_ASSERT);
  EXPECT_THAT(execution.message, HasSubstr("assertion `(int)threadIdx.x < limit' failed"));
  EXPECT_THAT(execution.message, HasSubstr("features.cu:"));
}

TEST_P(FeaturesTest, TrapsNameTheThread) {
  const auto execution = emulated_.Run("trap_on", {1, 1, 1}, {64, 1, 1}, {Bytes(37)});
  EXPECT_EQ(execution.code, sassay::v1::VERDICT_CODE_TRAP);
  ASSERT_EQ(execution.findings.size(), 1u);
  EXPECT_EQ(execution.findings[0].where().thread().x(), 37u);
}

TEST_P(FeaturesTest, WarpWideInstructionsSeeAllLanes) {
  const uint64_t out = emulated_.Allocate(32 * 6 * 4);
  ASSERT_RAN(emulated_.Run("warp_wide", {1, 1, 1}, {32, 1, 1}, {Bytes(out)}));
  const auto result = emulated_.Download<uint32_t>(out, 32 * 6);
  for (uint32_t lane = 0; lane < 32; ++lane) {
    EXPECT_EQ(result[lane * 6], 0x49249249u);
    EXPECT_EQ(result[lane * 6 + 1], 0x11111111u << (lane % 4));
    EXPECT_EQ(result[lane * 6 + 2], 496u);
    EXPECT_EQ(result[lane * 6 + 3], lane < 3 ? lane : lane - 3);
    EXPECT_EQ(result[lane * 6 + 4], lane / 8 * 8 + 5);
    EXPECT_EQ(result[lane * 6 + 5], lane % 2 ? 0xaaaaaaaau : 0u);
  }
}

TEST_P(FeaturesTest, ArmsOfABranchMakeWarpWideInstructionsTogether) {
  const uint64_t out = emulated_.Allocate(32 * 5 * 4);
  ASSERT_RAN(emulated_.Run("warp_wide_in_both_arms", {1, 1, 1}, {32, 1, 1}, {Bytes(out)}));
  const auto result = emulated_.Download<uint32_t>(out, 32 * 5);
  for (uint32_t lane = 0; lane < 32; ++lane) {
    const uint32_t from = lane + 5 < 32 ? lane + 5 : lane;
    const uint32_t value = from % 3 == 0 ? 1000 + from : 2000 + 2 * from;
    EXPECT_EQ(result[lane * 5], lane % 3 == 0 ? value : value * 10) << lane;
    EXPECT_EQ(result[lane * 5 + 1], lane + 5 < 32) << lane;
    EXPECT_EQ(result[lane * 5 + 2], 0xffu) << lane;
    EXPECT_EQ(result[lane * 5 + 3], 0xfu << (lane / 4 * 4)) << lane;
    EXPECT_EQ(result[lane * 5 + 4], 496u) << lane;
  }
}

TEST_P(FeaturesTest, BarriersThatAreNotAlignedTakeLanesFromBothArms) {
  const uint64_t out = emulated_.Allocate(64 * 4);
  ASSERT_RAN(emulated_.Run("barrier_in_both_arms", {1, 1, 1}, {64, 1, 1}, {Bytes(out)}));
  const auto result = emulated_.Download<int>(out, 64);
  for (int i = 0; i < 64; ++i) EXPECT_EQ(result[i], i % 2 ? (i ^ 33) + 100 : (i ^ 33) * 2) << i;
}

TEST_P(FeaturesTest, BarriersReduceAndForgetWhoLeft) {
  const uint64_t out = emulated_.Upload(std::vector<int>(128, -1));
  ASSERT_RAN(emulated_.Run("barriers", {1, 1, 1}, {128, 1, 1}, {Bytes(out)}));
  const auto result = emulated_.Download<int>(out, 128);
  for (int i = 0; i < 128; ++i) EXPECT_EQ(result[i], i < 96 ? 481 : -1);
}

TEST_P(FeaturesTest, PaddingOfStructsIsNoUninitializedRead) {
  std::vector<float> values(64);
  std::iota(values.begin(), values.end(), 1.0f);
  const uint64_t in = emulated_.Upload(values), out = emulated_.Allocate(64 * 4), kept = emulated_.Allocate(64 * 16);
  ASSERT_RAN(emulated_.Run("copy_padded", {1, 1, 1}, {64, 1, 1}, {Bytes(in), Bytes(out), Bytes(kept)}));
  const auto result = emulated_.Download<float>(out, 64);
  for (int i = 0; i < 64; ++i) EXPECT_EQ(result[i], 3.0f * (64 - i) + (63 - i)) << i;
}

TEST_P(FeaturesTest, HalvesRoundAsHalves) {
  std::vector<float> values(64);
  for (int i = 0; i < 64; ++i) values[i] = 0.37f * (i - 20);
  const uint64_t in = emulated_.Upload(values), h = emulated_.Allocate(32 * 8), b = emulated_.Allocate(32 * 4);
  ASSERT_RAN(emulated_.Run("halves", {1, 1, 1}, {32, 1, 1}, {Bytes(in), Bytes(h), Bytes(b)}));
  const auto half = emulated_.Download<uint16_t>(h, 128);
  const auto pair = emulated_.Download<uint16_t>(b, 64);
  for (int i = 0; i < 32; ++i) {
    const float x = HalfToFloat(FloatToHalf(values[i])), y = HalfToFloat(FloatToHalf(values[i + 32]));
    EXPECT_EQ(half[i * 4], FloatToHalf(x + y));
    EXPECT_NEAR(HalfToFloat(half[i * 4 + 1]), x * y + x * x, 0.05f * std::fabs(x) + 0.01f);
    EXPECT_EQ(half[i * 4 + 3], FloatToHalf(std::max(x, y)));
    const float p = Bf16ToFloat(FloatToBf16(values[i]));
    EXPECT_EQ(pair[i * 2], FloatToBf16(p * p + p)) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Modes, FeaturesTest,
                         testing::Values(sassay::worker::RUN_MODE_PLAIN, sassay::worker::RUN_MODE_CHECKED),
                         [](const auto& info) { return sassay::worker::RunMode_Name(info.param); });

}  // namespace
}  // namespace sassay::emulator
