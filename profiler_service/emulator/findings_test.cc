// Broken kernels draw the finding they deserve, at the line that is wrong; and what hangs is told where.
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "profiler_service/emulator/testing/emulator_fixture.h"

namespace sassay::emulator {
namespace {

using sassay::v1::Finding;
using sassay::worker::RUN_MODE_CHECKED;
using sassay::worker::RUN_MODE_PLAIN;
using ::testing::HasSubstr;

class FindingsTest : public testing::Test {
 protected:
  // The line of testing/broken.cu that is marked "FAULT <kernel>".
  std::string FaultLine(const std::string& kernel) const {
    const std::vector<std::string> lines = absl::StrSplit(bundle_.sources(0).content(), '\n');
    for (size_t i = 0; i < lines.size(); ++i) {
      if (lines[i].find(absl::StrCat("FAULT ", kernel)) != std::string::npos) return absl::StrCat("broken.cu:", i + 1);
    }
    return "no line marked";
  }
  // The first finding of an execution that must have one of this code.
  Finding First(const device::Execution& execution, sassay::v1::VerdictCode code) const {
    EXPECT_EQ(execution.outcome, sassay::worker::RUN_OUTCOME_FAULT) << execution.message;
    EXPECT_EQ(execution.code, code) << execution.message;
    if (execution.findings.empty()) return {};
    EXPECT_EQ(execution.findings[0].code(), code);
    return execution.findings[0];
  }

