#include "profiler_service/timing/conduct.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>

#include "absl/strings/match.h"
#include "absl/time/clock.h"

namespace sassay::timing {
namespace {

constexpr double kFullClock = 1980;

// A GPU whose time passes only when something runs on it. What a call takes depends on the clock, which the test
// scripts, and on noise.
class FakeGpu {
 public:
  explicit FakeGpu(uint64_t seed = 1) : generator_(seed) {}

  // SM clock in MHz and reasons in force, by the time since the beginning.
  std::function<double(absl::Duration)> clock = [](absl::Duration) { return kFullClock; };
  std::function<uint64_t(absl::Duration)> reasons = [](absl::Duration) { return uint64_t{0}; };
  double noise = 0.005;
  absl::Duration around_a_sample = absl::Microseconds(150);

  // What happened, in order: "new inputs", "warm-up", "block".
  std::vector<std::string> log;

  absl::Time now() const { return start_ + passed_; }
  absl::Duration passed() const { return passed_; }
  void Pass(absl::Duration duration) {
    const uint64_t in_force = reasons(passed_);
    for (uint64_t reason = 1; reason <= 0x100; reason <<= 1) {
      if (in_force & reason) counters_[reason] += static_cast<uint64_t>(absl::ToInt64Nanoseconds(duration));
    }
    passed_ += duration;
  }
  // Runs a call and answers what it took.
  double Call(double ns_at_full_clock) {
    const double ns = ns_at_full_clock * kFullClock / clock(passed_) * (1 + noise * normal_(generator_));
    Pass(absl::Nanoseconds(ns));
    return ns;
  }
  absl::StatusOr<ClockReading> Read() {
    ClockReading reading{static_cast<uint32_t>(clock(passed_)), reasons(passed_)};
    for (const uint64_t reason : {0x4, 0x10, 0x20, 0x40, 0x80}) reading.reason_ns[reason] = counters_[reason];
    return reading;
  }

 private:
  absl::Time start_ = absl::FromUnixSeconds(1'800'000'000);
  absl::Duration passed_;
  std::map<uint64_t, uint64_t> counters_;
  std::mt19937_64 generator_;
  std::normal_distribution<double> normal_;
};

class FakeProgram : public TimedProgram {
 public:
  FakeProgram(FakeGpu& gpu, double call_ns) : gpu_(gpu), call_ns_(call_ns) {}

  // What it reports of a sample that took so long.
  std::function<double(double)> report = [](double ns) { return ns; };
  double first_sample_factor = 1;
  int warm_calls_factor = 1;
  // Of its work, what it does in the n-th call of a block, and in a call of a warm-up.
  std::function<double(int)> share = [](int) { return 1.0; };
  double warm_share = 1;
  // What it says that its host took to enqueue a call; and what a call of a warm-up takes at least because of it.
  double enqueue_ns = 0;
  absl::Duration host_call;
  int blocks = 0;

  absl::StatusOr<WarmUpReport> WarmUp(int calls, absl::Duration at_least, absl::Duration at_most) override {
    gpu_.log.push_back("warm-up");
    const absl::Time begin = gpu_.now();
    WarmUpReport warm;
    while ((warm.calls < calls || gpu_.now() - begin < at_least) && (warm.calls == 0 || gpu_.now() - begin < at_most)) {
      const absl::Time called = gpu_.now();
      gpu_.Call(call_ns_ * warm_share);
      gpu_.Pass(std::max(host_call - (gpu_.now() - called), absl::ZeroDuration()));
      ++warm.calls;
    }
    warm.calls *= warm_calls_factor;
    warm.clock_mhz = gpu_.clock(gpu_.passed());
    warm.enqueue_ns = enqueue_ns;
    return warm;
  }

  absl::StatusOr<BlockReport> RunBlock(const BlockSize& size) override {
    ++blocks;
    gpu_.log.push_back("block");
    BlockReport block;
    gpu_.Pass(absl::Microseconds(200));
    for (int i = 0; i < size.dropped + size.kept; ++i) {
      gpu_.Pass(gpu_.around_a_sample);
      block.samples_ns.push_back(report(gpu_.Call(call_ns_ * share(i) * (i == 0 ? first_sample_factor : 1))));
    }
    block.clock_mhz = gpu_.clock(gpu_.passed());
    return block;
  }

