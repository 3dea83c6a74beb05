#include "common/rpc/stopper.h"

#include <gtest/gtest.h>

namespace sassay {
namespace {

TEST(StopperTest, CallsEachRegisteredFunctionOnce) {
  Stopper stopper;
  int first = 0, second = 0;
  Stopper::Callback one(stopper, [&] { ++first; });
  Stopper::Callback other(stopper, [&] { ++second; });
  EXPECT_EQ(first + second, 0);
  stopper.Stop();
  stopper.Stop();
  EXPECT_EQ(first, 1);
  EXPECT_EQ(second, 1);
}

TEST(StopperTest, AFunctionThatIsGoneIsNotCalled) {
  Stopper stopper;
  int calls = 0;
  {
    Stopper::Callback gone(stopper, [&] { ++calls; });
  }
  stopper.Stop();
  EXPECT_EQ(calls, 0);
}

TEST(StopperTest, AFunctionThatComesLateIsCalledAtOnce) {
  Stopper stopper;
  stopper.Stop();
  int calls = 0;
  Stopper::Callback late(stopper, [&] { ++calls; });
  EXPECT_EQ(calls, 1);
  EXPECT_FALSE(stopper.Sleep(absl::InfiniteDuration()));
}

}  // namespace
}  // namespace sassay
