#include "common/process/stop_signal.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

namespace sassay {
namespace {

void StopTwice(SecondStopSignal second) {
  CatchStopSignals(second, 7);
  raise(SIGTERM);
  WaitForStopSignal();
  raise(SIGINT);
  WaitForStopSignal();
  _exit(0);
}

TEST(StopSignalDeathTest, ASecondSignalEndsTheProcessAtOnceWhereItIsAskedFor) {
  EXPECT_EXIT(StopTwice(SecondStopSignal::kExitsAtOnce), testing::ExitedWithCode(7), "");
}

TEST(StopSignalDeathTest, ASecondSignalIsOneMoreToWaitForElsewhere) {
  EXPECT_EXIT(StopTwice(SecondStopSignal::kIgnored), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace sassay
