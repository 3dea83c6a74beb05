// Only in the tsan preset: what is guarded is not reported, and what is not is.
#include <thread>

#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "gtest/gtest.h"

namespace sassay {
namespace {

constexpr int kReported = 66;  // ThreadSanitizer's exit status

TEST(TsanMutex, MembersBehindALockAreNotReported) {
  absl::Mutex mutex;
  absl::CondVar changed;
  int steps = 0, asleep = 0;
  std::thread other([&] {
    {
      absl::MutexLock lock(&mutex);
      mutex.Await(absl::Condition(
          +[](int* value) { return *value == 1; }, &steps));
      ++steps;
    }
    absl::MutexLock lock(&mutex);
    while (asleep == 0) changed.Wait(&mutex);
    ++steps;
  });
  {
    absl::MutexLock lock(&mutex);
    ++steps;
  }
  {
    absl::MutexLock lock(&mutex);
    asleep = 1;
    changed.SignalAll();
  }
  other.join();
  EXPECT_EQ(steps, 3);
}

TEST(TsanMutex, WhatANotificationOrdersIsNotReported) {
  absl::Notification waited, asked;
  int value = 0, other_value = 0;
  std::thread other([&] {
    value = 1;
    waited.Notify();
    other_value = 2;
    asked.Notify();
  });
  waited.WaitForNotification();
  EXPECT_EQ(value, 1);
  while (!asked.HasBeenNotified()) std::this_thread::yield();
  EXPECT_EQ(other_value, 2);
  other.join();
}

// The lock orders nothing for who does not take it.
void TouchWithoutTheLock() {
  absl::Mutex mutex;
  int value = 0;
  std::thread other([&] {
    absl::MutexLock lock(&mutex);
    ++value;
  });
  ++value;
  other.join();
  std::exit(0);
}

TEST(TsanMutexDeathTest, AMemberTouchedWithoutItsLockIsReported) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(TouchWithoutTheLock(), testing::ExitedWithCode(kReported), "data race");
}

}  // namespace
}  // namespace sassay