  const sassay::v1::Bundle bundle_ = CompiledBundle("broken");
  Emulated checked_{bundle_, RUN_MODE_CHECKED};
  Emulated plain_{bundle_, RUN_MODE_PLAIN};
};

TEST_F(FindingsTest, OffByOneStoreNamesBufferDistanceThreadAndLine) {
  const uint64_t c = checked_.Allocate(100 * 4, "C");
  const Finding finding = First(checked_.Run("store_past_end", {2, 1, 1}, {64, 1, 1}, {Bytes(c), Bytes(100)}),
                                sassay::v1::VERDICT_CODE_OOB_GLOBAL_WRITE);
  EXPECT_EQ(finding.message(), "store of 4 bytes, right past the end of C (400 bytes)");
  EXPECT_EQ(finding.buffer(), "C");
  EXPECT_EQ(finding.distance_bytes(), 0);
  EXPECT_EQ(finding.where().block().x(), 1u);
  EXPECT_EQ(finding.where().thread().x(), 36u);
  EXPECT_EQ(finding.where().source_line(), FaultLine("store_past_end"));
  EXPECT_THAT(finding.where().source_text(), HasSubstr("C[i] = 1.0f"));
  EXPECT_THAT(finding.where().ptx_text(), HasSubstr("st.global"));
}

TEST_F(FindingsTest, LoadBeforeTheStartIsToldFromTheStart) {
  const uint64_t a = checked_.Upload(std::vector<float>(32, 1.0f), "A"), c = checked_.Allocate(32 * 4, "C");
  const Finding finding = First(checked_.Run("load_before_start", {1, 1, 1}, {32, 1, 1}, {Bytes(a), Bytes(c)}),
                                sassay::v1::VERDICT_CODE_OOB_GLOBAL_READ);
  EXPECT_EQ(finding.distance_bytes(), -4);
  EXPECT_EQ(finding.message(), "load of 4 bytes, 4 bytes before the start of A (128 bytes)");
  EXPECT_EQ(finding.where().source_line(), FaultLine("load_before_start"));
}

TEST_F(FindingsTest, FreedBuffersAreNamed) {
  const uint64_t a = checked_.Upload(std::vector<float>(64, 1.0f), "workspace 0"), c = checked_.Allocate(32 * 4, "C");
  ASSERT_TRUE(checked_.device().Free(a).ok());
  const Finding finding = First(checked_.Run("load_before_start", {1, 1, 1}, {32, 1, 1}, {Bytes(a + 16), Bytes(c)}),
                                sassay::v1::VERDICT_CODE_USE_AFTER_FREE);
  EXPECT_EQ(finding.buffer(), "workspace 0");
}

TEST_F(FindingsTest, UnwrittenWorkspaceIsFoundWhereItIsRead) {
  const uint64_t w = checked_.Allocate(32 * 4, "workspace 0"), c = checked_.Allocate(32 * 4, "C");
  ASSERT_TRUE(checked_.device().Poison(w, 32 * 4, 7).ok());
  const Finding finding = First(checked_.Run("read_unwritten", {1, 1, 1}, {32, 1, 1}, {Bytes(w), Bytes(c)}),
                                sassay::v1::VERDICT_CODE_UNINITIALIZED_READ);
  EXPECT_EQ(finding.where().source_line(), FaultLine("read_unwritten"));
  EXPECT_EQ(finding.buffer(), "workspace 0");
  const Finding branch = First(checked_.Run("branch_on_unwritten", {1, 1, 1}, {32, 1, 1}, {Bytes(w), Bytes(c)}),
                               sassay::v1::VERDICT_CODE_UNINITIALIZED_READ);
  EXPECT_EQ(branch.where().source_line(), FaultLine("branch_on_unwritten"));
}

TEST_F(FindingsTest, MissingBarriersAreRaces) {
  const uint64_t a = checked_.Upload(std::vector<float>(256, 1.0f), "A"), c = checked_.Allocate(128 * 4, "C");
  const Finding finding = First(checked_.Run("missing_barrier", {1, 1, 1}, {128, 1, 1}, {Bytes(a), Bytes(c)}),
                                sassay::v1::VERDICT_CODE_SHARED_RACE);
  EXPECT_TRUE(finding.has_other());
  EXPECT_THAT(finding.message(),
              HasSubstr(absl::StrCat(" at ", finding.other().source_line(), ", with no barrier between")));
  EXPECT_THAT((std::vector<std::string>{finding.where().source_line(), finding.other().source_line()}),
              testing::Contains(FaultLine("missing_barrier")));
  const uint64_t varied = checked_.Upload([] {
    std::vector<float> values(256);
    for (int i = 0; i < 256; ++i) values[i] = static_cast<float>(i);
    return values;
  }());
  First(checked_.Run("missing_second_barrier", {1, 1, 1}, {64, 1, 1}, {Bytes(varied), Bytes(c)}),
        sassay::v1::VERDICT_CODE_SHARED_RACE);
}

TEST_F(FindingsTest, SharedMemoryHasAnEndAndABeginning) {
  const uint64_t c = checked_.Allocate(64 * 4, "C");
  const Finding finding =
      First(checked_.Run("shared_past_end", {1, 1, 1}, {64, 1, 1}, {Bytes(c)}), sassay::v1::VERDICT_CODE_OOB_SHARED);
  EXPECT_EQ(finding.where().thread().x(), 63u);
  EXPECT_EQ(finding.message(), "store of 4 bytes, right past the end of static shared memory (256 bytes)");
  const Finding unwritten = First(checked_.Run("shared_unwritten", {1, 1, 1}, {64, 1, 1}, {Bytes(c)}),
                                  sassay::v1::VERDICT_CODE_UNINITIALIZED_READ);
  EXPECT_EQ(unwritten.where().source_line(), FaultLine("shared_unwritten"));
}

TEST_F(FindingsTest, MisalignedAccessFaultsInEveryMode) {
  for (Emulated* emulated : {&checked_, &plain_}) {
    const uint64_t c = emulated->Allocate(64, "C");
    const Finding finding =
        First(emulated->Run("misaligned", {1, 1, 1}, {1, 1, 1}, {Bytes(c)}), sassay::v1::VERDICT_CODE_MISALIGNED);
    EXPECT_EQ(finding.where().source_line(), FaultLine("misaligned"));
  }
}

TEST_F(FindingsTest, BarriersInBothArmsOfAWarpAreDivergent) {
  const uint64_t c = checked_.Allocate(64 * 4, "C");
  First(checked_.Run("divergent_barrier", {1, 1, 1}, {64, 1, 1}, {Bytes(c)}),
        sassay::v1::VERDICT_CODE_BARRIER_DIVERGENCE);
}

TEST_F(FindingsTest, PlainRunsFaultOutsideBuffersAndTolerateSlack) {
  const uint64_t c = plain_.Allocate(100 * 4, "C");
  EXPECT_EQ(plain_.Run("store_past_end", {2, 1, 1}, {64, 1, 1}, {Bytes(c), Bytes(100)}).outcome,
            sassay::worker::RUN_OUTCOME_OK);
  const auto far = plain_.Run("store_past_end", {8, 1, 1}, {64, 1, 1}, {Bytes(c), Bytes(500)});
  EXPECT_EQ(far.outcome, sassay::worker::RUN_OUTCOME_FAULT);
  EXPECT_EQ(far.code, sassay::v1::VERDICT_CODE_ILLEGAL_ADDRESS);
  EXPECT_EQ(far.findings[0].code(), sassay::v1::VERDICT_CODE_OOB_GLOBAL_WRITE);
}

TEST_F(FindingsTest, ABarrierThatOneWarpNeverReachesIsExplainedAtOnce) {
  const uint64_t c = plain_.Allocate(128 * 4, "C");
  const auto execution = plain_.Run("never_reached_barrier", {1, 1, 1}, {128, 1, 1}, {Bytes(c)});
  EXPECT_EQ(execution.outcome, sassay::worker::RUN_OUTCOME_TIMEOUT);
  EXPECT_EQ(execution.code, sassay::v1::VERDICT_CODE_BARRIER_DEADLOCK);
  EXPECT_THAT(execution.message, HasSubstr("3 warps waiting at barrier 0, where 96 of 128 threads are at broken.cu:"));
  EXPECT_THAT(execution.message, HasSubstr("1 warp waiting at barrier 1, where 32 of 64 threads are"));
  EXPECT_EQ(execution.warps.size(), 2u);
}

TEST_F(FindingsTest, EndlessLoopsTimeOutWhereTheyStand) {
  const uint64_t flag = plain_.Upload(std::vector<float>{0, 0, 0, 0});
  for (const char* kernel : {"endless", "endless_compute"}) {
    const auto execution = plain_.Run(kernel, {2, 1, 1}, {64, 1, 1}, {Bytes(flag)}, 0, false, absl::Milliseconds(300));
    EXPECT_EQ(execution.outcome, sassay::worker::RUN_OUTCOME_TIMEOUT) << kernel;
    EXPECT_EQ(execution.code, sassay::v1::VERDICT_CODE_KERNEL_TIMEOUT);
    ASSERT_FALSE(execution.warps.empty());
    EXPECT_THAT(execution.warps[0].where().source_line(), HasSubstr("broken.cu:"));
  }
}

TEST_F(FindingsTest, ARunThatCannotEndInTimeIsRefusedWithAnEstimate) {
  const uint64_t c = plain_.Allocate(uint64_t{100000} * 256 * 4, "C");
  const absl::Time start = absl::Now();
  const auto execution =
      plain_.Run("slow", {100000, 1, 1}, {256, 1, 1}, {Bytes(c), Bytes(20000)}, 0, false, absl::Seconds(20));
  EXPECT_EQ(execution.outcome, sassay::worker::RUN_OUTCOME_REFUSED) << execution.message;
  EXPECT_EQ(execution.code, sassay::v1::VERDICT_CODE_TOO_LARGE_FOR_DEVICE);
  EXPECT_THAT(execution.message, HasSubstr("would take at least"));
  EXPECT_LT(absl::Now() - start, absl::Seconds(15));
}

TEST_F(FindingsTest, WhatTheEmulatorLacksIsOurTroubleAndNamed) {
  const uint64_t c = plain_.Allocate(64);
  const auto execution = plain_.Run("heap", {1, 1, 1}, {1, 1, 1}, {Bytes(c)});
  EXPECT_EQ(execution.outcome, sassay::worker::RUN_OUTCOME_INFRA);
  EXPECT_THAT(execution.message, HasSubstr("UNIMPLEMENTED: emulator lacks call of malloc (PTX line "));
}

// ---- asynchronous copies ----

TEST_F(FindingsTest, CopiesUnderWayRaceWithWhoeverTouchesThem) {
  std::vector<float> values(64 * 4 * 8);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i + 1);
  for (const char* kernel : {"copy_read_too_early", "copy_waits_for_the_wrong_group", "copy_without_barrier",
                             "copy_destination_written", "copy_source_written", "copy_overwrites_what_others_read"}) {
    Emulated checked(bundle_, RUN_MODE_CHECKED);
    const uint64_t a = checked.Upload(values, "A"), c = checked.Allocate(64 * 16, "C");
    std::vector<std::string> arguments = {Bytes(a), Bytes(c)};
    if (std::string(kernel) == "copy_overwrites_what_others_read") arguments.push_back(Bytes(4));
    const Finding finding =
        First(checked.Run(kernel, {1, 1, 1}, {64, 1, 1}, arguments), sassay::v1::VERDICT_CODE_SHARED_RACE);
    // Who of the two is told first depends on which warp runs ahead.
    EXPECT_THAT((std::vector<std::string>{finding.where().source_line(), finding.other().source_line()}),
                testing::Contains(FaultLine(kernel)))
        << finding.message();
  }
}

TEST_F(FindingsTest, CopiesUnderWayAreTold) {
  const uint64_t a = checked_.Upload(std::vector<float>(64 * 4, 1.0f), "A"), c = checked_.Allocate(64 * 16, "C");
  const auto early = checked_.Run("copy_read_too_early", {1, 1, 1}, {64, 1, 1}, {Bytes(a), Bytes(c)});
  EXPECT_THAT(early.message, HasSubstr("load of 4 bytes at offset 0 of tile by thread 0 while the asynchronous copy by "
                                       "thread 0 at broken.cu:"));
  EXPECT_THAT(early.message, HasSubstr("is under way there: thread 0 has not waited for it"));
  const auto source = checked_.Run("copy_source_written", {1, 1, 1}, {64, 1, 1}, {Bytes(a), Bytes(c)});
  EXPECT_THAT(source.message,
              HasSubstr("store of 4 bytes to A by thread 0 while the asynchronous copy by thread 0 at"));
}

TEST_F(FindingsTest, HonestPipelinesOfCopiesHaveNoFinding) {
  constexpr int kTiles = 8;
  std::vector<float> values(64 * 4 * kTiles);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 97);
  const uint64_t a = checked_.Upload(values, "A"), c = checked_.Allocate(64 * 16 * kTiles, "C");
  const auto execution = checked_.Run("copy_pipeline", {3, 1, 1}, {64, 1, 1}, {Bytes(a), Bytes(c), Bytes(kTiles)});
  ASSERT_EQ(execution.outcome, sassay::worker::RUN_OUTCOME_OK) << execution.message;
  float sum = 0;
  for (int t = 0; t < kTiles; ++t) sum += values[(t * 64 + 63) * 4];
  EXPECT_EQ(checked_.Download<float>(c, 64 * 4 * kTiles)[(kTiles - 1) * 256], sum);
  const auto own = checked_.Run("copy_own", {1, 1, 1}, {64, 1, 1}, {Bytes(a), Bytes(c), Bytes(40)});
  ASSERT_EQ(own.outcome, sassay::worker::RUN_OUTCOME_OK) << own.message;
  const auto copied = checked_.Download<float>(c, 64 * 4);
  for (int i = 0; i < 64 * 4; ++i) EXPECT_EQ(copied[i], i / 4 < 40 ? values[i] : 0.0f) << i;
}

