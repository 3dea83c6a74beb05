#include "profiler_service/timing/timing.h"

#include <gtest/gtest.h>

#include <thread>

#include "absl/strings/match.h"
#include "absl/synchronization/notification.h"
#include "profiler_service/runner/fake_runner.h"

namespace sassay::timing {
namespace {

using runner::BundleLaunching;
using runner::FakeRunnerOptions;
using v1::Timing;

class TimingTest : public testing::Test {
 protected:
  absl::StatusOr<Timing> Run(const std::string& device, const std::string& kernel, uint64_t reasons = 0x4) {
    auto seen = See(device, kernel, reasons);
    if (!seen.ok()) return seen.status();
    failure_ = seen->failure;
    return seen->timing;
  }

  absl::StatusOr<verdict::TimingSeen> See(const std::string& device, const std::string& kernel, uint64_t reasons) {
    const v1::Bundle bundle = BundleLaunching(kernel);
    TimingRequest request;
    request.device = device;
    request.bundle = &bundle;
    request.deadline = absl::Seconds(20);
    request.longest_call = longest_call_;
    request.kill_switch = &kill_switch_;
    if (check_) {
      request.refill_for_check = [this] { return ++refills_, absl::OkStatus(); };
      request.check = check_;
      request.check_seed = 12345;
    }
    uint32_t clock = 1700;
    return Time(request, pool_, [&, reasons](const std::string& uuid) -> absl::StatusOr<ClockReading> {
      uuid_ = uuid;
      if (++readings_ == unreadable_) return absl::UnavailableError("NVML: error 999");
      return ClockReading{clock += 100, reasons};
    });
  }

