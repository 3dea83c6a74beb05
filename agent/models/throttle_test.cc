#include "agent/models/throttle.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "absl/synchronization/notification.h"
#include "common/base/steady_time.h"

namespace sassay::agent {
namespace {

class ThrottleTest : public ::testing::Test {
 protected:
  Stopper stopper_;
};

TEST_F(ThrottleTest, NoMoreThanTheLimitAreIn) {
  Throttle throttle(3);
  std::atomic<int> inside = 0, most = 0;
  std::vector<std::thread> callers;
  for (int i = 0; i < 20; ++i) {
    callers.emplace_back([&] {
      const auto pass = throttle.Enter(stopper_);
      const int now = ++inside;
      for (int seen = most; now > seen && !most.compare_exchange_weak(seen, now);) continue;
      std::this_thread::yield();
      --inside;
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_LE(most, 3);
}

TEST_F(ThrottleTest, WithoutALimitNobodyWaits) {
  Throttle throttle(0);
  std::vector<Throttle::Pass> passes;
  for (int i = 0; i < 1000; ++i) passes.push_back(*throttle.Enter(stopper_));
}

TEST_F(ThrottleTest, AllWaitForThePeaceThatOneWasAskedFor) {
  Throttle throttle(0);
  const absl::Time began = SteadyNow();
  throttle.Enter(stopper_)->Refused(absl::Milliseconds(300));
  EXPECT_TRUE(throttle.Enter(stopper_).ok());
  EXPECT_GE(SteadyNow() - began, absl::Milliseconds(300));
}

TEST_F(ThrottleTest, RefusalsOfOneGenerationNarrowItOnce) {
  Throttle throttle(64);
  std::vector<Throttle::Pass> passes;
  for (int i = 0; i < 32; ++i) passes.push_back(*throttle.Enter(stopper_));
  for (Throttle::Pass& pass : passes) pass.Refused(absl::ZeroDuration());
  EXPECT_EQ(throttle.width(), 16);
}

TEST_F(ThrottleTest, GoodAnswersWidenItAgainUpToTheLimit) {
  Throttle throttle(4);
  throttle.Enter(stopper_)->Refused(absl::ZeroDuration());
  EXPECT_EQ(throttle.width(), 1);
  for (int i = 0; i < 3; ++i) throttle.Enter(stopper_)->Succeeded();
  EXPECT_GT(throttle.width(), 2);
  for (int i = 0; i < 100; ++i) throttle.Enter(stopper_)->Succeeded();
  EXPECT_EQ(throttle.width(), 4);
}

TEST_F(ThrottleTest, TheStopperEndsEveryWait) {
  Throttle throttle(1);
  const auto pass = throttle.Enter(stopper_);
  absl::Status second;
  std::thread caller([&] { second = throttle.Enter(stopper_).status(); });
  stopper_.Stop();
  caller.join();
  EXPECT_EQ(second.code(), absl::StatusCode::kCancelled);
}

TEST_F(ThrottleTest, WhoWaitedForPeaceHeedsTheLimitThatIsSmallerMeanwhile) {
  Throttle throttle(8);
  std::vector<Throttle::Pass> passes;
  for (int i = 0; i < 4; ++i) passes.push_back(*throttle.Enter(stopper_));
  passes[0].Refused(absl::ZeroDuration());
  while (throttle.width() < 6.5) passes[1].Succeeded();
  passes.push_back(*throttle.Enter(stopper_));
  // Of the generation before the last refusal: peace, and the limit stays.
  passes[2].Refused(absl::Milliseconds(200));
  ASSERT_GE(throttle.width(), 6.5);
  absl::Notification entered;
  std::thread caller([&] {
    const auto pass = throttle.Enter(stopper_);
    entered.Notify();
  });
  while (throttle.waiting() == 0) std::this_thread::yield();
  passes[4].Refused(absl::ZeroDuration());
  EXPECT_EQ(throttle.width(), 2.5);
  EXPECT_FALSE(entered.WaitForNotificationWithTimeout(absl::Milliseconds(500))) << "five are in, and two may be";
  passes.clear();
  caller.join();
  EXPECT_TRUE(entered.HasBeenNotified());
}

TEST_F(ThrottleTest, TheStopperEndsTheWaitForPeace) {
  Throttle throttle(0);
  throttle.Enter(stopper_)->Refused(absl::Hours(1));
  absl::Status second;
  std::thread caller([&] { second = throttle.Enter(stopper_).status(); });
  stopper_.Stop();
  caller.join();
  EXPECT_EQ(second.code(), absl::StatusCode::kCancelled);
}

TEST_F(ThrottleTest, WhoComesFirstIsLetInFirst) {
  Throttle throttle(1);
  auto pass = std::make_unique<absl::StatusOr<Throttle::Pass>>(throttle.Enter(stopper_));
  std::vector<int> order;
  std::vector<std::thread> callers;
  for (int i = 0; i < 5; ++i) {
    absl::Notification begun;
    callers.emplace_back([&, i] {
      const auto mine = [&] {
        begun.Notify();
        return throttle.Enter(stopper_);
      }();
      order.push_back(i);
    });
    begun.WaitForNotification();
    while (throttle.waiting() < static_cast<size_t>(i) + 1) std::this_thread::yield();
  }
  pass.reset();
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3, 4}));
}

}  // namespace
}  // namespace sassay::agent