// ---- lanes that meet ----

TEST_F(FindingsTest, LanesMeetAtWarpBarriersInDifferentArms) {
  const uint64_t out = checked_.Allocate(32 * 4, "out");
  const auto execution = checked_.Run("meet_in_both_arms", {1, 1, 1}, {32, 1, 1}, {Bytes(out)});
  ASSERT_EQ(execution.outcome, sassay::worker::RUN_OUTCOME_OK) << execution.message;
  const auto result = checked_.Download<int>(out, 32);
  for (int i = 0; i < 32; ++i) EXPECT_EQ(result[i], i % 2 ? (i - 1) * 10 + 2 : (i + 1) * 100 + 1) << i;
}

TEST_F(FindingsTest, WarpBarriersWithOtherMasksNeverMeet) {
  const uint64_t out = checked_.Allocate(32 * 4, "out");
  const Finding finding = First(checked_.Run("meet_with_other_masks", {1, 1, 1}, {32, 1, 1}, {Bytes(out)}),
                                sassay::v1::VERDICT_CODE_BARRIER_DIVERGENCE);
  EXPECT_EQ(finding.where().source_line(), FaultLine("meet_with_other_masks"));
}

TEST_F(FindingsTest, ArmsThatShuffleOtherwiseWaitForOneAnotherInVain) {
  const uint64_t out = checked_.Allocate(32 * 4, "out");
  First(checked_.Run("shuffle_otherwise_in_the_other_arm", {1, 1, 1}, {32, 1, 1}, {Bytes(out)}),
        sassay::v1::VERDICT_CODE_BARRIER_DIVERGENCE);
}