 private:
  FakeGpu& gpu_;
  const double call_ns_;
};

class FakeInterludes : public Interludes {
 public:
  explicit FakeInterludes(FakeGpu& gpu) : gpu_(gpu) {}

  // What a check takes.
  absl::Duration pause;

  absl::Status Refresh() override {
    gpu_.log.push_back("new inputs");
    return ++refreshes, absl::OkStatus();
  }
  absl::Status Check(bool last) override {
    gpu_.Pass(pause);
    ++checks;
    last_checks += last;
    return checks == wrong_at ? absl::AbortedError("wrong outputs") : absl::OkStatus();
  }
  int ring() const override { return 10; }
  int refreshes = 0, checks = 0, last_checks = 0, wrong_at = 0;

 private:
  FakeGpu& gpu_;
};

class ConductTest : public testing::Test {
 protected:
  absl::StatusOr<Conducted> Measure(TimedProgram* baseline, const Rules& rules = Rules()) {
    Ensemble ensemble;
    ensemble.candidate = ensemble_candidate_;
    ensemble.baseline = baseline;
    ensemble.interludes = &interludes_;
    ensemble.clock = [this] { return gpu_.Read(); };
    ensemble.now = [this] { return gpu_.now(); };
    ensemble.rules = rules;
    ensemble.around.written_bytes = 200e6;
    ensemble.doubt_baseline = doubt_;
    return Conduct(ensemble);
  }

