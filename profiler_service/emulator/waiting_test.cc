// What hangs is told at once and what cannot end in time is refused; what merely takes long is left alone.
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "profiler_service/emulator/testing/emulator_fixture.h"

namespace sassay::emulator {
namespace {

using sassay::worker::RUN_MODE_CHECKED;
using sassay::worker::RUN_MODE_PLAIN;
using ::testing::HasSubstr;

constexpr absl::Duration kLong = absl::Minutes(2);  // no test here waits for it

class WaitingTest : public testing::TestWithParam<sassay::worker::RunMode> {
 protected:
  WaitingTest() : emulated_(CompiledBundle("waiting"), GetParam()) {}

  void ExpectEndless(const std::string& kernel, uint32_t blocks, uint32_t threads,
                     const std::vector<std::string>& arguments) {
    const auto execution = emulated_.Run(kernel, {blocks, 1, 1}, {threads, 1, 1}, arguments, 0, false, kLong);
    EXPECT_EQ(execution.outcome, sassay::worker::RUN_OUTCOME_TIMEOUT) << kernel << ": " << execution.message;
    EXPECT_EQ(execution.code, sassay::v1::VERDICT_CODE_KERNEL_TIMEOUT) << kernel;
    EXPECT_THAT(execution.message, HasSubstr("never ends")) << kernel;
    ASSERT_FALSE(execution.warps.empty()) << kernel;
    EXPECT_THAT(execution.warps[0].where().source_line(), HasSubstr("waiting.cu:")) << kernel;
  }
  void ExpectOk(const std::string& kernel, uint32_t blocks, uint32_t threads, const std::vector<std::string>& arguments,
                bool cooperative = false) {
    const auto execution = emulated_.Run(kernel, {blocks, 1, 1}, {threads, 1, 1}, arguments, 0, cooperative, kLong);
    EXPECT_EQ(execution.outcome, sassay::worker::RUN_OUTCOME_OK) << kernel << ": " << execution.message;
  }
  uint64_t Zeros(size_t count) { return emulated_.Upload(std::vector<float>(count, 0.0f)); }
  // Steps of a loop that take a thread a while: about as long in every mode.
  int Steps(int thousands) const { return (GetParam() == RUN_MODE_CHECKED ? 200 : 1000) * thousands; }

