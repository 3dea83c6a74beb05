#include "profiler_service/pipeline/lanes/lanes.h"

#include <atomic>
#include <thread>

#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "profiler_service/pipeline/testing/named_lane.h"

namespace sassay::pipeline {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class LanesTest : public testing::Test {
 protected:
  LanesTest() {
    std::vector<std::unique_ptr<Lane>> lanes;
    for (const char* name : {"a", "b", "c"}) {
      lanes.push_back(std::make_unique<NamedLane>(name));
      named_.push_back(static_cast<NamedLane*>(lanes.back().get()));
    }
    lanes_ = std::make_unique<Lanes>(std::move(lanes), absl::Milliseconds(1));
  }

  absl::StatusOr<Lanes::Seat> Take(std::vector<size_t> fitting, std::vector<std::string> earlier = {},
                                   absl::Time deadline = absl::InfinitePast()) {
    return lanes_->Take(fitting, earlier, deadline, [] { return false; });
  }

  std::vector<NamedLane*> named_;
  std::unique_ptr<Lanes> lanes_;
};

TEST_F(LanesTest, JobsSpreadAndNoLaneTakesMoreThanItHasSeatsFor) {
  EXPECT_EQ(lanes_->seats(), 6u);
  std::vector<Lanes::Seat> seats;
  for (int i = 0; i < 6; ++i) {
    auto seat = Take({0, 1, 2});
    ASSERT_TRUE(seat.ok()) << i;
    seats.push_back(*std::move(seat));
  }
  for (size_t lane = 0; lane < 3; ++lane) EXPECT_EQ(lanes_->jobs(lane), 2);
  EXPECT_EQ(Take({0, 1, 2}).status().code(), absl::StatusCode::kDeadlineExceeded);
  seats.clear();
  EXPECT_EQ(Take({1})->index(), 1u);
}

TEST_F(LanesTest, ASickLaneTakesNothingAlthoughItIsTheEmptiest) {
  lanes_->Sick(0, absl::UnavailableError("no context"));
  for (int i = 0; i < 3; ++i) {
    const auto first = Take({0, 1}), second = Take({0, 1});
    ASSERT_TRUE(first.ok() && second.ok());
    EXPECT_EQ(first->index(), 1u);
    EXPECT_EQ(second->index(), 1u);
  }
}

TEST_F(LanesTest, ALaneIsWellAgainOnceAProbeSucceeds) {
  lanes_->Sick(0, absl::UnavailableError("no context"));
  const auto none = Take({0});
  EXPECT_EQ(none.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(none.status().message()), HasSubstr("GPU a: "));
  while (named_[0]->probes_ < 3) std::this_thread::yield();
  EXPECT_EQ(Take({0}).status().code(), absl::StatusCode::kUnavailable);
  named_[0]->well_ = true;
  EXPECT_TRUE(Take({0}, {}, absl::Now() + absl::Seconds(60)).ok());
}

TEST_F(LanesTest, WhereItFailedBeforeAJobGoesOnlyIfNoOtherLaneIsWell) {
  EXPECT_EQ(Take({0, 1}, {"GPU a"})->index(), 1u);
  const auto one = Take({1}), two = Take({1});
  EXPECT_EQ(Take({0, 1}, {"GPU a"}).status().code(), absl::StatusCode::kDeadlineExceeded) << "it waits for the other";
  lanes_->Sick(1, absl::UnavailableError("no context"));
  EXPECT_EQ(Take({0, 1}, {"GPU a"})->index(), 0u);
}

TEST_F(LanesTest, WaitingEndsWhenTheJobIsCancelled) {
  lanes_->Sick(0, absl::UnavailableError("no context"));
  EXPECT_EQ(lanes_->Take({0}, {}, absl::InfiniteFuture(), [] { return true; }).status().code(),
            absl::StatusCode::kCancelled);
}

TEST_F(LanesTest, AClosedLaneTakesNothingMoreAndWhoHasASeatThereGoesOn) {
  const auto seated = Take({0});
  ASSERT_TRUE(seated.ok());
  lanes_->Close(0, "incident 7: too hot");
  EXPECT_TRUE(seated->lost().ok());
  EXPECT_EQ(lanes_->jobs(0), 1);
  for (int i = 0; i < 2; ++i) {
    const auto first = Take({0, 1});
    ASSERT_TRUE(first.ok());
    EXPECT_EQ(first->index(), 1u);
  }
  const auto none = Take({0});
  EXPECT_EQ(none.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(none.status().message()), HasSubstr("GPU a is closed: incident 7: too hot"));
  lanes_->Open(0);
  EXPECT_TRUE(Take({0}).ok());
}

TEST_F(LanesTest, WhereItFailedBeforeAJobGoesIfEveryOtherLaneIsClosed) {
  lanes_->Close(1, "paused");
  EXPECT_EQ(Take({0, 1}, {"GPU a"})->index(), 0u);
}

TEST_F(LanesTest, AJobKeepsItsTimeWhereAllThatItMayHaveIsClosedForLong) {
  std::vector<std::unique_ptr<Lane>> lanes;
  for (const char* name : {"a", "b"}) lanes.push_back(std::make_unique<NamedLane>(name));
  Lanes impatient(std::move(lanes), absl::Minutes(1), /*closed_patience=*/absl::Milliseconds(1));
  const auto take = [&](std::vector<size_t> fitting) {
    return impatient.Take(fitting, {}, absl::InfiniteFuture(), [] { return false; }).status();
  };
  impatient.Close(0, "cooling");
  EXPECT_TRUE(take({0, 1}).ok());
  const absl::Status aborted = take({0});
  EXPECT_EQ(aborted.code(), absl::StatusCode::kAborted);
  EXPECT_THAT(std::string(aborted.message()), HasSubstr("GPU a is closed: cooling"));
  impatient.Sick(1, absl::UnavailableError("no context"));
  EXPECT_EQ(take({0, 1}).code(), absl::StatusCode::kAborted);
}

TEST_F(LanesTest, OpeningALaneWakesWhoWaitsForIt) {
  lanes_->Close(0, "paused");
  std::thread opener([this] { lanes_->Open(0); });
  EXPECT_TRUE(Take({0}, {}, absl::Now() + absl::Seconds(60)).ok());
  opener.join();
}

TEST_F(LanesTest, OpenSeatsAreThoseOfLanesThatTakeJobsAndThoseThatJobsStillHave) {
  std::vector<uint32_t> told;
  lanes_->OnSeatsChange([&](uint32_t seats) { told.push_back(seats); });
  {
    const auto seated = Take({0});
    lanes_->Close(0, "paused");
    EXPECT_EQ(lanes_->open_seats(), 5u);
  }
  EXPECT_EQ(lanes_->open_seats(), 4u);
  lanes_->Close(1, "paused");
  lanes_->Open(0);
  EXPECT_THAT(told, ElementsAre(5, 4, 2, 4));
  lanes_->OnSeatsChange({});
  lanes_->Open(1);
  EXPECT_EQ(told.size(), 4u);
}

TEST_F(LanesTest, ASickLanesSeatsAreNotOpenUntilItIsWell) {
  std::atomic<uint32_t> told{6};
  lanes_->OnSeatsChange([&](uint32_t seats) { told = seats; });
  lanes_->Sick(0, absl::UnavailableError("no context"));
  EXPECT_EQ(told, 4u);
  named_[0]->well_ = true;
  while (told != 6) std::this_thread::yield();
  EXPECT_EQ(lanes_->open_seats(), 6u);
  lanes_->OnSeatsChange({});
}

TEST_F(LanesTest, WhoHadASeatWhenTheWorkersWereRestartedHasLostThemAndWhoComesLaterHasNot) {
  const auto before = Take({0}), elsewhere = Take({1});
  lanes_->Abandon(0, "a runner hangs");
  EXPECT_EQ(before->lost().message(), "the workers of GPU a were restarted: a runner hangs");
  EXPECT_TRUE(elsewhere->lost().ok());
  EXPECT_TRUE(Take({0})->lost().ok());
}

}  // namespace
}  // namespace sassay::pipeline