  std::function<evaluate::MaybeFailure()> check_;
  evaluate::MaybeFailure failure_;
  absl::Duration longest_call_ = absl::Milliseconds(1);
  int refills_ = 0, readings_ = 0, unreadable_ = 0;
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
  check_ = [] { return absl::nullopt; };
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
    check_ = [&checks, wrong]() -> evaluate::MaybeFailure {
      if (++checks != wrong) return absl::nullopt;
      return verdict::Failure{v1::VERDICT_CODE_TIMED_OUTPUT_WRONG, "wrong outputs", {}, {}};
    };
    const auto timing = Run("cuda:GPU-x", "good");
    ASSERT_TRUE(timing.ok()) << timing.status();
    EXPECT_EQ(timing->status(), Timing::UNAVAILABLE);
    EXPECT_TRUE(absl::StrContains(timing->reason(), "wrong outputs")) << timing->reason();
    EXPECT_EQ(checks, wrong);
    ASSERT_TRUE(failure_.has_value());
    EXPECT_EQ(failure_->code, v1::VERDICT_CODE_TIMED_OUTPUT_WRONG);
  }
}

TEST_F(TimingTest, ThermalSlowdownVoidsTheMeasurement) {
  const auto timing = Run("cuda:GPU-x", "good", 0x20 | 0x4);
  ASSERT_TRUE(timing.ok()) << timing.status();
  EXPECT_EQ(timing->status(), Timing::UNAVAILABLE);
  EXPECT_EQ(timing->voided_samples().at("clock slowdown"), kSamples);
  EXPECT_EQ(timing->candidate().samples_ns_size(), 0);
}

TEST_F(TimingTest, WithoutClocksThereIsNoTime) {
  for (const int unreadable : {1, 2}) {
    readings_ = 0;
    unreadable_ = unreadable;
    const auto timing = Run("cuda:GPU-x", "good");
    ASSERT_TRUE(timing.ok()) << timing.status();
    EXPECT_EQ(timing->status(), Timing::UNAVAILABLE);
    EXPECT_TRUE(absl::StrContains(timing->reason(), "clocks are not known: NVML: error 999")) << timing->reason();
    EXPECT_EQ(timing->voided_samples().at("clocks unknown"), kSamples);
  }
}

TEST_F(TimingTest, RunThatFailsGivesNoTimeAndSaysWhatTheCandidateDid) {
  const std::pair<const char*, v1::VerdictCode> failing[] = {{"fails", v1::VERDICT_CODE_LAUNCH_FAILED},
                                                             {"times_out", v1::VERDICT_CODE_KERNEL_TIMEOUT}};
  for (const auto& [kernel, code] : failing) {
    const auto timing = Run("cuda:GPU-x", kernel);
    ASSERT_TRUE(timing.ok()) << timing.status();
    EXPECT_EQ(timing->status(), Timing::UNAVAILABLE) << kernel;
    EXPECT_FALSE(timing->reason().empty()) << kernel;
    ASSERT_TRUE(failure_.has_value()) << kernel;
    EXPECT_EQ(failure_->code, code);
  }
}

TEST_F(TimingTest, LostRunnersAndTooLittleTimeAreNotTheCandidates) {
  EXPECT_EQ(Run("cuda:GPU-x", "crashes")->status(), Timing::UNAVAILABLE);
  EXPECT_FALSE(failure_.has_value());
  longest_call_ = absl::Seconds(5);  // of 20 s in all
  EXPECT_EQ(Run("cuda:GPU-x", "times_out")->status(), Timing::UNAVAILABLE);
  EXPECT_FALSE(failure_.has_value());
}

TEST_F(TimingTest, CancellationIsAStatus) {
  kill_switch_.Pull();
  EXPECT_EQ(Run("cuda:GPU-x", "good").status().code(), absl::StatusCode::kCancelled);
}

TEST(ClockReader, TwoGpusThatAreReadAtOnceBothGetTheirClock) {
  absl::Notification first_is_in, go_on;
  ClockReader reader([&](const std::string& uuid) -> absl::StatusOr<ClockReading> {
    if (uuid == "GPU-1") {
      first_is_in.Notify();
      go_on.WaitForNotification();
    }
    return ClockReading{uuid == "GPU-1" ? 1u : 2u, 0};
  });
  absl::StatusOr<ClockReading> one = absl::UnknownError(""), two = absl::UnknownError("");
  std::thread first([&] { one = reader.Read("GPU-1", absl::InfiniteDuration()); });
  first_is_in.WaitForNotification();
  std::thread second([&] { two = reader.Read("GPU-2", absl::InfiniteDuration()); });
  go_on.Notify();
  first.join();
  second.join();
  ASSERT_TRUE(one.ok() && two.ok()) << one.status() << two.status();
  EXPECT_EQ(one->sm_clock_mhz, 1u);
  EXPECT_EQ(two->sm_clock_mhz, 2u);
}

TEST(ClockReader, OnlyACallThatWasGivenUpMakesLaterOnesFailUntilItAnswers) {
  const auto go_on = std::make_shared<absl::Notification>();
  ClockReader reader([go_on](const std::string& uuid) -> absl::StatusOr<ClockReading> {
    if (uuid == "hangs") go_on->WaitForNotification();
    return ClockReading{7, 0};
  });
  EXPECT_EQ(reader.Read("hangs", absl::Milliseconds(1)).status().code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(reader.Read("other", absl::InfiniteDuration()).status().code(), absl::StatusCode::kUnavailable);
  go_on->Notify();
  while (!reader.Read("other", absl::InfiniteDuration()).ok()) std::this_thread::yield();
}

TEST(ReasonsBetween, ReasonThatCameAndWentShowsInItsCounter) {
  const ClockReading before{1900, 0x4, {{0x4, 100}, {0x20, 50}, {0x40, 7}}};
  const ClockReading after{1905, 0x1, {{0x4, 200}, {0x20, 51}, {0x40, 7}, {0x80, 9}}};
  EXPECT_EQ(ReasonsBetween(before, after), 0x25u) << "0x80 was not counted before, so nothing is known of it";
}

TEST(Nvml, MachineWithoutNvmlSaysSo) {
  const auto reading = ReadClock("GPU-none");
  EXPECT_FALSE(reading.ok());
  EXPECT_TRUE(absl::StrContains(reading.status().message(), "NVML")) << reading.status();
}

}  // namespace
}  // namespace sassay::timing
