// mbarrier.*, instruction by instruction, in hand-written PTX.
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "profiler_service/emulator/testing/emulator_fixture.h"

namespace sassay::emulator {
namespace {

using sassay::worker::RUN_MODE_CHECKED;
using sassay::worker::RUN_MODE_PLAIN;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A kernel with a barrier `bar` in shared memory, out in %rd1, thread in %t, predicates %p, 32-bit %r, 64-bit %rd.
std::string Kernel(const std::string& body) {
  return absl::StrCat(R"(
.entry k(.param .u64 out) {
  .shared .align 8 .b64 bar[4];
  .shared .align 4 .b32 data[64];
  .reg .pred %p<10>; .reg .b32 %r<20>, %t; .reg .b64 %rd<20>;
  ld.param.u64 %rd1, [out];
  mov.u32 %t, %tid.x;
)",
                      body, "\n ret; }");
}

// Only the first thread, then all.
std::string First(const std::string& body) {
  return absl::StrCat("setp.ne.u32 %p9, %t, 0; @%p9 bra OTHERS;\n", body, "\nOTHERS: bar.sync 0;\n");
}

class MbarrierTest : public testing::TestWithParam<sassay::worker::RunMode> {
 protected:
  device::Execution Run(const std::string& body, uint32_t threads = 32) {
    emulated_ = std::make_unique<Emulated>(TextBundle(Kernel(body)), GetParam());
    out_ = emulated_->Upload(std::vector<uint32_t>(64, 77));
    return emulated_->Run("k", {1, 1, 1}, {threads, 1, 1}, {Bytes(out_)});
  }
  std::vector<uint32_t> Out(size_t count) { return emulated_->Download<uint32_t>(out_, count); }

