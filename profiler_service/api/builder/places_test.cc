#include "profiler_service/api/builder/places.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"

namespace sassay::api {
namespace {

using testing::ElementsAre;

// One place, which a first build holds until it is released, so that what is posted meanwhile waits.
class PlacesTest : public testing::Test {
 protected:
  PlacesTest() {
    places_.Post("first", [this] {
      begun_.Notify();
      release_.WaitForNotification();
    });
    begun_.WaitForNotification();
  }
  ~PlacesTest() override {
    if (!release_.HasBeenNotified()) release_.Notify();
  }
  uint64_t Post(const std::string& tenant, const std::string& name) {
    ++posted_;
    return places_.Post(tenant, [this, name] { order_.push_back(name); });
  }
  void RunAll() {
    absl::Notification last;
    // A tenant of its own has as many turns as all the others together: its last one comes after theirs.
    for (int turn = 1; turn <= posted_; ++turn) {
      places_.Post("zzz", [this, turn, &last] {
        if (turn == posted_) last.Notify();
      });
    }
    release_.Notify();
    last.WaitForNotification();
  }

  absl::Notification begun_, release_;
  std::vector<std::string> order_;  // touched by the one place alone
  int posted_ = 0;
  Places places_{{1, 3, 2}};
};

TEST_F(PlacesTest, TenantsTakeTurns) {
  Post("ann", "a1");
  Post("ann", "a2");
  Post("bob", "b1");
  RunAll();
  EXPECT_THAT(order_, ElementsAre("a1", "b1", "a2"));
}

TEST_F(PlacesTest, WhatNobodyWaitsForDoesNotBegin) {
  const uint64_t ticket = Post("ann", "a1");
  Post("bob", "b1");
  places_.Forget("ann", ticket);
  places_.Forget("ann", ticket);
  places_.Forget("nobody", 77);
  RunAll();
  EXPECT_THAT(order_, ElementsAre("b1"));
}

TEST_F(PlacesTest, NoTenantKeepsTheOthersOut) {
  ASSERT_TRUE(places_.Admit("ann").ok());
  ASSERT_TRUE(places_.Admit("ann").ok());
  const absl::Status third = places_.Admit("ann");
  EXPECT_EQ(third.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(third.message()), testing::HasSubstr("--max-builds-per-tenant"));
  ASSERT_TRUE(places_.Admit("bob").ok());
  EXPECT_THAT(std::string(places_.Admit("eve").message()), testing::HasSubstr("--max-builds)"));
  places_.Leave("ann");
  EXPECT_TRUE(places_.Admit("eve").ok());
}

TEST_F(PlacesTest, ADrainCallsWhatWaitsAndWaitsForWhatRuns) {
  Post("ann", "a1");
  places_.Drain(absl::Now());  // the first one still runs
  EXPECT_THAT(order_, ElementsAre("a1"));
  release_.Notify();
  places_.Drain(absl::InfiniteFuture());
}

}  // namespace
}  // namespace sassay::api
