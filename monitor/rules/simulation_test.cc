// Long times and bad nights, simulated.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "monitor/rules/testing/bench.h"

namespace sassay::monitor {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

const absl::Time kStart = absl::FromUnixSeconds(1'000'000);

void Set(std::vector<Sample>& samples, const std::string& signal, double value) {
  for (Sample& sample : samples) {
    if (sample.signal == signal) sample.value = value;
  }
}

void Hot(std::vector<Sample>& samples) {
  Set(samples, "gpu.thermal_slowdown_ratio", 0.4);
  Set(samples, "gpu.clock_reasons", 0x24);
}

double Minutes(absl::Duration time) { return absl::ToDoubleMinutes(time); }

// What goes on around candidates all the time: they fault and are convicted, blocks are void, baselines vary, runners
// die.
class Turns {
 public:
  void Add(Bench& bench, int gpu, std::vector<Sample>& samples) {
    const auto add = [&](const char* signal, double value, const std::string& text = "") {
      samples.push_back({bench.now().steady, Bench::Gpu(gpu), signal, value, text});
    };
    if (absl::Time& conviction = convictions_[gpu]; conviction > kStart && bench.now().steady >= conviction) {
      add("fault.blamed", 1, "OOB_GLOBAL_WRITE s-" + std::to_string(submissions_[gpu]));
      conviction = absl::InfinitePast();
    } else if (conviction <= kStart && Chance(0.01)) {
      add("gpu.xid", 31, "MMU fault");
      add("fault.unblamed", 1, "ILLEGAL_ADDRESS s-" + std::to_string(submissions_[gpu] = ++faults_));
      conviction = bench.now().steady + absl::Seconds(2 + 10 * uniform_(random_));
    }
    if (Chance(0.02)) add("gpu.xid", 43, "killed");
    if (Chance(0.05)) add("runner.died", 1);
    if (Chance(0.5)) add("timing.void_ratio", Chance(0.1) ? 0.5 * uniform_(random_) : 0);
    if (Chance(0.5)) add("timing.baseline_ratio", 1 + 0.03 * normal_(random_));
    if (Chance(0.0005)) add("fault.unblamed", 1, "HANG x-" + std::to_string(++faults_));
    if (Chance(0.0002)) add("judge.died", 1);
  }

