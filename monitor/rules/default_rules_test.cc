// Every default rule, on a trace of its own: it fires, does what the table says, and ends when the trace is good again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "monitor/rules/config.h"
#include "monitor/rules/testing/bench.h"

namespace sassay::monitor {
namespace {

struct Case {
  std::string rule;
  std::string signal;
  // The value at a number of seconds into the trouble.
  double (*value)(double seconds);
  double lasts_s;
  v1::GpuState state;
  bool held;
  bool excludes;
  std::string text;
};

double One(double) { return 1; }
double Rising(double seconds) { return 10 * seconds; }
double Lasting(double seconds) { return seconds; }
template <int kValue>
double Constant(double) {
  return kValue;
}
double Slower(double) { return 1.05; }
double MuchSlower(double) { return 1.2; }
double Low(double) { return 0.01; }

constexpr auto kHealthy = v1::GPU_STATE_HEALTHY;
constexpr auto kSuspect = v1::GPU_STATE_SUSPECT;
constexpr auto kCooling = v1::GPU_STATE_COOLING;
constexpr auto kQuarantined = v1::GPU_STATE_QUARANTINED;

const std::vector<Case>& Cases() {
  static const auto& cases = *new std::vector<Case>{
      {"thermal_slowdown", "gpu.thermal_slowdown_ratio", One, 1, kCooling, true, true, ""},
      {"thermal_slowdown", "gpu.clock_reasons", Constant<0x24>, 1, kCooling, true, true, ""},
      {"thermal_slowdown", "gpu.clock_reasons", Constant<0x40>, 1, kCooling, true, true, ""},
      {"thermal_margin", "gpu.thermal_margin_celsius", One, 12, kSuspect, false, false, ""},
      {"hw_slowdown", "gpu.hw_slowdown_ratio", One, 1, kCooling, true, true, ""},
      {"hw_slowdown", "gpu.clock_reasons", Constant<0x80>, 1, kCooling, true, true, ""},
      {"xid_application", "gpu.xid", Constant<13>, 0, kSuspect, false, false, "Graphics exception"},
      {"xid_after_kill", "gpu.xid", Constant<43>, 0, kHealthy, false, false, ""},
      {"xid_contained_ecc", "gpu.xid", Constant<94>, 0, kCooling, true, true, ""},
      {"xid_hardware", "gpu.xid", Constant<79>, 0, kQuarantined, true, true, "fallen off the bus"},
      {"xid_recovery_action", "gpu.xid", Constant<154>, 0, kQuarantined, true, true, "0x1 (GPU Reset Required)"},
      {"ecc_uncorrected", "gpu.ecc_uncorrected_total", One, 1, kQuarantined, true, true, ""},
      {"ecc_corrected_rate", "gpu.ecc_corrected_total", Rising, 20, kSuspect, false, false, ""},
      {"row_remap_pending", "gpu.row_remap_pending", One, 1, kSuspect, false, false, ""},
      {"row_remap_failed", "gpu.row_remap_failed", One, 1, kQuarantined, true, true, ""},
      {"gpu_lost", "gpu.lost", One, 1, kQuarantined, true, true, ""},
      {"gpu_silent", "gpu.silent_seconds", Lasting, 7, kSuspect, true, false, "Unknown Error"},
      {"gpu_silent_long", "gpu.silent_seconds", Lasting, 63, kCooling, true, true, "Unknown Error"},
      {"foreign_process", "gpu.foreign_processes", One, 1, kSuspect, true, true, "python3"},
      {"pcie_replay", "gpu.pcie_replay_total", Rising, 45, kSuspect, false, false, ""},
      {"canary_slow", "canary.tensor_ratio", Slower, 0, kCooling, true, true, ""},
      {"canary_slow", "canary.memory_ratio", Slower, 0, kCooling, true, true, ""},
      {"canary_slower_than_peers", "canary.tensor_peer_ratio", MuchSlower, 0, kSuspect, false, false, ""},
      {"canary_failed", "canary.failed", One, 1, kCooling, true, false, "no device"},
      {"canary_wrong", "canary.failed", Constant<2>, 0, kQuarantined, true, true, "a sum is wrong"},
      {"void_timings", "timing.void_ratio", One, 3, kSuspect, false, false, ""},
      {"baseline_slow", "timing.baseline_ratio", MuchSlower, 3, kSuspect, false, false, ""},
      {"unblamed_faults", "fault.unblamed", One, 2, kSuspect, false, false, ""},
      {"judge_crash_loop", "judge.died", One, 0.7, kCooling, true, false, ""},
      {"judge_silent", "judge.silent_seconds", Constant<70>, 1, kSuspect, true, false, ""},
      {"runner_overdue", "runner.overdue_seconds", Constant<11>, 1, kSuspect, true, false, ""},
      {"runners_die", "runner.died", One, 15, kSuspect, false, false, ""},
      {"service_silent", "service.silent_seconds", Constant<11>, 1, kHealthy, false, false, ""},
      {"service_exited", "service.exited", One, 0, kHealthy, false, false, "signal 9"},
      {"nvml_silent", "source.silent_seconds", Lasting, 7, kHealthy, true, false, "nvml"},
      {"nvml_lost", "source.silent_seconds", Lasting, 63, kHealthy, true, true, "nvml"},
      {"disk_full", "host.disk_free_ratio", Low, 1, kHealthy, true, false, ""},
      {"memory_short", "host.memory_available_ratio", Low, 12, kHealthy, true, false, ""},
      {"clock_jump", "host.clock_jump_seconds", Constant<5>, 0, kHealthy, false, true, ""},
      {"clock_jump", "host.clock_jump_seconds", Constant<-5>, 0, kHealthy, false, true, ""},
  };
  return cases;
}

bool OfHost(const std::string& signal) {
  return signal.rfind("host.", 0) == 0 || signal.rfind("service.", 0) == 0 || signal.rfind("source.", 0) == 0;
}

// Whether it is sent all the time, so that good samples follow the bad ones.
bool Replace(std::vector<Sample>& samples, const Sample& by) {
  for (Sample& sample : samples) {
    const bool same = sample.signal == by.signal && (by.signal != "source.silent_seconds" || sample.text == by.text);
    if (!same) continue;
    sample.value = by.value;
    return true;
  }
  return false;
}

class DefaultRules : public ::testing::TestWithParam<Case> {};

TEST_P(DefaultRules, FiresAndEnds) {
  const Case& test = GetParam();
  v1::MonitorConfig config = DefaultConfig();
  config.mutable_canary()->set_minimum_history(1);
  Bench bench(1, config);
  bench.Run(absl::Seconds(70));
  ASSERT_TRUE(bench.Incidents().empty()) << bench.Incidents()[0].DebugString();
  const absl::Time begin = bench.now().steady + bench.tick;
  const auto disturb = [&](std::vector<Sample>& samples, const std::string& gpu) {
    const double seconds = absl::ToDoubleSeconds(bench.now().steady - begin);
    const bool over = seconds > test.lasts_s;
    const Sample bad = {bench.now().steady, gpu, test.signal, test.value(std::min(seconds, test.lasts_s)), test.text};
    const bool total = test.signal.find("_total") != std::string::npos;
    if (over && !total) {
      // What is sent on occasion says by itself that it is good again.
      const bool level = test.signal.rfind("timing.", 0) == 0 || test.signal == "judge.silent_seconds" ||
                         test.signal == "runner.overdue_seconds" || test.signal.find("peer_ratio") != std::string::npos;
      if (level)
        samples.push_back({bad.at, gpu, test.signal, test.signal.find("ratio") == std::string::npos ? 0. : 0.01, ""});
      return;
    }
    if (!Replace(samples, bad)) samples.push_back(bad);
  };
  bench.change = [&](int, std::vector<Sample>& samples) {
    if (!OfHost(test.signal)) disturb(samples, Bench::Gpu(0));
  };
  bench.change_host = [&](std::vector<Sample>& samples) {
    if (OfHost(test.signal)) disturb(samples, "");
  };
  const auto fired = [&] { return !bench.Incidents(test.rule).empty(); };
  ASSERT_TRUE(bench.RunUntil(fired, absl::Seconds(test.lasts_s + 125))) << "it did not fire";
  EXPECT_EQ(bench.State(0), test.state);
  EXPECT_EQ(bench.Held(0), test.held);
  EXPECT_EQ(!bench.Of(DecisionKind::kExclude, 0).empty(), test.excludes);
  EXPECT_FALSE(bench.Incidents(test.rule)[0].evidence().empty());

  const auto ended = [&] { return bench.Incidents(test.rule)[0].has_to(); };
  ASSERT_TRUE(bench.RunUntil(ended, absl::Minutes(80))) << "it did not end";
  EXPECT_GE(bench.Incidents(test.rule)[0].to().seconds(), bench.Incidents(test.rule)[0].from().seconds());
  if (test.state == kQuarantined) {
    EXPECT_EQ(bench.State(0), kQuarantined);
    return;
  }
  const auto free = [&] { return bench.State(0) == kHealthy && !bench.Held(0); };
  EXPECT_TRUE(bench.RunUntil(free, absl::Minutes(30))) << bench.View(0).reason;
}

INSTANTIATE_TEST_SUITE_P(All, DefaultRules, ::testing::ValuesIn(Cases()), [](const auto& info) {
  std::string name = info.param.rule + "_" + std::to_string(info.index);
  return name;
});

TEST(DefaultRules, EveryOneHasATrace) {
  std::set<std::string> tested, rules;
  for (const Case& test : Cases()) tested.insert(test.rule);
  for (const v1::Rule& rule : DefaultConfig().rules()) rules.insert(rule.name());
  EXPECT_EQ(tested, rules);
}

}  // namespace
}  // namespace sassay::monitor