  // The candidate takes 800 µs.
  FakeGpu gpu_;
  FakeProgram candidate_{gpu_, 800e3};
  FakeProgram same_{gpu_, 800e3};
  FakeProgram three_percent_faster_{gpu_, 776e3};
  FakeInterludes interludes_{gpu_};
  TimedProgram* ensemble_candidate_ = &candidate_;
  std::function<std::string(double, double)> doubt_;
};

TEST_F(ConductTest, DifferenceOfThreePercentIsFound) {
  const auto conducted = Measure(&three_percent_faster_);
  ASSERT_TRUE(conducted.ok()) << conducted.status();
  EXPECT_EQ(conducted->stop, Stop::kPrecise);
  const RatioEstimate ratio = conducted->measurement.estimate();
  EXPECT_NEAR(ratio.ratio, 0.97, 0.005);
  EXPECT_LT(ratio.high, 1.0);
  EXPECT_LE(ratio.half_width(), 0.01);
  EXPECT_GE(conducted->measurement.samples(Side::kCandidate).size(), 50u);
  EXPECT_GE(conducted->measurement.samples(Side::kBaseline).size(), 50u);
  EXPECT_EQ(conducted->implausible, "");
}

TEST_F(ConductTest, AnchorsAreOneWithinThreePermilleInTwentyRuns) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    gpu_ = FakeGpu(seed);
    const auto conducted = Measure(&same_, AnchorRules());
    ASSERT_TRUE(conducted.ok()) << conducted.status();
    EXPECT_NEAR(conducted->measurement.estimate().ratio, 1.0, 0.003) << seed;
    EXPECT_LE(conducted->measurement.estimate().half_width(), 0.0014);
  }
}

TEST_F(ConductTest, ClockThatFallsByAFifthUnderBothCancels) {
  gpu_.clock = [](absl::Duration t) {
    return kFullClock * (1 - 0.2 * std::clamp((absl::ToDoubleSeconds(t) - 0.13) / 0.08, 0.0, 1.0));
  };
  const auto conducted = Measure(&three_percent_faster_);
  ASSERT_TRUE(conducted.ok()) << conducted.status();
  EXPECT_NEAR(conducted->measurement.estimate().ratio, 0.97, 0.005);
  EXPECT_LT(conducted->sm_clock_min_mhz, 1600u);
  const auto& samples = conducted->measurement.samples(Side::kCandidate);
  EXPECT_GT(*std::max_element(samples.begin(), samples.end()) / *std::min_element(samples.begin(), samples.end()), 1.1)
      << "the drift must be there, or this test shows nothing";
}

TEST_F(ConductTest, FirstSampleAfterASwitchDoesNotCount) {
  candidate_.first_sample_factor = 1.43;
  same_.first_sample_factor = 1.04;
  const auto conducted = Measure(&same_);
  ASSERT_TRUE(conducted.ok()) << conducted.status();
  EXPECT_NEAR(conducted->measurement.estimate().ratio, 1.0, 0.005);
  const auto& samples = conducted->measurement.samples(Side::kCandidate);
  EXPECT_LT(*std::max_element(samples.begin(), samples.end()), 1.1 * 800e3);
}

TEST_F(ConductTest, BlockInWhichTheGpuSlowedDownIsVoidAlsoIfTheReasonHasPassed) {
  // Thermal slowdown during the fourth call of the candidate's fifth block; no reading finds it in force.
  bool slow = false;
  int calls = 0;
  candidate_.report = [&](double ns) {
    if (candidate_.blocks == 5) slow = ++calls == 3;
    return ns;
  };
  gpu_.reasons = [&](absl::Duration) -> uint64_t { return slow ? 0x20 : 0x4; };
  const auto conducted = Measure(&same_, AnchorRules());
  ASSERT_TRUE(conducted.ok()) << conducted.status();
  EXPECT_EQ(conducted->stop, Stop::kPrecise);
  EXPECT_EQ(conducted->measurement.void_blocks(), 1);
  EXPECT_EQ(conducted->measurement.voided_samples().at("clock slowdown"), conducted->size.kept);
  EXPECT_EQ(conducted->clock_event_reasons, 0x24u);
  EXPECT_TRUE(conducted->counted_reasons);
}

TEST_F(ConductTest, GpuThatStaysHotGivesNoTimeAfterThreeMeasurements) {
  gpu_.reasons = [](absl::Duration) -> uint64_t { return 0x40; };
  const auto conducted = Measure(&same_);
  ASSERT_TRUE(conducted.ok()) << conducted.status();
  EXPECT_EQ(conducted->stop, Stop::kVoid);
  EXPECT_EQ(conducted->void_measurements, kMeasurements - 1);
  EXPECT_TRUE(conducted->measurement.samples(Side::kCandidate).empty());
}

TEST_F(ConductTest, GpuThatCoolsDownIsMeasuredAgain) {
  gpu_.reasons = [](absl::Duration t) -> uint64_t { return t < absl::Milliseconds(300) ? 0x8 : 0; };
  const auto conducted = Measure(&same_);
  ASSERT_TRUE(conducted.ok()) << conducted.status();
  EXPECT_EQ(conducted->stop, Stop::kPrecise);
  EXPECT_GE(conducted->void_measurements, 1);
  EXPECT_NEAR(conducted->measurement.estimate().ratio, 1.0, 0.01);
}

TEST_F(ConductTest, RunnerThatReportsHalfAndMadeUpItsWarmUpIsFoundOutByWhatIsLeftOfTheWall) {
  FakeProgram slow(gpu_, 4e6);
  FakeProgram liar(gpu_, 4e6);
  liar.report = [](double ns) { return ns / 2; };
  liar.warm_calls_factor = 2;
  ensemble_candidate_ = &liar;
  const auto conducted = Measure(&slow);
  ASSERT_TRUE(conducted.ok()) << conducted.status();
  EXPECT_TRUE(absl::StrContains(conducted->implausible, "remain unexplained")) << conducted->implausible;
  EXPECT_EQ(conducted->void_measurements, kMeasurements - 1) << "a busy host gets another chance";
}

TEST_F(ConductTest, HostThatIsBusyIsNotTakenForALie) {
  gpu_.around_a_sample = absl::Microseconds(500);
  const auto conducted = Measure(&same_);
  ASSERT_TRUE(conducted.ok()) << conducted.status();
  EXPECT_EQ(conducted->implausible, "");
}

TEST_F(ConductTest, RunnerThatReportsHalfIsFoundOutWithoutABaselineToo) {
  candidate_.report = [](double ns) { return ns / 2; };
  gpu_.around_a_sample = absl::Microseconds(10);
  const auto conducted = Measure(nullptr);
  ASSERT_TRUE(conducted.ok()) << conducted.status();
  EXPECT_TRUE(absl::StrContains(conducted->implausible, "back to back they took")) << conducted->implausible;
}

TEST_F(ConductTest, QuarterOfAFastCallIsFoundOutByHowFastTheJudgesHostEnqueues) {
  FakeProgram fast(gpu_, 24e3), liar(gpu_, 24e3);
  fast.enqueue_ns = 4e3;
  liar.report = [](double ns) { return ns / 4; };
  liar.enqueue_ns = 0.1;  // nobody asks it
  ensemble_candidate_ = &liar;
  const auto conducted = Measure(&fast);
  ASSERT_TRUE(conducted.ok()) << conducted.status();
  EXPECT_TRUE(absl::StrContains(conducted->implausible, "back to back they took")) << conducted->implausible;
}

TEST_F(ConductTest, CallThatIsShorterThanTheHostNeedsToEnqueueItIsNotTakenForALie) {
  FakeProgram quick(gpu_, 2e3), trusted(gpu_, 24e3);
  trusted.enqueue_ns = 4e3;
  quick.host_call = absl::Microseconds(9);
  ensemble_candidate_ = &quick;
  const auto conducted = Measure(&trusted);
  ASSERT_TRUE(conducted.ok()) << conducted.status();
  EXPECT_EQ(conducted->implausible, "");
}

TEST_F(ConductTest, RunnerThatReportsMoreThanTheWallHasNoBlocks) {
  candidate_.report = [](double ns) { return ns * 2; };
  const auto conducted = Measure(&same_);
  ASSERT_TRUE(conducted.ok()) << conducted.status();
  EXPECT_EQ(conducted->stop, Stop::kVoid);
  EXPECT_GT(conducted->measurement.voided_samples().at("device times exceed the wall time"), 0);
}

TEST_F(ConductTest, WhatIsNoTimeMakesABlockVoid) {
  for (const double nonsense : {0.0, -1.0, double{NAN}, double{INFINITY}}) {
    candidate_.report = [nonsense](double) { return nonsense; };
    const auto conducted = Measure(nullptr);
    ASSERT_TRUE(conducted.ok()) << conducted.status();
    EXPECT_EQ(conducted->stop, Stop::kVoid) << nonsense;
  }
}

TEST_F(ConductTest, CandidateThatIsTwentyTimesSlowerNeedsFewSamples) {
  FakeProgram fast(gpu_, 40e3);
  gpu_.noise = 0.02;
  const auto conducted = Measure(&fast);
  ASSERT_TRUE(conducted.ok()) << conducted.status();
  EXPECT_EQ(conducted->stop, Stop::kSlow);
  EXPECT_GE(conducted->measurement.samples(Side::kCandidate).size(), 5u);
  EXPECT_LT(conducted->measurement.samples(Side::kCandidate).size(), 50u);
  EXPECT_LT(conducted->measurement.estimate().high, 0.2);
}

TEST_F(ConductTest, NoiseThatDoesNotAverageOutEndsAtTheTimeCapWithWhatThereIs) {
  gpu_.noise = 0.3;
  Rules rules;
  rules.half_width = 1e-4;
  rules.budget = rules.time_cap = absl::Seconds(2);
  const auto conducted = Measure(&same_, rules);
  ASSERT_TRUE(conducted.ok()) << conducted.status();
  EXPECT_EQ(conducted->stop, Stop::kTimeCap);
  EXPECT_GT(conducted->measurement.estimate().half_width(), 1e-4);
  EXPECT_LE(conducted->measurement.estimate().low, 1.0);
  EXPECT_GE(conducted->measurement.estimate().high, 1.0);
}

TEST_F(ConductTest, UsualTimingOfANoisyGpuEndsSoonWithTheIntervalThatItHas) {
  gpu_.noise = 0.1;
  const auto conducted = Measure(&same_);
  ASSERT_TRUE(conducted.ok()) << conducted.status();
  EXPECT_EQ(conducted->stop, Stop::kTimeCap);
  EXPECT_LT(conducted->took, Rules().budget + absl::Milliseconds(100));
  EXPECT_GE(conducted->measurement.samples(Side::kCandidate).size(), 50u);
  EXPECT_GT(conducted->measurement.estimate().half_width(), Rules().half_width);
}

TEST_F(ConductTest, CandidateAloneHasAMedianAndNoRatioToABaseline) {
  const auto conducted = Measure(nullptr);
  ASSERT_TRUE(conducted.ok()) << conducted.status();
  EXPECT_EQ(conducted->stop, Stop::kPrecise);
  EXPECT_NEAR(conducted->measurement.estimate().ratio, 800e3, 8e3);
  EXPECT_TRUE(conducted->measurement.samples(Side::kBaseline).empty());
  EXPECT_EQ(conducted->implausible, "");
}

TEST_F(ConductTest, InputsAreNewInEveryRoundAndTheLastRoundIsAnnounced) {
  const auto conducted = Measure(&same_);
  ASSERT_TRUE(conducted.ok()) << conducted.status();
  EXPECT_EQ(interludes_.checks, candidate_.blocks);
  EXPECT_EQ(interludes_.refreshes, candidate_.blocks + 1);
  EXPECT_EQ(interludes_.last_checks, 1);
}

TEST_F(ConductTest, NoCallIsMadeBetweenNewInputsAndTheSamples) {
  interludes_.pause = absl::Milliseconds(30);  // so that the candidate is warmed up again
  ASSERT_TRUE(Measure(&same_).ok());
  const auto first_block = std::find(gpu_.log.begin(), gpu_.log.end(), "block");
  EXPECT_GT(std::count(first_block, gpu_.log.end(), "warm-up"), 0);
  for (auto event = first_block - 1; event != gpu_.log.end(); ++event) {
    if (*event == "new inputs") {
      EXPECT_EQ(*(event + 1), "block");
    }
  }
}

// Seven calls of eight rest, and one, which counts or does not, does the work of all.
TEST_F(ConductTest, WorkOfManyCallsInOneIsNoTime) {
  for (const int busy : {0, 1, 5}) {
    candidate_.share = [busy](int call) { return call == busy ? 10.0 : 0.01; };
    candidate_.warm_share = 0.01;
    const auto conducted = Measure(&same_);
    ASSERT_TRUE(conducted.ok()) << conducted.status();
    EXPECT_TRUE(absl::StrContains(conducted->implausible, "a few calls took the time of many"))
        << busy << ": " << conducted->implausible;
  }
}

TEST_F(ConductTest, WorkOfAFifthOfTheCallsInOneIsNoTimeEither) {
  candidate_.share = [](int call) { return call == 0 ? 3.0 : 0.78; };
  candidate_.warm_share = 0.78;
  const auto conducted = Measure(&same_);
  ASSERT_TRUE(conducted.ok()) << conducted.status();
  EXPECT_TRUE(absl::StrContains(conducted->implausible, "a few calls")) << conducted->implausible;
}

TEST_F(ConductTest, WrongOutputEndsTheMeasurement) {
  interludes_.wrong_at = 2;
  EXPECT_EQ(Measure(&same_).status().message(), "wrong outputs");
  EXPECT_EQ(candidate_.blocks, 2);
}

TEST_F(ConductTest, BaselineThatIsDoubtedIsMeasuredAgainAndBelievedWhenTheDoubtIsGone) {
  int asked = 0;
  doubt_ = [&](double median_ns, double clock_mhz) -> std::string {
    EXPECT_NEAR(median_ns, 776e3, 10e3);
    EXPECT_NEAR(clock_mhz, kFullClock, 1);
    return ++asked < 3 ? "slower than it was" : "";
  };
  const auto conducted = Measure(&three_percent_faster_);
  ASSERT_TRUE(conducted.ok()) << conducted.status();
  EXPECT_EQ(conducted->implausible, "");
  EXPECT_EQ(conducted->void_measurements, 2);
}

TEST_F(ConductTest, BaselineThatStaysInDoubtEndsAfterThreeMeasurements) {
  doubt_ = [](double, double) { return "slower than it was"; };
  const auto conducted = Measure(&three_percent_faster_);
  ASSERT_TRUE(conducted.ok()) << conducted.status();
  EXPECT_EQ(conducted->implausible, "slower than it was");
  EXPECT_EQ(conducted->void_measurements, kMeasurements - 1);
}

TEST_F(ConductTest, WithoutABaselineNobodyDoubtsIt) {
  doubt_ = [](double, double) { return "slower than it was"; };
  EXPECT_EQ(Measure(nullptr)->implausible, "");
}

TEST_F(ConductTest, ClockAsymmetryShows) {
  FakeProgram slow_clock(gpu_, 800e3);
  gpu_.clock = [this](absl::Duration) { return candidate_.blocks % 2 == 0 ? 1900.0 : 1980.0; };
  const auto conducted = Measure(nullptr);
  ASSERT_TRUE(conducted.ok()) << conducted.status();
  EXPECT_GT(conducted->measurement.clock_mhz(Side::kCandidate), 1899);
  EXPECT_EQ(conducted->measurement.clock_mhz(Side::kBaseline), 0);
}

}  // namespace
}  // namespace sassay::timing
