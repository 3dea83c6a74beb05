#include "common/base/steady_time.h"

#include <gtest/gtest.h>

#include <thread>

namespace sassay {
namespace {

TEST(SteadyTime, NeverGoesBackAndAgreesWithAClockThatNobodySets) {
  const absl::Time first = SteadyNow();
  EXPECT_LE(first, SteadyNow());
  EXPECT_LT(absl::AbsDuration(SteadyDeadline(absl::Now()) - SteadyNow()), absl::Seconds(10));
  EXPECT_EQ(SteadyDeadline(absl::InfiniteFuture()), absl::InfiniteFuture());
}

TEST(SteadyTime, AWaitEndsWithItsConditionOrAtItsDeadline) {
  absl::Mutex mutex;
  bool ready = false;
  absl::MutexLock lock(&mutex);
  EXPECT_FALSE(AwaitUntil(mutex, absl::Condition(&ready), SteadyNow()));
  EXPECT_FALSE(AwaitUntil(mutex, absl::Condition(&ready), SteadyNow() + absl::Milliseconds(1)));
  std::thread other([&] {
    absl::MutexLock held(&mutex);
    ready = true;
  });
  EXPECT_TRUE(AwaitUntil(mutex, absl::Condition(&ready), absl::InfiniteFuture()));
  mutex.Unlock();
  other.join();
  mutex.Lock();
}

}  // namespace
}  // namespace sassay
