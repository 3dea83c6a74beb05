#include "profiler_service/timing/timing.h"

#include <gtest/gtest.h>

#include <thread>

#include "absl/strings/match.h"
#include "absl/synchronization/notification.h"
#include "common/base/steady_time.h"
#include "common/workload/catalog.h"
#include "profiler_service/runner/fake_runner.h"

namespace sassay::timing {
namespace {

using runner::BundleLaunching;
using runner::FakeRunnerOptions;
using v1::Timing;

// Tensors of a plan that has none.
class NoTensors : public TimedSets {
 public:
  absl::Span<const TensorSet> sets() const override { return sets_; }
  std::vector<uint32_t> Take(int calls) override { return std::vector<uint32_t>(static_cast<size_t>(calls), 0); }
  absl::Status Refresh() override {
    ++refreshes_;
    return absl::OkStatus();
  }
  absl::Status Check(bool) override {
    if (++checks_ != wrong_at_) return absl::OkStatus();
    failure_ = verdict::Failure{v1::VERDICT_CODE_TIMED_OUTPUT_WRONG, "wrong outputs", {}, {}};
    return absl::AbortedError("wrong outputs");
  }
  const evaluate::MaybeFailure& failure() const override { return failure_; }
  uint32_t checked_calls() const override { return static_cast<uint32_t>(checks_); }
  uint32_t renewed_sets() const override { return 0; }
  int ring() const override { return 16; }

  int wrong_at_ = 0, checks_ = 0, refreshes_ = 0;

 private:
  const std::vector<TensorSet> sets_ = std::vector<TensorSet>(16);
  evaluate::MaybeFailure failure_;
};

// A judge that has a baseline, or trouble.
class ScriptedJudge : public evaluate::JudgePort {
 public:
  absl::StatusOr<worker::JudgeReply> Ask(const worker::JudgeRequest& request, std::vector<UniqueFd>&,
                                         absl::Time) override {
    const worker::TimeBaseline& asked = request.time_baseline();
    worker::JudgeReply reply;
    if (!status_.ok()) return status_;
    if (trouble_ != worker::JUDGE_TROUBLE_NONE) {
      reply.set_trouble(trouble_);
      reply.set_error("no libcublasLt.so.13");
      return reply;
    }
    reply.mutable_baseline()->set_library("cuBLASLt");
    reply.mutable_baseline()->set_version("13.1.0");
    for (int i = 0; i < asked.block().sets_size(); ++i) reply.mutable_block()->add_samples_ns(call_ns_);
    // A GPU would have been busy for so long.
    const absl::Time busy_until = SteadyNow() + absl::Nanoseconds(call_ns_ * asked.block().sets_size());
    while (SteadyNow() < busy_until) continue;
    reply.mutable_block()->set_calls(asked.warm_up().calls());
    reply.mutable_block()->set_clock_mhz(clock_mhz_);
    return reply;
  }
  void Drop(uint64_t) override { ++dropped_; }
  uint64_t NewCase() override { return 1; }

  absl::Status status_;
  worker::JudgeTrouble trouble_ = worker::JUDGE_TROUBLE_NONE;
  double call_ns_ = 800, clock_mhz_ = 1900;
  int dropped_ = 0;
};

class TimingTest : public testing::Test {
 protected:
  absl::StatusOr<Timing> Run(const std::string& device, const std::string& kernel) {
    auto seen = See(device, kernel);
    if (!seen.ok()) return seen.status();
    failure_ = seen->failure;
    return seen->timing;
  }

  absl::StatusOr<verdict::TimingSeen> See(const std::string& device, const std::string& kernel) {
    const v1::Bundle bundle = BundleLaunching(kernel);
    TimingRequest request;
    request.device = device;
    request.gpu = {"NVIDIA H200", 132};
    request.workload = workload_;
    request.bundle = &bundle;
    request.sets = &sets_;
    request.judge = &judge_;
    request.bundle_baseline = bundle_baseline_;
    request.no_baseline = no_baseline_;
    request.baseline_history = &history_;
    request.deadline = absl::Seconds(20);
    request.rules.enqueue_ns = 1e6;  // a fake call says a microsecond, whatever the host takes for it
    request.longest_call = longest_call_;
    request.kill_switch = &kill_switch_;
    return Time(request, pool_, [this](const std::string& uuid) -> absl::StatusOr<ClockReading> {
      uuid_ = uuid;
      if (++readings_ == unreadable_) return absl::UnavailableError("NVML: error 999");
      return ClockReading{readings_ % 2 == 0 ? 1900u : 1800u, reasons_};
    });
  }