  std::unique_ptr<Emulated> emulated_;
  uint64_t out_ = 0;
};

#define EXPECT_RAN(execution)                                              \
  {                                                                        \
    const auto ran = (execution);                                          \
    EXPECT_EQ(ran.outcome, sassay::worker::RUN_OUTCOME_OK) << ran.message; \
  }

// Stores predicate %p1 as the next word of `out`.
std::string Show(int index) {
  return absl::StrCat("selp.u32 %r19, 1, 0, %p1; st.global.u32 [%rd1+", 4 * index, "], %r19;\n");
}

TEST_P(MbarrierTest, PhasesEndWhenAllHaveArrivedAndParityTellsThemApart) {
  EXPECT_RAN(Run(absl::StrCat("mbarrier.init.shared::cta.b64 [bar], 2;\n",
                              "mbarrier.test_wait.parity.shared::cta.b64 %p1, [bar], 0;\n", Show(0),
                              "mbarrier.test_wait.parity.shared::cta.b64 %p1, [bar], 1;\n", Show(1),
                              "mbarrier.arrive.shared::cta.b64 _, [bar];\n",
                              "mbarrier.test_wait.parity.shared.b64 %p1, [bar], 0;\n", Show(2),
                              "mbarrier.arrive.release.cta.shared::cta.b64 %rd2, [bar];\n",
                              "mbarrier.test_wait.parity.acquire.cta.shared::cta.b64 %p1, [bar], 0;\n", Show(3),
                              "mbarrier.try_wait.parity.shared::cta.b64 %p1, [bar], 0;\n", Show(4),
                              "mbarrier.test_wait.shared::cta.b64 %p1, [bar], %rd2;\n", Show(5),
                              "mbarrier.arrive.shared::cta.b64 _, [bar], 2;\n",
                              "mbarrier.test_wait.parity.shared::cta.b64 %p1, [bar], 1;\n", Show(6),
                              "mbarrier.test_wait.parity.shared::cta.b64 %p1, [bar], 0;\n", Show(7)),
                 1));
  // Parity 0 over: no; "phase -1": yes; one of two: no; over by any way to ask; the second phase, then not the third.
  EXPECT_THAT(Out(8), ElementsAre(0, 1, 0, 1, 1, 1, 1, 0));
}

TEST_P(MbarrierTest, AnnouncedBytesHoldThePhaseOpen) {
  EXPECT_RAN(Run(absl::StrCat("mbarrier.init.shared::cta.b64 [bar], 1;\n",
                              "mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 48;\n",
                              "mbarrier.test_wait.parity.shared::cta.b64 %p1, [bar], 0;\n", Show(0),
                              "mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [bar], 32;\n",
                              "mbarrier.test_wait.parity.shared::cta.b64 %p1, [bar], 0;\n", Show(1),
                              "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [bar], 16;\n",
                              "mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [bar], 16;\n",
                              "mbarrier.test_wait.parity.shared::cta.b64 %p1, [bar], 0;\n", Show(2),
                              "mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [bar], 16;\n",
                              "mbarrier.test_wait.parity.shared::cta.b64 %p1, [bar], 0;\n", Show(3)),
                 1));
  EXPECT_THAT(Out(4), ElementsAre(0, 0, 0, 1));
}

TEST_P(MbarrierTest, BytesMayComeBeforeTheyAreAnnounced) {
  EXPECT_RAN(Run(absl::StrCat("mbarrier.init.shared::cta.b64 [bar], 1;\n",
                              "mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [bar], 64;\n",
                              "mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 64;\n",
                              "mbarrier.test_wait.parity.shared::cta.b64 %p1, [bar], 0;\n", Show(0)),
                 1));
  EXPECT_THAT(Out(1), ElementsAre(1));
}

TEST_P(MbarrierTest, StatesTellThePendingCountBeforeTheArrival) {
  EXPECT_RAN(Run(R"(mov.u64 %rd5, bar; cvta.shared.u64 %rd4, %rd5;
                    mbarrier.init.b64 [%rd4], 5;
                    mbarrier.arrive.shared::cta.b64 %rd2, [bar];
                    mbarrier.arrive.shared::cta.b64 %rd3, [bar], 2;
                    mbarrier.pending_count.b64 %r1, %rd2;
                    mbarrier.pending_count.b64 %r2, %rd3;
                    st.global.v2.u32 [%rd1], {%r1, %r2};)",
                 1));
  EXPECT_THAT(Out(2), ElementsAre(5, 4));
}

TEST_P(MbarrierTest, WhoDropsOutIsNotWaitedForAgain) {
  EXPECT_RAN(
      Run(absl::StrCat("mbarrier.init.shared::cta.b64 [bar], 2;\n", "mbarrier.arrive_drop.shared::cta.b64 _, [bar];\n",
                       "mbarrier.arrive.shared::cta.b64 _, [bar];\n", "mbarrier.arrive.shared::cta.b64 _, [bar];\n",
                       "mbarrier.test_wait.parity.shared::cta.b64 %p1, [bar], 1;\n", Show(0)),
          1));
  EXPECT_THAT(Out(1), ElementsAre(1));
}

TEST_P(MbarrierTest, WaitersSleepUntilOtherWarpsArriveAndSeeWhatTheyWrote) {
  EXPECT_RAN(Run(absl::StrCat(First("mbarrier.init.shared::cta.b64 [bar], 64;"), R"(
    shl.b32 %r1, %t, 2; mov.u32 %r2, data; add.u32 %r1, %r1, %r2;
    setp.lt.u32 %p1, %t, 32;
    @%p1 bra READ;
    mov.u32 %r4, 0;
SLOW: add.u32 %r4, %r4, 1; setp.lt.u32 %p2, %r4, 40000; @%p2 bra SLOW;
    st.shared.u32 [%r1+-128], %t;
    st.shared.u32 [%r1], %t;
    mbarrier.arrive.shared::cta.b64 _, [bar], 2;
    bra END;
READ:
AGAIN: mbarrier.try_wait.parity.shared::cta.b64 %p3, [bar], 0;
    @!%p3 bra AGAIN;
    ld.shared.u32 %r5, [%r1];
    mul.wide.u32 %rd2, %t, 4; add.u64 %rd2, %rd1, %rd2;
    st.global.u32 [%rd2], %r5;
END:)"),
                 64));
  EXPECT_EQ(Out(32)[0], 32u);
  EXPECT_EQ(Out(32)[31], 63u);
}

TEST_P(MbarrierTest, AWaitThatIsOneWayAmongOthersReturns) {
  // One warp asks two barriers in turn; only the second ever completes, and only after the warp has asked the first.
  EXPECT_RAN(Run(absl::StrCat(First("mbarrier.init.shared::cta.b64 [bar], 1; mbarrier.init.shared::cta.b64 [bar+8], 1;"
                                    "mbarrier.init.shared::cta.b64 [bar+16], 1;"),
                              R"(
    setp.ge.u32 %p1, %t, 32; @%p1 bra OTHER;
ASK: mbarrier.try_wait.parity.shared::cta.b64 %p2, [bar], 0; @%p2 bra DONE;
    setp.ne.u32 %p4, %t, 0;
    @!%p4 mbarrier.arrive.shared::cta.b64 _, [bar+16];
    mbarrier.try_wait.parity.shared::cta.b64 %p2, [bar+8], 0; @!%p2 bra ASK;
    bra DONE;
OTHER: setp.ne.u32 %p4, %t, 32; @%p4 bra DONE;
WAIT: mbarrier.try_wait.parity.shared::cta.b64 %p2, [bar+16], 0; @!%p2 bra WAIT;
    mbarrier.arrive.shared::cta.b64 _, [bar+8];
DONE:)"),
                 64));
}

TEST_P(MbarrierTest, CopiesOfCpAsyncArriveWhenTheyHaveLanded) {
  EXPECT_RAN(Run(absl::StrCat(First("mbarrier.init.shared::cta.b64 [bar], 32;"), R"(
    shl.b32 %r1, %t, 2; mov.u32 %r2, data; add.u32 %r2, %r1, %r2;
    cvt.u64.u32 %rd2, %r1; add.u64 %rd2, %rd1, %rd2;
    cp.async.ca.shared.global [%r2], [%rd2], 4;
    cp.async.mbarrier.arrive.noinc.shared::cta.b64 [bar];
AGAIN: mbarrier.try_wait.parity.shared::cta.b64 %p1, [bar], 0; @!%p1 bra AGAIN;
    xor.b32 %r3, %r1, 124; mov.u32 %r4, data; add.u32 %r3, %r3, %r4;
    ld.shared.u32 %r5, [%r3];
    add.u32 %r5, %r5, 1;
    st.global.u32 [%rd2], %r5;)")));
  EXPECT_EQ(Out(32), std::vector<uint32_t>(32, 78));
}

TEST_P(MbarrierTest, MissingArrivalsAreADeadlockThatIsExplained) {
  const auto execution = Run(absl::StrCat(First("mbarrier.init.shared::cta.b64 [bar+8], 128;"), R"(
    mbarrier.arrive.shared::cta.b64 _, [bar+8];
AGAIN: mbarrier.try_wait.parity.shared::cta.b64 %p1, [bar+8], 0;
    @!%p1 bra AGAIN;)"),
                             96);
  EXPECT_EQ(execution.code, sassay::v1::VERDICT_CODE_MBARRIER_DEADLOCK);
  EXPECT_EQ(execution.outcome, sassay::worker::RUN_OUTCOME_TIMEOUT);
  EXPECT_THAT(execution.message, HasSubstr("the mbarrier at offset 8 of bar was initialised for 128 arrivals, and only "
                                           "96 have come"));
  ASSERT_FALSE(execution.warps.empty());
  EXPECT_EQ(execution.warps[0].count(), 3u);
  EXPECT_THAT(execution.warps[0].state(), HasSubstr("waiting for parity 0 of the mbarrier at offset 8 of bar, in phase "
                                                    "0: 96 of 128 arrivals have come"));
}

TEST_P(MbarrierTest, MissingBytesAreADeadlockThatIsExplained) {
  const auto execution = Run(R"(mbarrier.init.shared::cta.b64 [bar], 1;
    mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 32768;
    mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [bar], 24576;
AGAIN: mbarrier.try_wait.parity.shared::cta.b64 %p1, [bar], 0;
    @!%p1 bra AGAIN;)",
                             1);
  EXPECT_EQ(execution.code, sassay::v1::VERDICT_CODE_MBARRIER_DEADLOCK);
  EXPECT_THAT(
      execution.message,
      HasSubstr("expect_tx asked for 32768 bytes at the mbarrier at offset 0 of bar, the copies deliver 24576"));
}

TEST_P(MbarrierTest, BarriersThatAreNoneAreMisused) {
  auto execution = Run("mbarrier.arrive.shared::cta.b64 _, [bar];", 1);
  EXPECT_EQ(execution.findings[0].code(), sassay::v1::VERDICT_CODE_BARRIER_MISUSE);
  EXPECT_THAT(execution.message, HasSubstr("no mbarrier has been initialised at offset 0 of bar"));
  execution =
      Run("mbarrier.init.shared::cta.b64 [bar], 3; st.shared.u32 [bar], 0; mbarrier.arrive.shared.b64 _, [bar];", 1);
  EXPECT_EQ(execution.findings[0].code(), sassay::v1::VERDICT_CODE_BARRIER_MISUSE);
  EXPECT_THAT(execution.message, HasSubstr("has been written over"));
  execution =
      Run("mbarrier.init.shared::cta.b64 [bar], 3; mbarrier.inval.shared::cta.b64 [bar];"
          "mbarrier.arrive.shared.b64 _, [bar];",
          1);
  EXPECT_EQ(execution.findings[0].code(), sassay::v1::VERDICT_CODE_BARRIER_MISUSE);
  execution = Run("mbarrier.init.shared::cta.b64 [bar], 0;", 1);
  EXPECT_EQ(execution.findings[0].code(), sassay::v1::VERDICT_CODE_BARRIER_MISUSE);
  execution = Run("mbarrier.init.shared::cta.b64 [bar+4], 1;", 1);
  EXPECT_EQ(execution.code, sassay::v1::VERDICT_CODE_MISALIGNED);
}

TEST(MbarrierFindings, TooManyArrivalsInAPhaseAreToldByACheckedRun) {
  Emulated emulated(TextBundle(Kernel(R"(mbarrier.init.shared::cta.b64 [bar], 2;
    mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [bar], 16;
    mbarrier.arrive.shared::cta.b64 _, [bar], 3;)")),
                    RUN_MODE_CHECKED);
  const auto execution = emulated.Run("k", {1, 1, 1}, {1, 1, 1}, {Bytes(emulated.Allocate(4))});
  EXPECT_EQ(execution.code, sassay::v1::VERDICT_CODE_BARRIER_MISUSE);
  EXPECT_THAT(execution.message, HasSubstr("more arrivals than the 2 that"));
}

TEST(MbarrierFindings, WhatNoWaitOrdersIsARace) {
  // Warp 1 reads without having waited for the barrier at which warp 0 arrives.
  const std::string body = absl::StrCat(First("mbarrier.init.shared::cta.b64 [bar], 1;"), R"(
    setp.ge.u32 %p1, %t, 32; @%p1 bra OTHER;
    setp.ne.u32 %p2, %t, 0; @%p2 bra END;
    st.shared.u32 [data], 7;
    mbarrier.arrive.shared::cta.b64 _, [bar];
    bra END;
OTHER: setp.ne.u32 %p2, %t, 32; @%p2 bra END;
    WAIT
    ld.shared.u32 %r1, [data];
    st.global.u32 [%rd1], %r1;
END:)");
  const size_t at = body.find("WAIT");
  const std::string wait = "L: mbarrier.try_wait.parity.shared::cta.b64 %p3, [bar], 0; @!%p3 bra L;";
  for (const bool waits : {true, false}) {
    std::string text = body;
    text.replace(at, 4, waits ? wait : "");
    Emulated emulated(TextBundle(Kernel(text)), RUN_MODE_CHECKED);
    const auto execution = emulated.Run("k", {1, 1, 1}, {64, 1, 1}, {Bytes(emulated.Allocate(4))});
    EXPECT_EQ(execution.code, waits ? sassay::v1::VERDICT_CODE_OK : sassay::v1::VERDICT_CODE_SHARED_RACE)
        << execution.message;
  }
}

INSTANTIATE_TEST_SUITE_P(Modes, MbarrierTest, testing::Values(RUN_MODE_PLAIN, RUN_MODE_CHECKED),
                         [](const auto& info) { return sassay::worker::RunMode_Name(info.param); });

}  // namespace
}  // namespace sassay::emulator
