#include "profiler_service/timing/timing.h"

#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "profiler_service/runner/fake_runner.h"

namespace sassay::timing {
namespace {

using runner::BundleLaunching;
using runner::FakeRunnerOptions;
using v1::Timing;

class TimingTest : public testing::Test {
 protected:
  absl::StatusOr<Timing> Run(const std::string& device, const std::string& kernel, uint64_t reasons = 0x4) {
    const v1::Bundle bundle = BundleLaunching(kernel);
    TimingRequest request;
    request.device = device;
    request.bundle = &bundle;
    request.deadline = absl::Seconds(20);
    request.kill_switch = &kill_switch_;
    if (check_) {
      request.refill_for_check = [this] { return ++refills_, absl::OkStatus(); };
      request.check = check_;
      request.check_seed = 12345;
    }
    uint32_t clock = 1700;
    return Time(request, pool_, [&, reasons](const std::string& uuid) -> absl::StatusOr<ClockReading> {
      uuid_ = uuid;
      return ClockReading{clock += 100, reasons};
    });
  }

  std::function<absl::StatusOr<bool>()> check_;
  int refills_ = 0;
  std::string uuid_;
  wire::KillSwitch kill_switch_;
  wire::RunnerPool pool_{FakeRunnerOptions()};
};

TEST_F(TimingTest, EmulatedDeviceNeverGivesATime) {
  const auto timing = Run("emulated:sm_90a", "good");
  ASSERT_TRUE(timing.ok()) << timing.status();
  EXPECT_EQ(timing->status(), Timing::UNAVAILABLE);
  EXPECT_EQ(timing->reason(), "emulated device");
  EXPECT_EQ(timing->candidate().samples_ns_size(), 0);
}

TEST_F(TimingTest, MeasurementHasSamplesMedianIntervalAndClocks) {
  const auto timing = Run("cuda:GPU-x", "good");
  ASSERT_TRUE(timing.ok()) << timing.status();
  ASSERT_EQ(timing->status(), Timing::MEASURED) << timing->reason();
  EXPECT_EQ(timing->candidate().samples_ns_size(), static_cast<int>(kSamples));
  EXPECT_EQ(timing->candidate().median_ns(), 1000.0);
  EXPECT_EQ(timing->candidate().median_low_ns(), 1000.0);
  EXPECT_EQ(timing->sm_clock_min_mhz(), 1800u);
  EXPECT_EQ(timing->sm_clock_max_mhz(), 1900u);
  EXPECT_EQ(timing->clock_event_reasons(), 0x4u);
  EXPECT_EQ(uuid_, "GPU-x");
}

TEST_F(TimingTest, CallsAmongTheTimedOnesAreCheckedAndGiveNoSample) {
  check_ = [] { return true; };
  const auto timing = Run("cuda:GPU-x", "good");
  ASSERT_TRUE(timing.ok()) << timing.status();
  ASSERT_EQ(timing->status(), Timing::MEASURED) << timing->reason();
  EXPECT_EQ(timing->candidate().samples_ns_size(), static_cast<int>(kSamples));
  EXPECT_EQ(refills_, 2);
}

TEST_F(TimingTest, WrongTimedCallMakesTheTimeWorthNothing) {
  int checks = 0;
  for (const int wrong : {1, 2}) {
    checks = 0;
    check_ = [&checks, wrong] { return ++checks != wrong; };
    const auto timing = Run("cuda:GPU-x", "good");
    ASSERT_TRUE(timing.ok()) << timing.status();
    EXPECT_EQ(timing->status(), Timing::UNAVAILABLE);
    EXPECT_TRUE(absl::StrContains(timing->reason(), "wrong outputs")) << timing->reason();
    EXPECT_EQ(checks, wrong);
  }
}

TEST_F(TimingTest, ThermalSlowdownVoidsTheMeasurement) {
  const auto timing = Run("cuda:GPU-x", "good", 0x20 | 0x4);
  ASSERT_TRUE(timing.ok()) << timing.status();
  EXPECT_EQ(timing->status(), Timing::UNAVAILABLE);
  EXPECT_EQ(timing->voided_samples().at("clock slowdown"), kSamples);
  EXPECT_EQ(timing->candidate().samples_ns_size(), 0);
}

TEST_F(TimingTest, RunThatFailsOrIsLostGivesNoTime) {
  for (const char* kernel : {"fails", "crashes", "times_out"}) {
    const auto timing = Run("cuda:GPU-x", kernel);
    ASSERT_TRUE(timing.ok()) << timing.status();
    EXPECT_EQ(timing->status(), Timing::UNAVAILABLE) << kernel;
    EXPECT_FALSE(timing->reason().empty()) << kernel;
  }
}

TEST_F(TimingTest, CancellationIsAStatus) {
  kill_switch_.Pull();
  EXPECT_EQ(Run("cuda:GPU-x", "good").status().code(), absl::StatusCode::kCancelled);
}

TEST(Nvml, MachineWithoutNvmlSaysSo) {
  const auto reading = ReadClock("GPU-none");
  EXPECT_FALSE(reading.ok());
  EXPECT_TRUE(absl::StrContains(reading.status().message(), "NVML")) << reading.status();
}

}  // namespace
}  // namespace sassay::timing
