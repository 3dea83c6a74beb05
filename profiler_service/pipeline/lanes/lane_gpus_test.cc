#include "profiler_service/pipeline/lanes/lane_gpus.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "profiler_service/pipeline/testing/named_lane.h"

namespace sassay::pipeline {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class LaneGpusTest : public testing::Test {
 protected:
  LaneGpusTest() {
    std::vector<std::unique_ptr<Lane>> lanes;
    for (const auto& [name, kind] : {std::pair("GPU-1", "cuda"), std::pair("emulated:sm_90a#1", "emulated")}) {
      lanes.push_back(std::make_unique<NamedLane>(name, kind));
      named_.push_back(static_cast<NamedLane*>(lanes.back().get()));
    }
    lanes_ = std::make_unique<Lanes>(std::move(lanes), absl::Minutes(1));
    gpus_ = std::make_unique<LaneGpus>(*lanes_);
  }

  Lanes::Seat Take(size_t index) {
    return *lanes_->Take({index}, {}, absl::InfiniteFuture(), [] { return false; });
  }

  std::vector<NamedLane*> named_;
  std::unique_ptr<Lanes> lanes_;
  std::unique_ptr<LaneGpus> gpus_;
};

TEST_F(LaneGpusTest, GpusAreListedInTheOrderOfTheDevicesByTheirIds) {
  const auto gpus = gpus_->List();
  ASSERT_EQ(gpus.size(), 2u);
  EXPECT_EQ(gpus[0].uuid(), "GPU-1");
  EXPECT_EQ(gpus[1].uuid(), "emulated:sm_90a#1");
  EXPECT_EQ(gpus[1].model(), "GPU");
}

TEST_F(LaneGpusTest, AGpuThatIsNotThereIsNotFoundWhateverIsAskedOfIt) {
  const std::string gpu = "GPU-2";
  for (const absl::Status& status : {gpus_->Close(gpu, ""), gpus_->Open(gpu), gpus_->RestartWorkers(gpu, "").status(),
                                     gpus_->RunCanary(gpu, absl::ZeroDuration()).status()}) {
    EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
    EXPECT_THAT(std::string(status.message()), HasSubstr("no GPU 'GPU-2' here; ListGpus names them"));
  }
}

TEST_F(LaneGpusTest, ClosingOneGpuLeavesTheOthersSeats) {
  EXPECT_EQ(gpus_->open_seats(), 4u);
  uint32_t told = 0;
  gpus_->OnSeatsChange([&](uint32_t seats) { told = seats; });
  ASSERT_TRUE(gpus_->Close("GPU-1", "too hot").ok());
  ASSERT_TRUE(gpus_->Close("GPU-1", "still too hot").ok());
  EXPECT_EQ(gpus_->open_seats(), 2u);
  EXPECT_EQ(told, 2u);
  ASSERT_TRUE(gpus_->Open("GPU-1").ok());
  EXPECT_EQ(told, 4u);
  gpus_->OnSeatsChange({});
}

TEST_F(LaneGpusTest, TheFreeModelsAreThoseOfGpusThatTakeAJobNow) {
  EXPECT_THAT(gpus_->FreeModels(), ElementsAre("GPU"));
  const Lanes::Seat one = Take(0), two = Take(0), three = Take(1);
  EXPECT_THAT(gpus_->FreeModels(), ElementsAre("GPU")) << "one seat of the second is free";
  ASSERT_TRUE(gpus_->Close("emulated:sm_90a#1", "hot").ok());
  EXPECT_THAT(gpus_->FreeModels(), IsEmpty());
}

TEST_F(LaneGpusTest, JobsKnowThatTheirWorkersAreLostBeforeTheFirstOneEnds) {
  const Lanes::Seat there = Take(0), elsewhere = Take(1);
  named_[0]->end_workers_ = [&](absl::string_view why) {
    EXPECT_EQ(why, "a runner hangs");
    EXPECT_FALSE(there.lost().ok());
    return 3u;
  };
  const auto ended = gpus_->RestartWorkers("GPU-1", "a runner hangs");
  ASSERT_TRUE(ended.ok());
  EXPECT_EQ(*ended, 3u);
  EXPECT_TRUE(elsewhere.lost().ok());
}

TEST_F(LaneGpusTest, TheCanaryHasAGpuAloneAlsoIfItIsClosed) {
  ASSERT_TRUE(gpus_->Close("GPU-1", "cooling").ok());
  bool ran = false;
  named_[0]->run_canary_ = [&]() -> absl::StatusOr<sassay::v1::RunCanaryResponse> {
    ran = true;
    const auto beside =
        named_[0]->lease().Acquire(DeviceLease::Mode::kShared, 0, absl::InfinitePast(), [] { return false; });
    EXPECT_EQ(beside.status().code(), absl::StatusCode::kDeadlineExceeded);
    return sassay::v1::RunCanaryResponse();
  };
  EXPECT_TRUE(gpus_->RunCanary("GPU-1", absl::Seconds(1)).ok());
  EXPECT_TRUE(ran);
}

TEST_F(LaneGpusTest, TheCanaryWaitsForABusyGpuNoLongerThanItMay) {
  const auto busy =
      named_[0]->lease().Acquire(DeviceLease::Mode::kShared, 0, absl::InfiniteFuture(), [] { return false; });
  ASSERT_TRUE(busy.ok());
  EXPECT_EQ(gpus_->RunCanary("GPU-1", absl::ZeroDuration()).status().code(), absl::StatusCode::kDeadlineExceeded);
}

TEST_F(LaneGpusTest, AnEmulatedDeviceHasNoCanary) {
  const auto none = gpus_->RunCanary("emulated:sm_90a#1", absl::Seconds(1));
  EXPECT_EQ(none.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(none.status().message(), "emulated device: it has no times");
}

TEST_F(LaneGpusTest, PulsesCountTheSeatsInUseAndTellWhatTheLaneKnows) {
  named_[1]->judge_pid_ = 4711;
  const Lanes::Seat one = Take(1), two = Take(1);
  const auto pulses = gpus_->Pulses();
  ASSERT_EQ(pulses.size(), 2u);
  EXPECT_EQ(pulses[0].running(), 0u);
  EXPECT_EQ(pulses[1].uuid(), "emulated:sm_90a#1");
  EXPECT_EQ(pulses[1].running(), 2u);
  EXPECT_EQ(pulses[1].judge_pid(), 4711u);
}

}  // namespace
}  // namespace sassay::pipeline
