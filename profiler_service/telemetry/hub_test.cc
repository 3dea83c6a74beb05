#include "profiler_service/telemetry/hub.h"

#include <gtest/gtest.h>

namespace sassay::telemetry {
namespace {

sassay::v1::Telemetry Fault(const std::string& submission) {
  sassay::v1::Telemetry message;
  message.mutable_fault()->set_submission_id(submission);
  return message;
}

TEST(TelemetryHub, GivesAWatcherWhatIsPublishedAfterItCameInOrder) {
  Hub hub;
  hub.Publish(Fault("before"));
  const auto watcher = hub.Watch(10, [] {});
  hub.Publish(Fault("first"));
  hub.Publish(Fault("second"));
  const auto first = watcher->Take(), second = watcher->Take();
  ASSERT_TRUE(first.has_value() && second.has_value());
  EXPECT_EQ(first->fault().submission_id(), "first");
  EXPECT_EQ(first->sequence(), 1u);
  EXPECT_TRUE(first->has_at());
  EXPECT_EQ(second->fault().submission_id(), "second");
  EXPECT_FALSE(watcher->Take().has_value());
}

TEST(TelemetryHub, DropsTheOldestOfASlowWatcherAndShowsTheGap) {
  Hub hub;
  const auto watcher = hub.Watch(2, [] {});
  for (const char* name : {"1", "2", "3"}) hub.Publish(Fault(name));
  EXPECT_EQ(watcher->Take()->sequence(), 2u);
  EXPECT_EQ(watcher->Take()->sequence(), 3u);
}

TEST(TelemetryHub, WakesAWatcherOnceForABacklog) {
  Hub hub;
  int woken = 0;
  const auto watcher = hub.Watch(10, [&] { ++woken; });
  hub.Publish(Fault("1"));
  hub.Publish(Fault("2"));
  EXPECT_EQ(woken, 1);
  while (watcher->Take().has_value()) continue;
  hub.Publish(Fault("3"));
  EXPECT_EQ(woken, 2);
}

TEST(TelemetryHub, ForgetsAWatcherThatLeft) {
  Hub hub;
  hub.Watch(10, [] {}).reset();
  EXPECT_EQ(hub.watchers(), 0u);
}

}  // namespace
}  // namespace sassay::telemetry
