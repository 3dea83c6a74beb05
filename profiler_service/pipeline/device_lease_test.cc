#include "profiler_service/pipeline/device_lease.h"

#include <string>
#include <thread>
#include <vector>

#include "absl/synchronization/notification.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sassay::pipeline {
namespace {

using testing::ElementsAre;

TEST(DeviceLease, MemoryIsPromisedOnlyOnceAndNobodyIsOvertaken) {
  DeviceLease lease(100);
  const auto never = [] { return false; };
  const auto at_once = [&](uint64_t bytes) {
    return lease.Acquire(DeviceLease::Mode::kShared, bytes, absl::InfinitePast(), never);
  };
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

TEST(DeviceLease, AWriterIsAloneAndGoesBeforeLaterReaders) {
  DeviceLease lease(100);
  const auto never = [] { return false; };
  auto reader = lease.Acquire(DeviceLease::Mode::kShared, 0, absl::InfiniteFuture(), never);
  ASSERT_TRUE(reader.ok());
  std::vector<std::string> order;
  absl::Mutex mutex;
  absl::Notification writer_waits;
  std::thread writer([&] {
    const auto held = lease.Acquire(DeviceLease::Mode::kExclusive, 0, absl::InfiniteFuture(), [&] {
      if (!writer_waits.HasBeenNotified()) writer_waits.Notify();
      return false;
    });
    absl::MutexLock lock(&mutex);
    order.push_back("writer");
  });
  writer_waits.WaitForNotification();
  std::thread late_reader([&] {
    const auto held = lease.Acquire(DeviceLease::Mode::kShared, 0, absl::InfiniteFuture(), never);
    absl::MutexLock lock(&mutex);
    order.push_back("reader");
  });
  { const auto released = std::move(reader); }
  writer.join();
  late_reader.join();
  EXPECT_THAT(order, ElementsAre("writer", "reader"));
}

TEST(DeviceLease, WaitingEndsAtTheDeadlineOrWhenCancelled) {
  DeviceLease lease(100);
  const auto held = lease.Acquire(DeviceLease::Mode::kExclusive, 0, absl::InfiniteFuture(), [] { return false; });
  EXPECT_EQ(lease.Acquire(DeviceLease::Mode::kShared, 0, absl::InfinitePast(), [] { return false; }).status().code(),
            absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(
      lease.Acquire(DeviceLease::Mode::kExclusive, 0, absl::InfiniteFuture(), [] { return true; }).status().code(),
      absl::StatusCode::kCancelled);
}

}  // namespace
}  // namespace sassay::pipeline
