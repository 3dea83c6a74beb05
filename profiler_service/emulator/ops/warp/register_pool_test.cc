#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "profiler_service/emulator/testing/emulator_fixture.h"

namespace sassay::emulator {
namespace {

using ::testing::HasSubstr;

device::Execution Launch(const std::string& kernel, bool with_cubin) {
  auto bundle = CompiledBundle("registers");
  if (with_cubin) bundle.set_cubin(CompiledCubin("registers"));
  Emulated emulated(bundle, sassay::worker::RUN_MODE_PLAIN);
  return emulated.Run(kernel, {1, 1, 1}, {384, 1, 1}, {Bytes(emulated.Allocate(384 * 4, "out"))});
}

TEST(RegisterPoolTest, WhatOneWarpgroupGivesTheOthersTake) {
  const auto execution = Launch("enough", true);
  EXPECT_EQ(execution.outcome, sassay::worker::RUN_OUTCOME_OK) << execution.message;
}

TEST(RegisterPoolTest, WhoeverTakesMoreThanThereIsWaitsForEver) {
  const auto execution = Launch("too_few", true);
  EXPECT_EQ(execution.outcome, sassay::worker::RUN_OUTCOME_TIMEOUT);
  EXPECT_EQ(execution.code, sassay::v1::VERDICT_CODE_BARRIER_DEADLOCK);
  EXPECT_THAT(execution.message, HasSubstr("waiting in setmaxnreg.inc for 72 registers a thread more than the 168"));
}

TEST(RegisterPoolTest, WithoutACubinNobodyKnowsHowManyThereAre) {
  const auto execution = Launch("too_few", false);
  EXPECT_EQ(execution.outcome, sassay::worker::RUN_OUTCOME_OK) << execution.message;
}

}  // namespace
}  // namespace sassay::emulator
