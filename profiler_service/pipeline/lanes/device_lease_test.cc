#include "profiler_service/pipeline/lanes/device_lease.h"

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/synchronization/notification.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sassay::pipeline {
namespace {

using testing::ElementsAre;
using Mode = DeviceLease::Mode;

constexpr DeviceLease::Patience kNoPatience = {absl::ZeroDuration(), absl::ZeroDuration()};
constexpr DeviceLease::Patience kEndlessPatience = {absl::InfiniteDuration(), absl::InfiniteDuration()};

TEST(DeviceLease, MemoryIsPromisedOnlyOnceAndNobodyIsOvertaken) {
  DeviceLease lease(100);
  const auto never = [] { return false; };
  const auto at_once = [&](uint64_t bytes) { return lease.Acquire(Mode::kShared, bytes, absl::InfinitePast(), never); };
  {
    const auto first = at_once(60);
    ASSERT_TRUE(first.ok());
    EXPECT_EQ(at_once(60).status().code(), absl::StatusCode::kDeadlineExceeded);
    EXPECT_TRUE(at_once(40).ok());
  }
  const auto too_much = at_once(300);
  EXPECT_TRUE(too_much.ok()) << "alone, what admission let in fits";
  EXPECT_EQ(at_once(1).status().code(), absl::StatusCode::kDeadlineExceeded);
}

// Takes leases on threads of their own and writes down in which order they came.
class Order {
 public:
  explicit Order(DeviceLease& lease) : lease_(lease) {}
  ~Order() { Wait(); }

  // Returns once the thread waits (or has the lease already); it gives the lease back at once.
  void Come(const std::string& name, Mode mode) {
    const auto waits = std::make_shared<absl::Notification>();
    threads_.emplace_back([this, name, mode, waits] {
      {
        const auto held = lease_.Acquire(mode, 0, absl::InfiniteFuture(), [&] {
          if (!waits->HasBeenNotified()) waits->Notify();
          return false;
        });
        absl::MutexLock lock(&mutex_);
        came_.push_back(name);
      }
      if (!waits->HasBeenNotified()) waits->Notify();
    });
    waits->WaitForNotification();
  }

  std::vector<std::string> Wait() {
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
    absl::MutexLock lock(&mutex_);
    return came_;
  }

 private:
  DeviceLease& lease_;
  std::vector<std::thread> threads_;
  absl::Mutex mutex_;
  std::vector<std::string> came_;
};

DeviceLease::Held Take(DeviceLease& lease, Mode mode) {
  auto held = lease.Acquire(mode, 0, absl::InfiniteFuture(), [] { return false; });
  EXPECT_TRUE(held.ok());
  return *std::move(held);
}

TEST(DeviceLease, WhoWantsItAloneIsNotOvertakenForEver) {
  DeviceLease lease(100, kNoPatience);
  Order order(lease);
  {
    const DeviceLease::Held reader = Take(lease, Mode::kShared);
    order.Come("alone", Mode::kExclusive);
    order.Come("sharing", Mode::kShared);
  }
  EXPECT_THAT(order.Wait(), ElementsAre("alone", "sharing"));
}

TEST(DeviceLease, ALongStageKeepsNobodyWaitingWhoWouldShare) {
  DeviceLease lease(100, kEndlessPatience);
  Order order(lease);
  {
    const DeviceLease::Held hangs = Take(lease, Mode::kShared);
    order.Come("alone", Mode::kExclusive);
    order.Come("sharing", Mode::kShared);
  }
  EXPECT_THAT(order.Wait(), ElementsAre("sharing", "alone"));
}

TEST(DeviceLease, ThoseWhoWantItAloneGoOneAfterAnother) {
  DeviceLease lease(100, kEndlessPatience);
  Order order(lease);
  {
    const DeviceLease::Held first = Take(lease, Mode::kExclusive);
    order.Come("alone 1", Mode::kExclusive);
    order.Come("sharing", Mode::kShared);
    order.Come("alone 2", Mode::kExclusive);
  }
  EXPECT_THAT(order.Wait(), ElementsAre("alone 1", "alone 2", "sharing"));
}

TEST(DeviceLease, WhoSharesIsNotOvertakenForEver) {
  DeviceLease lease(100, kNoPatience);
  Order order(lease);
  {
    const DeviceLease::Held first = Take(lease, Mode::kExclusive);
    order.Come("sharing", Mode::kShared);
    order.Come("alone", Mode::kExclusive);
  }
  EXPECT_THAT(order.Wait(), ElementsAre("sharing", "alone"));
}

TEST(DeviceLease, WhatItWasUsedForIsBooked) {
  DeviceLease lease(100);
  { const DeviceLease::Held alone = Take(lease, Mode::kExclusive); }
  EXPECT_GT(lease.usage().exclusive, absl::ZeroDuration());
  EXPECT_EQ(lease.usage().times_exclusive, 1u);
  EXPECT_EQ(lease.usage().shared, absl::ZeroDuration());
  const DeviceLease::Held sharing = Take(lease, Mode::kShared);
  EXPECT_EQ(lease.Acquire(Mode::kExclusive, 0, absl::InfinitePast(), [] { return false; }).status().code(),
            absl::StatusCode::kDeadlineExceeded);
  EXPECT_GT(lease.usage().shared, absl::ZeroDuration()) << "until somebody waited to have it alone";
  EXPECT_GT(lease.usage().awaited, absl::ZeroDuration());
  EXPECT_EQ(lease.usage().times_exclusive, 1u);
}

TEST(DeviceLease, WaitingEndsAtTheDeadlineOrWhenCancelled) {
  DeviceLease lease(100);
  const DeviceLease::Held held = Take(lease, Mode::kExclusive);
  EXPECT_EQ(lease.Acquire(Mode::kShared, 0, absl::InfinitePast(), [] { return false; }).status().code(),
            absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(lease.Acquire(Mode::kExclusive, 0, absl::InfiniteFuture(), [] { return true; }).status().code(),
            absl::StatusCode::kCancelled);
}

}  // namespace
}  // namespace sassay::pipeline