 private:
  bool Chance(double share) { return uniform_(random_) < share; }
  std::mt19937_64 random_{7};
  std::uniform_real_distribution<double> uniform_;
  std::normal_distribution<double> normal_;
  std::map<int, absl::Time> convictions_;
  std::map<int, int> submissions_;
  int faults_ = 0;
};

TEST(Simulation, TenThousandHealthyMinutesOfEightGpusHoldNobody) {
  v1::MonitorConfig config = DefaultConfig();
  config.mutable_watermark()->set_fresh_s(5);
  Bench bench(8, config);
  bench.tick = absl::Seconds(5);
  bench.every = 2;
  bench.canary_noise = 0.01;
  Turns turns;
  bench.change = [&](int gpu, std::vector<Sample>& samples) { turns.Add(bench, gpu, samples); };
  bench.Run(absl::Minutes(10000));
  EXPECT_THAT(bench.Of(DecisionKind::kQuarantine), IsEmpty());
  EXPECT_THAT(bench.Of(DecisionKind::kExclude), IsEmpty());
  EXPECT_THAT(bench.Of(DecisionKind::kPause), IsEmpty());
  EXPECT_GT(bench.Of(DecisionKind::kRunCanary).size(), 8000u);
  for (const v1::Incident& incident : bench.Incidents()) {
    EXPECT_EQ(incident.severity(), v1::SEVERITY_INFO) << incident.ShortDebugString();
  }
  EXPECT_THAT(bench.Incidents("xid_application"), testing::Not(IsEmpty()));
  for (int gpu = 0; gpu < 8; ++gpu) EXPECT_GE(bench.HealthyThrough(gpu), bench.now().steady - absl::Minutes(2));
}

// How long it takes until a GPU that became slower is held, in minutes.
double FoundAfter(double factor, double noise, int gpu, absl::Duration limit) {
  Bench bench(4);
  bench.tick = absl::Seconds(2);
  bench.canary_noise = noise;
  bench.Run(absl::Hours(4));
  const absl::Time since = bench.now().steady;
  bench.slow = [&](int which) { return which == gpu ? factor : 1; };
  if (!bench.RunUntil([&] { return bench.Held(gpu); }, limit)) return 1e9;
  EXPECT_EQ(bench.State(gpu), v1::GPU_STATE_COOLING);
  EXPECT_THAT(bench.Incidents("canary_slow"), SizeIs(1));
  for (int other = 0; other < 4; ++other) EXPECT_EQ(bench.Held(other), other == gpu);
  return Minutes(bench.now().steady - since);
}

TEST(Simulation, FifteenPercentAreFoundWithTheNextCanary) {
  EXPECT_LE(FoundAfter(1.15, 0.01, 2, absl::Hours(1)), 10.2);
}

TEST(Simulation, ThreePercentAreFoundWithinTwoCanaries) {
  EXPECT_LE(FoundAfter(1.03, 0.002, 1, absl::Hours(1)), 11);
  EXPECT_LE(FoundAfter(1.03, 0.01, 1, absl::Hours(1)), 22);
}

TEST(Simulation, ASlowGpuIsQuarantinedInTheEndAndAMendedOneComesBack) {
  for (const bool mended : {true, false}) {
    Bench bench(2);
    bench.tick = absl::Seconds(2);
    bench.Run(absl::Hours(3));
    const absl::Time since = bench.now().steady;
    bench.slow = [&](int gpu) {
      return gpu == 1 && (!mended || bench.now().steady < since + absl::Minutes(30)) ? 1.15 : 1.0;
    };
    bench.Run(absl::Hours(2));
    EXPECT_EQ(bench.State(1), mended ? v1::GPU_STATE_HEALTHY : v1::GPU_STATE_QUARANTINED);
    EXPECT_EQ(bench.Held(1), !mended);
  }
}

TEST(Simulation, AGpuWithoutAHistoryIsComparedWithItsPeers) {
  Bench bench(4);
  bench.tick = absl::Seconds(2);
  bench.slow = [](int gpu) { return gpu == 3 ? 1.2 : 1; };
  bench.Run(absl::Hours(2));
  EXPECT_GE(bench.State(3), v1::GPU_STATE_SUSPECT);
  EXPECT_THAT(bench.Incidents("canary_slower_than_peers"), testing::Not(IsEmpty()));
  EXPECT_EQ(bench.State(0), v1::GPU_STATE_HEALTHY);
}

TEST(Simulation, AnyPrefixOfTheJournalIsAMonitorThatGoesOn) {
  Bench bench(2);
  bench.Run(absl::Seconds(10));
  const absl::Time hot_until = bench.now().steady + absl::Seconds(8);
  bench.change = [&](int gpu, std::vector<Sample>& samples) {
    if (gpu == 1 && bench.now().steady < hot_until) Hot(samples);
  };
  bench.Run(absl::Seconds(70));
  const std::vector<v1::JournalEntry> journal = bench.journal();
  ASSERT_GT(journal.size(), 30u);
  for (size_t length = 0; length <= journal.size(); ++length) {
    Engine engine(DefaultConfig(), "host");
    const std::vector<v1::JournalEntry> prefix(journal.begin(), journal.begin() + length);
    engine.Restore(prefix);
    engine.Step(bench.now(), {});
    v1::GpuState expected = v1::GPU_STATE_HEALTHY;
    for (const auto& entry : prefix) {
      if (entry.subject().uuid() == "GPU-1") expected = entry.subject().state();
    }
    bool holds = false;
    for (const Decision& decision : engine.Due(bench.now())) {
      holds |= decision.kind == DecisionKind::kPause && decision.gpu == "GPU-1";
    }
    EXPECT_EQ(holds, expected == v1::GPU_STATE_COOLING) << length;
    for (const SubjectView& view : engine.View()) {
      if (view.gpu == "GPU-1") {
        EXPECT_EQ(view.state, expected) << length;
      }
    }
  }
}

// A bad night: heat, Xids, faults, an unreachable service, a hanging NVML, kills of the monitor, all at random; and
// what must hold whatever happens.
class BadNight {
 public:
  explicit BadNight(uint64_t seed) : random_(seed) {
    bench_.change = [this](int gpu, std::vector<Sample>& samples) { Disturb(gpu, samples); };
    bench_.answer = [this](const Decision& decision) { return Answer(decision); };
  }

  void Play(absl::Duration time) {
    const absl::Time end = bench_.now().steady + time;
    while (bench_.now().steady < end) {
      if (Chance(0.002)) hot_until_[Any()] = bench_.now().steady + absl::Seconds(20 * uniform_(random_));
      if (Chance(0.002)) away_until_ = bench_.now().steady + absl::Seconds(40 * uniform_(random_));
      if (Chance(0.001)) bench_.Send(Bench::Gpu(Any()), "gpu.xid", Chance(0.5) ? 31 : 94, "x");
      if (Chance(0.001)) silent_until_ = bench_.now().steady + absl::Seconds(10 * uniform_(random_));
      if (Chance(0.001)) Kill();
      bench_.nvml_answers = bench_.now().steady >= silent_until_;
      bench_.Tick();
      CheckWatermark();
    }
  }

