#include "agent/submit/interrupt.h"

#include <signal.h>

#include "absl/synchronization/notification.h"
#include "gtest/gtest.h"

namespace sassay::agent {
namespace {

TEST(InterruptHandlerTest, CountsInterrupts) {
  absl::Notification first, second;
  InterruptHandler handler([&](int n) { (n == 1 ? first : second).Notify(); });
  raise(SIGINT);
  first.WaitForNotification();
  EXPECT_FALSE(second.HasBeenNotified());
  raise(SIGTERM);
  second.WaitForNotification();
}

TEST(InterruptHandlerTest, RestoresTheFormerHandler) {
  struct sigaction before, after;
  sigaction(SIGINT, nullptr, &before);
  {
    InterruptHandler handler([](int) {});
  }
  sigaction(SIGINT, nullptr, &after);
  EXPECT_EQ(before.sa_handler, after.sa_handler);
}

}  // namespace
}  // namespace sassay::agent
