// What the device makes of its counter, without a GPU.
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "profiler_service/device/cuda/cuda_device.h"
#include "profiler_service/device/cuda/fake_driver.h"

namespace sassay::device::cuda {
namespace {

using ::testing::ElementsAre;

// What a counter was asked to do, and what it answers.
struct Script {
  std::vector<std::string> log;
  absl::Status attach, crc, arm, take, finish;
};

class ScriptedCounter : public SassCounter {
 public:
  explicit ScriptedCounter(Script& script) : script_(script) {}
  absl::Status Attach(CUcontext, uint32_t) override { return script_.attach; }
  absl::StatusOr<uint64_t> CubinCrc(absl::string_view) override {
    if (!script_.crc.ok()) return script_.crc;
    return 7;
  }
  absl::Status Arm(absl::string_view kernel) override {
    script_.log.push_back(absl::StrCat("arm ", kernel));
    return script_.arm;
  }
  absl::Status Take() override {
    script_.log.push_back("take");
    return script_.take;
  }
  absl::StatusOr<worker::SassCounts> Finish() override {
    script_.log.push_back("finish");
    if (!script_.finish.ok()) return script_.finish;
    worker::SassCounts counts;
    counts.add_launches();
    return counts;
  }

 private:
  Script& script_;
};

class CountingTest : public testing::Test {
 protected:
  void Open() {
    auto device = CudaDevice::OpenWith(driver_, "0", std::make_unique<ScriptedCounter>(script_));
    ASSERT_TRUE(device.ok()) << device.status();
    device_ = *std::move(device);
    ASSERT_TRUE(device_->LoadModule({}).ok());
  }
  Execution Run(const std::string& kernel) {
    Launch launch;
    launch.kernel = kernel;
    EXPECT_TRUE(device_->Enqueue(launch).ok());
    auto execution = device_->Synchronize(absl::Now() + absl::Seconds(10));
    EXPECT_TRUE(execution.ok()) << execution.status();
    return *std::move(execution);
  }
  worker::SassCounts Collect() {
    auto counts = device_->CollectSassCounts();
    EXPECT_TRUE(counts.ok()) << counts.status();
    return counts.value_or(worker::SassCounts());
  }
  std::string Trouble() { return Collect().unavailable(); }

  const Driver driver_ = FakeDriver();
  Script script_;
  std::unique_ptr<Device> device_;
};

TEST_F(CountingTest, EveryLaunchIsArmedForAndTaken) {
  Open();
  Run("before");
  ASSERT_TRUE(device_->CountLaunches().value_or(false));
  Run("first");
  Run("second");
  const worker::SassCounts counts = Collect();
  EXPECT_THAT(script_.log, ElementsAre("arm first", "take", "arm second", "take", "finish"));
  EXPECT_EQ(counts.launches_size(), 1);
  EXPECT_EQ(counts.cubin_crc(), 7u);
  EXPECT_EQ(counts.unavailable(), "");
}

TEST_F(CountingTest, CrcIsToldBeforeAnythingHasRun) {
  Open();
  EXPECT_EQ(Collect().cubin_crc(), 7u);
  EXPECT_TRUE(script_.log.empty());
}

TEST_F(CountingTest, DeviceThatDoesNotCountSaysWhy) {
  auto device = CudaDevice::OpenWith(driver_, "0", absl::UnavailableError("no libcupti.so.13"));
  ASSERT_TRUE(device.ok()) << device.status();
  device_ = *std::move(device);
  EXPECT_FALSE(device_->CountLaunches().value_or(true));
  EXPECT_EQ(Trouble(), "no libcupti.so.13");
}

TEST_F(CountingTest, TroubleWithTheCounterNeverStopsTheRun) {
  for (absl::Status Script::*step : {&Script::attach, &Script::crc, &Script::arm, &Script::take, &Script::finish}) {
    script_ = Script();
    script_.*step = absl::UnavailableError("no permission");
    Open();
    ASSERT_TRUE(device_->CountLaunches().ok());
    EXPECT_EQ(Run("first").outcome, worker::RUN_OUTCOME_OK);
    EXPECT_EQ(Run("second").outcome, worker::RUN_OUTCOME_OK);
    EXPECT_EQ(Trouble(), "no permission");
  }
}

TEST_F(CountingTest, AfterAFaultTheCounterIsLeftAlone) {
  Open();
  ASSERT_TRUE(device_->CountLaunches().ok());
  EXPECT_EQ(Run("faults").outcome, worker::RUN_OUTCOME_FAULT);
  device_.reset();
  EXPECT_THAT(script_.log, ElementsAre("arm faults"));
}

}  // namespace
}  // namespace sassay::device::cuda
