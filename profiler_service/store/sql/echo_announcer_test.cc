#include "profiler_service/store/sql/echo_announcer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/blocking_counter.h"
#include "absl/synchronization/notification.h"

namespace sassay::store::sql {
namespace {

Changes Of(const std::string& id) {
  Changes changes;
  changes.submissions.push_back(id);
  return changes;
}

TEST(EchoAnnouncer, GathersWhatComesWhileItsObserversAreBusy) {
  EchoAnnouncer announcer(nullptr);
  absl::Notification called, go_on, again;
  std::vector<Changes> heard;
  const auto watch = announcer.Observe([&](const Changes& changes) {
    heard.push_back(changes);
    if (heard.size() == 2) return again.Notify();
    called.Notify();
    go_on.WaitForNotification();
  });
  announcer.Announce(Of("a"));
  called.WaitForNotification();
  Changes work;
  work.work = true;
  for (const Changes& changes : {Of("c"), work, Of("b"), Of("c")}) announcer.Announce(changes);
  go_on.Notify();
  again.WaitForNotification();
  EXPECT_THAT(heard[0].submissions, testing::ElementsAre("a"));
  EXPECT_FALSE(heard[0].work);
  EXPECT_THAT(heard[1].submissions, testing::ElementsAre("b", "c"));
  EXPECT_TRUE(heard[1].work);
}

TEST(EchoAnnouncer, TooManyToListAreEverything) {
  EchoAnnouncer announcer(nullptr);
  absl::Notification called, go_on, again;
  Changes last;
  int calls = 0;
  const auto watch = announcer.Observe([&](const Changes& changes) {
    last = changes;
    if (++calls == 2) return again.Notify();
    called.Notify();
    go_on.WaitForNotification();
  });
  announcer.Announce(Of("first"));
  called.WaitForNotification();
  for (int i = 0; i < 2000; ++i) announcer.Announce(Of(absl::StrCat(i)));
  go_on.Notify();
  again.WaitForNotification();
  EXPECT_TRUE(last.everything);
  EXPECT_LE(last.submissions.size(), 1000u);
}

TEST(EchoAnnouncer, WhoeverEndsItsWatchIsNotCalledAgain) {
  EchoAnnouncer announcer(nullptr);
  int ended = 0;
  auto watch = announcer.Observe([&](const Changes&) { ++ended; });
  watch.reset();
  absl::BlockingCounter heard(1);
  const auto other = announcer.Observe([&](const Changes&) { heard.DecrementCount(); });
  announcer.Announce(Of("a"));
  heard.Wait();
  EXPECT_EQ(ended, 0);
}

class Others : public Announcer {
 public:
  void Announce(const Changes& changes) override { announced.push_back(changes); }
  std::unique_ptr<Watch> Observe(Observer given) override {
    observer = std::move(given);
    return std::make_unique<Watch>();
  }
  std::vector<Changes> announced;
  Observer observer;
};

TEST(EchoAnnouncer, OtherProcessesAreToldAndHeard) {
  auto owned = std::make_unique<Others>();
  Others& others = *owned;
  EchoAnnouncer announcer(std::move(owned));
  absl::BlockingCounter heard(2);
  const auto watch = announcer.Observe([&](const Changes&) { heard.DecrementCount(); });
  announcer.Announce(Of("a"));
  others.observer(Of("b"));
  heard.Wait();
  ASSERT_EQ(others.announced.size(), 1u);
  EXPECT_THAT(others.announced[0].submissions, testing::ElementsAre("a"));
}

}  // namespace
}  // namespace sassay::store::sql