  Emulated emulated_;
};

TEST_P(WaitingTest, SpinsOnWhatNobodyWritesAreEndless) {
  for (const uint32_t blocks : {1, 7}) {
    ExpectEndless("spin_for_nobody", blocks, 96, {Bytes(Zeros(2))});
    ExpectEndless("spin_with_plain_loads", blocks, 64, {Bytes(Zeros(2))});
    const uint64_t lock = emulated_.Upload(std::vector<int>{0});
    ExpectEndless("lock_never_freed", blocks, 32, {Bytes(lock), Bytes(Zeros(32))});
  }
}

TEST_P(WaitingTest, LoopsThatComeBackToTheSameValuesAreEndless) {
  ExpectEndless("writes_for_ever", 3, 64, {Bytes(Zeros(1))});
  ExpectEndless("calls_for_ever", 3, 64, {Bytes(Zeros(1))});
  ExpectEndless("counts_wrongly", 3, 64, {Bytes(Zeros(64)), Bytes(300)});
  // Whoever else is busy: the block that loops decides.
  ExpectEndless("calls_for_ever", 100000, 64, {Bytes(Zeros(1))});
}

TEST_P(WaitingTest, AGridBarrierOfMoreBlocksThanFitIsEndless) {
  // 2048 threads a multiprocessor: 264 blocks of 1024 are resident.
  ExpectEndless("waits_for_a_later_wave", 265, 1024, {Bytes(Zeros(1))});
  ExpectOk("waits_for_a_later_wave", 264, 1024, {Bytes(Zeros(1))});
}

TEST_P(WaitingTest, FlagsThatComeLateAreWaitedFor) {
  ExpectOk("flag_comes_late", 6, 64, {Bytes(Zeros(1)), Bytes(Zeros(6)), Bytes(Steps(1000))});
  ExpectOk("warp_comes_late", 3, 96, {Bytes(Zeros(96)), Bytes(Steps(1000))});
  ExpectOk("waits_by_the_clock", 1, 32, {Bytes(Zeros(2)), Bytes(uint64_t{600000000})});
}

TEST_P(WaitingTest, HonestGridBarriersAndSemaphoresPass) {
  ExpectOk("spin_barrier", 24, 64, {Bytes(Zeros(1)), Bytes(Zeros(24)), Bytes(40), Bytes(Steps(20))});
  ExpectOk("grid_barriers", 8, 64, {Bytes(Zeros(1)), Bytes(100)}, true);
  ExpectOk("split_k_in_order", 32, 64, {Bytes(Zeros(1)), Bytes(Zeros(1)), Bytes(Steps(20))});
}

TEST_P(WaitingTest, LongLoopsAreLeftAlone) {
  ExpectOk("long_count", 2, 64, {Bytes(Zeros(128)), Bytes(Steps(1000))});
  ExpectOk("local_count", 1, 32, {Bytes(Zeros(32)), Bytes(Steps(400))});
}

INSTANTIATE_TEST_SUITE_P(Modes, WaitingTest, testing::Values(RUN_MODE_PLAIN, RUN_MODE_CHECKED),
                         [](const auto& info) { return sassay::worker::RunMode_Name(info.param); });

// ---- the estimate ----

class EstimateRunTest : public testing::Test {
 protected:
  device::Execution Run(const std::string& kernel, uint32_t blocks, std::vector<std::string> arguments,
                        absl::Duration deadline) {
    return emulated_.Run(kernel, {blocks, 1, 1}, {256, 1, 1}, arguments, 0, false, deadline);
  }
  Emulated emulated_{CompiledBundle("waiting"), RUN_MODE_PLAIN};
  const uint64_t out_ = emulated_.Allocate(1 << 20);
};

void ExpectRefused(const device::Execution& execution) {
  EXPECT_EQ(execution.outcome, sassay::worker::RUN_OUTCOME_REFUSED) << execution.message;
  EXPECT_EQ(execution.code, sassay::v1::VERDICT_CODE_TOO_LARGE_FOR_DEVICE);
  EXPECT_THAT(execution.message, HasSubstr("blocks of this size would fit"));
}

TEST_F(EstimateRunTest, BlocksOfWhichNoneEndsInTheFirstSecondAreRefusedAllTheSame) {
  const absl::Time start = absl::Now();
  const auto execution = Run("falling", 65000, {Bytes(out_), Bytes(2000000000)}, absl::Minutes(2));
  ExpectRefused(execution);
  EXPECT_THAT(execution.message, HasSubstr("of 16 blocks tried 0 ended"));
  EXPECT_LT(absl::Now() - start, absl::Seconds(60));  // 1 s on an idle machine
}

TEST_F(EstimateRunTest, HeavyBlocksAtTheFrontDoNotCondemnTheRest) {
  // Every 2000th block is heavy, and so is the first: nearly all of the time goes there, and it is soon over.
  const auto execution = Run("uneven", 6000, {Bytes(out_), Bytes(1500000), Bytes(2000)}, absl::Minutes(2));
  EXPECT_EQ(execution.outcome, sassay::worker::RUN_OUTCOME_OK) << execution.message;
}

TEST_F(EstimateRunTest, LaunchesToComeCount) {
  device::Launch launch;
  launch.kernel = "long_count";
  for (auto* extent : {&launch.grid, &launch.block}) extent->set_x(32), extent->set_y(1), extent->set_z(1);
  launch.arguments = {Bytes(out_), Bytes(100000)};
  // About 30 ms each, some minutes in all.
  for (int i = 0; i < 20000; ++i) ASSERT_TRUE(emulated_.device().Enqueue(launch).ok());
  const auto execution = emulated_.device().Synchronize(absl::Now() + absl::Seconds(20));
  ASSERT_TRUE(execution.ok()) << execution.status();
  EXPECT_EQ(execution->outcome, sassay::worker::RUN_OUTCOME_REFUSED) << execution->message;
  EXPECT_THAT(execution->message, HasSubstr("of 20000 launches took"));
}

TEST_F(EstimateRunTest, BlocksThatStillEndAtTheDeadlineAreTooManyNotEndless) {
  // 40 blocks of a size that no sample can tell apart from honest work in time.
  const auto probe = Run("long_count", 2, {Bytes(out_), Bytes(300000)}, absl::Minutes(2));
  ASSERT_EQ(probe.outcome, sassay::worker::RUN_OUTCOME_OK);
  const absl::Duration block = absl::Nanoseconds(probe.device_ns);
  const auto execution = Run("long_count", 30, {Bytes(out_), Bytes(300000)}, 7 * block);
  EXPECT_EQ(execution.outcome, sassay::worker::RUN_OUTCOME_REFUSED) << execution.message;
  EXPECT_EQ(execution.code, sassay::v1::VERDICT_CODE_TOO_LARGE_FOR_DEVICE);
}

}  // namespace
}  // namespace sassay::emulator