  v1::Workload workload_;
  NoTensors sets_;
  const BundleBaseline* bundle_baseline_ = nullptr;
  std::string no_baseline_;
  BaselineHistory history_;
  ScriptedJudge judge_;
  evaluate::MaybeFailure failure_;
  absl::Duration longest_call_ = absl::Milliseconds(1);
  int readings_ = 0, unreadable_ = 0;
  uint64_t reasons_ = 0x4;
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

TEST_F(TimingTest, CandidateAloneHasAMedianAndNoSpeedupAndSaysWhy) {
  workload_.set_definition("rmsnorm");
  const auto timing = Run("cuda:GPU-x", "good");
  ASSERT_TRUE(timing.ok()) << timing.status();
  ASSERT_EQ(timing->status(), Timing::MEASURED) << timing->reason();
  EXPECT_GE(timing->candidate().samples_ns_size(), 50);
  EXPECT_EQ(timing->candidate().median_ns(), 1000.0);
  EXPECT_EQ(timing->speedup(), 0);
  EXPECT_FALSE(timing->has_baseline());
  EXPECT_EQ(timing->no_speedup_reason(), "rmsnorm names no baseline");
  EXPECT_EQ(timing->sm_clock_min_mhz(), 1800u);
  EXPECT_EQ(timing->sm_clock_max_mhz(), 1900u);
  EXPECT_EQ(timing->candidate_clock_mhz(), 1900);
  EXPECT_EQ(timing->clock_event_reasons(), 0x4u);
  EXPECT_EQ(timing->tensor_sets(), 16u);
  EXPECT_GT(timing->checked_calls(), 0u);
  EXPECT_TRUE(absl::StrContains(timing->method(), "candidate alone")) << timing->method();
  EXPECT_TRUE(absl::StrContains(timing->method(), "launches begin together")) << timing->method();
  EXPECT_EQ(uuid_, "GPU-x");
}

TEST_F(TimingTest, SpeedupIsBaselineOverCandidateWithItsInterval) {
  workload_.set_baseline("cublaslt");
  const auto timing = Run("cuda:GPU-x", "good");
  ASSERT_TRUE(timing.ok()) << timing.status();
  ASSERT_EQ(timing->status(), Timing::MEASURED) << timing->reason();
  EXPECT_NEAR(timing->speedup(), 0.8, 1e-9);
  EXPECT_LE(timing->speedup_low(), timing->speedup());
  EXPECT_GE(timing->speedup_high(), timing->speedup());
  EXPECT_EQ(timing->baseline().median_ns(), 800.0);
  EXPECT_EQ(timing->baseline_program().library(), "cuBLASLt");
  EXPECT_EQ(timing->baseline_program().version(), "13.1.0");
  EXPECT_EQ(timing->no_speedup_reason(), "");
  EXPECT_EQ(judge_.dropped_, 1);
}

TEST_F(TimingTest, ClocksThatDifferAreReported) {
  workload_.set_baseline("cublaslt");
  judge_.clock_mhz_ = 1860;
  const auto timing = Run("cuda:GPU-x", "good");
  ASSERT_TRUE(timing.ok()) << timing.status();
  ASSERT_EQ(timing->warnings_size(), 3) << "asymmetry, power cap, and no counters";
  EXPECT_EQ(timing->warnings(0), "the candidate ran at 1900 MHz, the baseline at 1860 MHz");
}

TEST_F(TimingTest, WithoutALibraryTheCandidateIsTimedAllTheSame) {
  workload_.set_baseline("cublaslt");
  judge_.trouble_ = worker::JUDGE_TROUBLE_NO_BASELINE;
  const auto timing = Run("cuda:GPU-x", "good");
  ASSERT_TRUE(timing.ok()) << timing.status();
  ASSERT_EQ(timing->status(), Timing::MEASURED) << timing->reason();
  EXPECT_EQ(timing->speedup(), 0);
  EXPECT_EQ(timing->no_speedup_reason(), "UNAVAILABLE: no libcublasLt.so.13");
}

TEST_F(TimingTest, AgainstItselfTheSecondRunnerTakesTheBaselinesPlace) {
  NoTensors tensors;
  const v1::Bundle itself = BundleLaunching("good");
  BundleBaseline baseline{&itself, &tensors, {}};
  baseline.program.set_library("the candidate itself");
  bundle_baseline_ = &baseline;
  const auto timing = Run("cuda:GPU-x", "good");
  ASSERT_TRUE(timing.ok()) << timing.status();
  ASSERT_EQ(timing->status(), Timing::MEASURED) << timing->reason();
  EXPECT_EQ(timing->speedup(), 1.0);
  EXPECT_EQ(timing->baseline_program().library(), "the candidate itself");
}

TEST_F(TimingTest, WhatTheBaselineTookIsRememberedAndReported) {
  workload_.set_baseline("cublaslt");
  for (uint32_t earlier = 0; earlier < 3; ++earlier) {
    const auto timing = Run("cuda:GPU-x", "good");
    ASSERT_TRUE(timing.ok()) << timing.status();
    ASSERT_EQ(timing->status(), Timing::MEASURED) << timing->reason();
    EXPECT_EQ(timing->baseline_history().measurements(), earlier);
    EXPECT_EQ(timing->baseline_history().median_ns(), earlier == 0 ? 0 : 800);
    EXPECT_EQ(timing->baseline_history().measured_ns(), 800);
    EXPECT_EQ(timing->baseline_history().measured_cycles(), 1520);
  }
}

TEST_F(TimingTest, ABaselineThatIsSlowerThanItWasGivesNoSpeedupAndIsNotRemembered) {
  workload_.set_baseline("cublaslt");
  for (int i = 0; i < kFewestRemembered; ++i) ASSERT_EQ(Run("cuda:GPU-x", "good")->status(), Timing::MEASURED);
  judge_.call_ns_ = 1200;
  for (int again = 0; again < 2; ++again) {
    const auto timing = Run("cuda:GPU-x", "good");
    ASSERT_TRUE(timing.ok()) << timing.status();
    EXPECT_EQ(timing->status(), Timing::UNAVAILABLE);
    EXPECT_TRUE(absl::StrContains(timing->reason(), "1.50 times what it took")) << timing->reason();
    EXPECT_EQ(timing->speedup(), 0);
    EXPECT_FALSE(timing->has_candidate());
    EXPECT_EQ(timing->void_measurements(), 2u) << "it is tried three times";
    EXPECT_EQ(timing->baseline_history().measured_ns(), 1200);
    EXPECT_EQ(timing->baseline_history().median_ns(), 800);
    EXPECT_FALSE(failure_.has_value()) << "nobody is convicted";
  }
  EXPECT_EQ(Run("cuda:GPU-y", "good")->status(), Timing::MEASURED) << "another GPU has another history";
}

TEST_F(TimingTest, TheCandidateItselfHasNoHistory) {
  NoTensors tensors;
  const v1::Bundle itself = BundleLaunching("good");
  BundleBaseline baseline{&itself, &tensors, {}, /*lasting=*/false};
  bundle_baseline_ = &baseline;
  for (int i = 0; i < 2; ++i) {
    const auto timing = Run("cuda:GPU-x", "good");
    ASSERT_EQ(timing->status(), Timing::MEASURED) << timing->reason();
    EXPECT_FALSE(timing->has_baseline_history());
  }
}

TEST_F(TimingTest, ATrustedBundleStandsBeforeTheWorkloadsLibraryAndItsInputsAreRenewedToo) {
  workload_.set_baseline("cublaslt");
  NoTensors tensors;
  const v1::Bundle trusted = BundleLaunching("good");
  BundleBaseline baseline{&trusted, &tensors, {}};
  baseline.program.set_library("trusted bundle");
  baseline.program.set_version("ab12");
  bundle_baseline_ = &baseline;
  const auto timing = Run("cuda:GPU-x", "good");
  ASSERT_TRUE(timing.ok()) << timing.status();
  ASSERT_EQ(timing->status(), Timing::MEASURED) << timing->reason();
  EXPECT_EQ(timing->baseline_program().version(), "ab12");
  EXPECT_EQ(timing->baseline().median_ns(), 1000.0) << "not the library's 800";
  EXPECT_GT(tensors.refreshes_, 1);
  EXPECT_EQ(tensors.checks_, 0) << "what is trusted is not in question";
}

TEST_F(TimingTest, ATrustedBundleThatFaultsIsNotTheCandidatesFault) {
  NoTensors tensors;
  const v1::Bundle trusted = BundleLaunching("fails");
  BundleBaseline baseline{&trusted, &tensors, {}};
  baseline.program.set_library("trusted bundle");
  bundle_baseline_ = &baseline;
  const auto timing = Run("cuda:GPU-x", "good");
  ASSERT_TRUE(timing.ok()) << timing.status();
  EXPECT_EQ(timing->status(), Timing::UNAVAILABLE);
  EXPECT_TRUE(absl::StartsWith(timing->reason(), "the baseline, trusted bundle: ")) << timing->reason();
  EXPECT_FALSE(failure_.has_value());
}

TEST_F(TimingTest, AFaultOfTheCandidateBesideATrustedBundleIsTheCandidates) {
  NoTensors tensors;
  const v1::Bundle trusted = BundleLaunching("good");
  BundleBaseline baseline{&trusted, &tensors, {}};
  bundle_baseline_ = &baseline;
  const auto timing = Run("cuda:GPU-x", "fails");
  ASSERT_TRUE(timing.ok()) << timing.status();
  EXPECT_EQ(timing->status(), Timing::UNAVAILABLE);
  EXPECT_TRUE(failure_.has_value());
}

TEST_F(TimingTest, WithoutTheTrustedBundleTheCandidateIsTimedAloneWithTheReason) {
  no_baseline_ = "no file of the operator has the digest ab12";
  const auto timing = Run("cuda:GPU-x", "good");
  ASSERT_TRUE(timing.ok()) << timing.status();
  ASSERT_EQ(timing->status(), Timing::MEASURED) << timing->reason();
  EXPECT_EQ(timing->no_speedup_reason(), "UNAVAILABLE: no file of the operator has the digest ab12");
}

TEST_F(TimingTest, WrongTimedCallMakesTheTimeWorthNothing) {
  sets_.wrong_at_ = 2;
  const auto timing = Run("cuda:GPU-x", "good");
  ASSERT_TRUE(timing.ok()) << timing.status();
  EXPECT_EQ(timing->status(), Timing::UNAVAILABLE);
  EXPECT_TRUE(absl::StrContains(timing->reason(), "wrong outputs")) << timing->reason();
  ASSERT_TRUE(failure_.has_value());
  EXPECT_EQ(failure_->code, v1::VERDICT_CODE_TIMED_OUTPUT_WRONG);
}

TEST_F(TimingTest, ThermalSlowdownVoidsThreeMeasurementsAndIsNobodysFault) {
  reasons_ = 0x20 | 0x4;
  const auto timing = Run("cuda:GPU-x", "good");
  ASSERT_TRUE(timing.ok()) << timing.status();
  EXPECT_EQ(timing->status(), Timing::UNAVAILABLE);
  EXPECT_TRUE(absl::StrContains(timing->reason(), "3 measurements were void")) << timing->reason();
  EXPECT_GT(timing->voided_samples().at("clock slowdown"), 0u);
  EXPECT_EQ(timing->candidate().samples_ns_size(), 0);
  EXPECT_FALSE(failure_.has_value());
}

TEST_F(TimingTest, WithoutClocksThereIsNoTime) {
  for (const int unreadable : {1, 2}) {
    readings_ = 0;
    unreadable_ = unreadable;
    const auto timing = Run("cuda:GPU-x", "good");
    ASSERT_TRUE(timing.ok()) << timing.status();
    EXPECT_EQ(timing->status(), Timing::UNAVAILABLE);
    EXPECT_TRUE(absl::StrContains(timing->reason(), "clocks are not known: NVML: error 999")) << timing->reason();
  }
}

TEST_F(TimingTest, WhatIsFasterThanTheGpuIsCheating) {
  workload_ = *WorkloadCatalog::BuiltIn().Resolve("gemm_n7168_k5120/M=8192");
  const auto timing = Run("cuda:GPU-x", "good");  // a microsecond
  ASSERT_TRUE(timing.ok()) << timing.status();
  EXPECT_EQ(timing->status(), Timing::UNAVAILABLE);
  ASSERT_TRUE(failure_.has_value());
  EXPECT_EQ(failure_->code, v1::VERDICT_CODE_FASTER_THAN_PHYSICS);
  EXPECT_TRUE(absl::StrContains(failure_->reason, "1.00 µs")) << failure_->reason;
  EXPECT_TRUE(absl::StrContains(failure_->reason, "561.68")) << failure_->reason;
  EXPECT_NEAR(timing->floor().floor_ns(), 561.7e3, 100);
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

TEST_F(TimingTest, LostWorkersAreAStatusSoThatSomebodyTriesAgain) {
  EXPECT_EQ(Run("cuda:GPU-x", "crashes").status().code(), absl::StatusCode::kUnavailable);
  workload_.set_baseline("cublaslt");
  judge_.status_ = absl::UnavailableError("judge: signal 9");
  EXPECT_EQ(Run("cuda:GPU-x", "good").status().code(), absl::StatusCode::kUnavailable);
}

TEST_F(TimingTest, TooLittleTimeIsNotTheCandidates) {
  longest_call_ = absl::Seconds(5);  // of 20 s in all
  EXPECT_EQ(Run("cuda:GPU-x", "times_out")->status(), Timing::UNAVAILABLE);
  EXPECT_FALSE(failure_.has_value());
}

TEST_F(TimingTest, CancellationIsAStatus) {
  kill_switch_.Pull();
  EXPECT_EQ(Run("cuda:GPU-x", "good").status().code(), absl::StatusCode::kCancelled);
}

TEST(TensorSetsFor, AsManyAsABlockHasSamplesWhereTheyFit) {
  EXPECT_EQ(TensorSetsFor(Rules(), 1 << 20, 1 << 19, uint64_t{141} << 30), 10);
  // Attention backward: 1.6 GB a set, 1.0 GB of them inputs.
  EXPECT_EQ(TensorSetsFor(Rules(), 1'600'000'000, 1'000'000'000, uint64_t{141} << 30), 10);
  EXPECT_EQ(TensorSetsFor(Rules(), 1'600'000'000, 1'000'000'000, uint64_t{24} << 30), 1);
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