// ---- inputs ----

TEST_F(FindingsTest, AStoreToAnInputIsSeenEvenIfItIsUndone) {
  const uint64_t a = checked_.Upload(std::vector<int>(32, 5), "A"), c = checked_.Allocate(32 * 4, "C");
  ASSERT_TRUE(checked_.device().MarkInput(a).ok());
  const Finding finding = First(checked_.Run("input_put_back", {1, 1, 1}, {32, 1, 1}, {Bytes(a), Bytes(c)}),
                                sassay::v1::VERDICT_CODE_INPUT_MODIFIED);
  EXPECT_EQ(finding.where().source_line(), FaultLine("input_put_back"));
  EXPECT_EQ(finding.buffer(), "A");
  EXPECT_EQ(finding.message(), "store of 4 bytes changes A, an input, which kernels must leave as it is");
  EXPECT_THAT(checked_.Download<int>(a, 32), testing::Each(5));
  EXPECT_FALSE(checked_.device().MarkInput(a + 4).ok());
}

TEST_F(FindingsTest, WhatLeavesAnInputAsItIsIsNoFinding) {
  const uint64_t a = checked_.Upload(std::vector<int>(32, 5), "A"), c = checked_.Allocate(32 * 4, "C");
  ASSERT_TRUE(checked_.device().MarkInput(a).ok());
  const auto execution = checked_.Run("input_left_as_it_is", {1, 1, 1}, {32, 1, 1}, {Bytes(a), Bytes(c)});
  EXPECT_EQ(execution.outcome, sassay::worker::RUN_OUTCOME_OK) << execution.message;
}