  void Calm() {
    hot_until_.clear();
    away_until_ = silent_until_ = absl::InfinitePast();
    bench_.nvml_answers = true;
    bench_.Run(absl::Minutes(15));
  }

  Bench& bench() { return bench_; }
  size_t hot_samples() const { return bad_.size(); }
  // Incidents of the journal that the service does not have in their newest revision.
  std::vector<std::string> Missing() const {
    std::map<std::string, uint32_t> known;
    for (const Told& told : bench_.Of(DecisionKind::kRecordIncident)) {
      uint32_t& revision = known[told.decision.incident.id()];
      revision = std::max(revision, told.decision.incident.revision());
    }
    std::vector<std::string> missing;
    for (const v1::Incident& incident : bench_.Incidents()) {
      if (known[incident.id()] != incident.revision()) missing.push_back(incident.ShortDebugString());
    }
    return missing;
  }

 private:
  struct Bad {
    int gpu;
    absl::Time at;
  };
  bool Chance(double share) { return uniform_(random_) < share; }
  int Any() { return static_cast<int>(random_() % 3); }

  void Disturb(int gpu, std::vector<Sample>& samples) {
    if (bench_.now().steady >= hot_until_[gpu]) return;
    Hot(samples);
    total_[gpu] += 0.08;
    bad_.push_back({gpu, bench_.now().steady});
    Set(samples, "gpu.thermal_slowdown_seconds_total", total_[gpu]);
  }

  absl::Status Answer(const Decision& decision) {
    if (bench_.now().steady < away_until_) return absl::UnavailableError("away");
    if (decision.kind == DecisionKind::kExclude) {
      windows_[decision.gpu][decision.incident_id] = {decision.from, decision.to};
    }
    return absl::OkStatus();
  }

  void Kill() {
    // What an engine has decided and not yet written does not exist; the bench writes before it acts.
    bench_.Kill(absl::Seconds(1 + 8 * uniform_(random_)));
  }

  bool Covered(int gpu, absl::Time wall) {
    for (const auto& [id, window] : windows_[Bench::Gpu(gpu)]) {
      if (window.first < wall && wall <= window.second) return true;
    }
    return false;
  }

  // No mark passes a bad sample that the service has not been told to exclude.
  void CheckWatermark() {
    const absl::Duration offset = bench_.now().wall - bench_.now().steady;
    for (const Bad& bad : bad_) {
      if (bench_.HealthyThrough(bad.gpu) < bad.at) continue;
      EXPECT_TRUE(Covered(bad.gpu, bad.at + offset)) << bad.gpu << " " << bad.at;
    }
    bad_.erase(std::remove_if(bad_.begin(), bad_.end(),
                              [&](const Bad& bad) { return bad.at < bench_.now().steady - absl::Seconds(30); }),
               bad_.end());
  }

  Bench bench_{3};
  std::mt19937_64 random_;
  std::uniform_real_distribution<double> uniform_;
  std::map<int, absl::Time> hot_until_;
  std::map<int, double> total_;
  absl::Time away_until_ = absl::InfinitePast();
  absl::Time silent_until_ = absl::InfinitePast();
  std::map<std::string, std::map<std::string, std::pair<absl::Time, absl::Time>>> windows_;
  std::vector<Bad> bad_;
};

class BadNights : public ::testing::TestWithParam<uint64_t> {};

TEST_P(BadNights, TheMarkIsTrueAndNothingIsLost) {
  BadNight night(GetParam());
  night.Play(absl::Minutes(20));
  night.Calm();
  EXPECT_THAT(night.Missing(), IsEmpty());
  for (int gpu = 0; gpu < 3; ++gpu) {
    const v1::GpuState state = night.bench().State(gpu);
    EXPECT_THAT(state, testing::AnyOf(v1::GPU_STATE_HEALTHY, v1::GPU_STATE_QUARANTINED));
    EXPECT_EQ(night.bench().Held(gpu), state == v1::GPU_STATE_QUARANTINED) << gpu;
    EXPECT_GE(night.bench().HealthyThrough(gpu), night.bench().now().steady - absl::Seconds(2));
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, BadNights, ::testing::Range<uint64_t>(1, 9));

}  // namespace
}  // namespace sassay::monitor
