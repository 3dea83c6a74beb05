#include "profiler_service/pipeline/lanes/lanes.h"

#include <atomic>
#include <thread>

#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sassay::pipeline {
namespace {

using testing::HasSubstr;

// A device of which only its name and its health matter.
class NamedLane : public Lane {
 public:
  explicit NamedLane(const std::string& name) : Lane(1 << 20, 2), name_(name) {
    device_.set_model("GPU");
    device_.set_uuid(name);
  }
  const std::string& specification() const override { return name_; }
  const sassay::worker::DeviceDescription& device() const override { return device_; }
  std::unique_ptr<evaluate::Workers> MakeWorkers(wire::KillSwitch&) override { return nullptr; }
  absl::StatusOr<diagnose::Diagnosed> Diagnose(sassay::v1::Diagnosis, const wire::CandidateRun&) override {
    return absl::UnimplementedError("no diagnosis");
  }
  absl::StatusOr<sanitize::Sanitization> Sanitize(const sanitize::SanitizeRequest&) override {
    return absl::UnimplementedError("");
  }
  absl::StatusOr<verdict::TimingSeen> Time(const timing::TimingRequest&) override {
    return absl::UnimplementedError("");
  }
  absl::Status Probe(absl::Time, wire::KillSwitch*) override {
    ++probes_;
    return well_ ? absl::OkStatus() : absl::UnavailableError("still dead");
  }

  std::atomic<bool> well_{false};
  std::atomic<int> probes_{0};

 private:
  const std::string name_;
  sassay::worker::DeviceDescription device_;
};

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

}  // namespace
}  // namespace sassay::pipeline