TEST_F(FindingsTest, AnAtomicThatChangesAnInputIsSeen) {
  const uint64_t a = checked_.Upload(std::vector<int>(32, 5), "A");
  ASSERT_TRUE(checked_.device().MarkInput(a).ok());
  const Finding finding = First(checked_.Run("input_counted_in", {1, 1, 1}, {32, 1, 1}, {Bytes(a)}),
                                sassay::v1::VERDICT_CODE_INPUT_MODIFIED);
  EXPECT_EQ(finding.where().thread().x(), 7u);
}

// ---- volatile ----

TEST_F(FindingsTest, VolatileStoresOfDifferentValuesRace) {
  const uint64_t out = checked_.Allocate(256 * 4, "out");
  const Finding finding =
      First(checked_.Run("volatile_box", {1, 1, 1}, {256, 1, 1}, {Bytes(out)}), sassay::v1::VERDICT_CODE_SHARED_RACE);
  EXPECT_EQ(finding.where().source_line(), FaultLine("volatile_box"));
}

TEST_F(FindingsTest, VolatileFlagsAreHonest) {
  const uint64_t out = checked_.Allocate(128 * 4, "out");
  const auto execution = checked_.Run("volatile_flags", {1, 1, 1}, {128, 1, 1}, {Bytes(out), Bytes(5)});
  ASSERT_EQ(execution.outcome, sassay::worker::RUN_OUTCOME_OK) << execution.message;
  EXPECT_EQ(checked_.Download<int>(out, 1)[0], 5 * 6 + 1);
}

}  // namespace
}  // namespace sassay::emulator
