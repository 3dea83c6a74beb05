#include "monitor/rules/engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "monitor/rules/testing/bench.h"

namespace sassay::monitor {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

void Set(std::vector<Sample>& samples, const std::string& signal, double value) {
  for (Sample& sample : samples) {
    if (sample.signal == signal) sample.value = value;
  }
}

void Hot(std::vector<Sample>& samples) {
  Set(samples, "gpu.thermal_slowdown_ratio", 0.4);
  Set(samples, "gpu.clock_reasons", 0x24);
}

absl::Time From(const v1::Incident& incident) {
  return absl::FromUnixSeconds(incident.from().seconds()) + absl::Nanoseconds(incident.from().nanos());
}

absl::Time To(const v1::Incident& incident) {
  return absl::FromUnixSeconds(incident.to().seconds()) + absl::Nanoseconds(incident.to().nanos());
}

TEST(Engine, HealthyGpusTakeWorkAndTheirWatermarkFollowsTheSamples) {
  Bench bench(2);
  bench.Run(absl::Seconds(30));
  for (int gpu = 0; gpu < 2; ++gpu) {
    EXPECT_EQ(bench.State(gpu), v1::GPU_STATE_HEALTHY);
    EXPECT_FALSE(bench.Held(gpu));
    EXPECT_GE(bench.HealthyThrough(gpu), bench.now().steady - absl::Milliseconds(250));
  }
  EXPECT_THAT(bench.Incidents(), IsEmpty());
  EXPECT_THAT(bench.Of(DecisionKind::kResume), IsEmpty());
}

TEST(Engine, ACanaryRunsAtTheStart) {
  Bench bench(2);
  bench.Run(absl::Seconds(5));
  EXPECT_THAT(bench.Of(DecisionKind::kRunCanary, 0), SizeIs(1));
  EXPECT_THAT(bench.Of(DecisionKind::kRunCanary, 1), SizeIs(1));
}

TEST(Engine, HeatPausesExcludesAndComesBackAfterCoolingAndACleanCanary) {
  Bench bench(4);
  bench.Run(absl::Seconds(20));
  const Now before = bench.now();
  bench.change = [&](int gpu, std::vector<Sample>& samples) {
    if (gpu == 2 && bench.now().steady < before.steady + absl::Seconds(10)) Hot(samples);
  };
  bench.Tick();
  EXPECT_EQ(bench.State(2), v1::GPU_STATE_COOLING);
  EXPECT_TRUE(bench.Held(2));
  const auto exclusions = bench.Of(DecisionKind::kExclude, 2);
  ASSERT_THAT(exclusions, SizeIs(1));
  // The share tells of the time since the last reading, which was good.
  EXPECT_EQ(exclusions[0].decision.from, before.wall);
  EXPECT_EQ(exclusions[0].decision.to, absl::InfiniteFuture());

  ASSERT_TRUE(bench.RunUntil([&] { return !bench.Held(2); }, absl::Seconds(120)));
  EXPECT_EQ(bench.State(2), v1::GPU_STATE_HEALTHY);
  const auto incidents = bench.Incidents("thermal_slowdown");
  ASSERT_THAT(incidents, SizeIs(1));
  EXPECT_EQ(From(incidents[0]), before.wall);
  EXPECT_EQ(To(incidents[0]), before.wall + absl::Seconds(10));
  EXPECT_EQ(incidents[0].before(), v1::GPU_STATE_HEALTHY);
  EXPECT_EQ(incidents[0].after(), v1::GPU_STATE_COOLING);
  EXPECT_GT(incidents[0].evidence_size(), 2);
  const auto closed = bench.Of(DecisionKind::kExclude, 2).back().decision;
  EXPECT_EQ(closed.to, before.wall + absl::Seconds(10));
  EXPECT_EQ(closed.incident_id, incidents[0].id());
  // Good for 5 s, minimum time 30 s, and a canary.
  const absl::Time resumed = bench.Of(DecisionKind::kResume, 2).back().at;
  EXPECT_GE(resumed, before.steady + absl::Seconds(45));
  EXPECT_LE(resumed, before.steady + absl::Seconds(50));
  EXPECT_GE(bench.Of(DecisionKind::kRunCanary, 2).back().at, before.steady + absl::Seconds(45));
  ASSERT_THAT(bench.Incidents("recovered"), SizeIs(1));
  for (const int other : {0, 1, 3}) EXPECT_THAT(bench.Of(DecisionKind::kPause, other), IsEmpty());
}

TEST(Engine, PowerCappingIsNotHeat) {
  Bench bench(1);
  bench.change = [](int, std::vector<Sample>& samples) {
    Set(samples, "gpu.clock_reasons", 0x4);
    Set(samples, "gpu.power_cap_ratio", 1);
    Set(samples, "gpu.sm_clock_mhz", 1500);
  };
  bench.Run(absl::Minutes(5));
  EXPECT_THAT(bench.Incidents(), IsEmpty());
}

TEST(Engine, TheWatermarkWaitsForTheExclusionToBeKnown) {
  Bench bench(1);
  bench.Run(absl::Seconds(10));
  const absl::Time before = bench.now().steady;
  bool reachable = false;
  bench.answer = [&](const Decision&) { return reachable ? absl::OkStatus() : absl::UnavailableError("gone"); };
  bench.change = [](int, std::vector<Sample>& samples) { Hot(samples); };
  bench.Run(absl::Seconds(60));
  EXPECT_EQ(bench.HealthyThrough(0), before);
  reachable = true;
  bench.Run(absl::Seconds(31));
  EXPECT_GT(bench.HealthyThrough(0), before + absl::Seconds(60));
  EXPECT_TRUE(bench.Held(0));
}

TEST(Engine, WhileTheServiceIsAwayTheNewestHoldWinsAndNoIncidentIsLost) {
  Bench bench(1);
  bench.Run(absl::Seconds(10));
  bool reachable = false;
  bench.answer = [&](const Decision& decision) {
    return reachable || decision.kind == DecisionKind::kRunCanary ? absl::OkStatus() : absl::UnavailableError("gone");
  };
  const absl::Time hot_until = bench.now().steady + absl::Seconds(5);
  bench.change = [&](int, std::vector<Sample>& samples) {
    if (bench.now().steady < hot_until) Hot(samples);
  };
  bench.Run(absl::Seconds(90));
  EXPECT_EQ(bench.State(0), v1::GPU_STATE_HEALTHY);
  reachable = true;
  bench.Run(absl::Seconds(35));
  EXPECT_THAT(bench.Of(DecisionKind::kPause), IsEmpty());
  ASSERT_THAT(bench.Of(DecisionKind::kResume), SizeIs(1));
  ASSERT_THAT(bench.Of(DecisionKind::kExclude), SizeIs(1));
  // Its windows are known before it takes work.
  EXPECT_LE(bench.Of(DecisionKind::kExclude)[0].at, bench.Of(DecisionKind::kResume)[0].at);
  std::set<std::string> recorded;
  for (const Told& told : bench.Of(DecisionKind::kRecordIncident)) recorded.insert(told.decision.incident.rule());
  EXPECT_EQ(recorded, (std::set<std::string>{"thermal_slowdown", "recovered"}));
}

TEST(Engine, ABlamedXidIsTheCandidatesAndChangesNothing) {
  Bench bench(1);
  bench.Run(absl::Seconds(10));
  bench.Send("GPU-0", "gpu.xid", 31, "MMU fault");
  bench.Run(absl::Seconds(8));
  bench.Send("GPU-0", "fault.blamed", 1, "ILLEGAL_ADDRESS s-1");
  bench.Run(absl::Minutes(6));
  const auto incidents = bench.Incidents();
  ASSERT_THAT(incidents, SizeIs(1));
  EXPECT_EQ(incidents[0].severity(), v1::SEVERITY_INFO);
  EXPECT_TRUE(incidents[0].has_to());
  EXPECT_EQ(bench.State(0), v1::GPU_STATE_HEALTHY);
  EXPECT_THAT(bench.Of(DecisionKind::kExclude), IsEmpty());
  EXPECT_THAT(bench.Of(DecisionKind::kRunCanary), SizeIs(1));
}

TEST(Engine, AnUnblamedXidMakesSuspectUntilACleanCanary) {
  Bench bench(1);
  bench.Run(absl::Seconds(10));
  const absl::Time before = bench.now().steady;
  bench.Send("GPU-0", "gpu.xid", 31, "MMU fault");
  ASSERT_TRUE(bench.RunUntil([&] { return bench.State(0) == v1::GPU_STATE_SUSPECT; }, absl::Seconds(70)));
  EXPECT_GE(bench.now().steady, before + absl::Seconds(60));
  EXPECT_FALSE(bench.Held(0));
  ASSERT_TRUE(bench.RunUntil([&] { return bench.State(0) == v1::GPU_STATE_HEALTHY; }, absl::Seconds(40)));
  EXPECT_THAT(bench.Of(DecisionKind::kRunCanary), SizeIs(2));
  EXPECT_THAT(bench.Of(DecisionKind::kExclude), IsEmpty());
  EXPECT_EQ(From(bench.Incidents("xid_application").at(0)),
            bench.now().wall - (bench.now().steady - before) + bench.tick);
}

TEST(Engine, FaultsOfConvictedSubmissionsDoNotCountAgainstTheGpu) {
  for (const bool convicted : {true, false}) {
    Bench bench(1);
    bench.Run(absl::Seconds(10));
    for (int i = 0; i < 8; ++i) {
      const std::string submission = "s-" + std::to_string(i);
      bench.Send("GPU-0", "fault.unblamed", 1, "ILLEGAL_ADDRESS " + submission);
      bench.Run(absl::Seconds(5));
      bench.Send("GPU-0", "fault.blamed", 1, convicted ? "OOB_GLOBAL_WRITE " + submission : "HANG s-other");
      bench.Run(absl::Seconds(5));
    }
    bench.Run(absl::Minutes(3));
    EXPECT_EQ(bench.Incidents("unblamed_faults").empty(), convicted);
    EXPECT_FALSE(bench.Held(0));
  }
}

TEST(Engine, Xid79QuarantinesUntilAnOperatorAsksAndTheCanaryIsClean) {
  Bench bench(1);
  bench.Run(absl::Seconds(10));
  bench.Send("GPU-0", "gpu.xid", 79, "GPU has fallen off the bus");
  bench.Run(absl::Minutes(10));
  EXPECT_EQ(bench.State(0), v1::GPU_STATE_QUARANTINED);
  EXPECT_TRUE(bench.Held(0));
  ASSERT_THAT(bench.Of(DecisionKind::kQuarantine), SizeIs(1));
  EXPECT_THAT(bench.Of(DecisionKind::kExclude), testing::Not(IsEmpty()));
  const size_t canaries = bench.Of(DecisionKind::kRunCanary).size();
  bench.Send("GPU-0", "gpu.release_asked", 1, "alice: card was reseated");
  bench.Run(absl::Seconds(5));
  EXPECT_EQ(bench.State(0), v1::GPU_STATE_HEALTHY);
  EXPECT_FALSE(bench.Held(0));
  EXPECT_THAT(bench.Of(DecisionKind::kRunCanary), SizeIs(canaries + 1));
  EXPECT_THAT(bench.Incidents("released").at(0).reason(), HasSubstr("alice: card was reseated"));
  // Whoever holds it: the operator wants it back.
  EXPECT_THAT(bench.Of(DecisionKind::kRelease), SizeIs(1));
}

TEST(Engine, AGpuThatOnlyAnOperatorHoldsIsReleasedAfterACleanCanary) {
  Bench bench(1);
  bench.Run(absl::Seconds(10));
  const size_t canaries = bench.Of(DecisionKind::kRunCanary).size();
  bench.Send("GPU-0", "gpu.release_asked", 1, "alice");
  bench.Run(absl::Seconds(5));
  EXPECT_THAT(bench.Of(DecisionKind::kRelease), SizeIs(1));
  EXPECT_THAT(bench.Of(DecisionKind::kRunCanary), SizeIs(canaries + 1));
  EXPECT_THAT(bench.Incidents(), IsEmpty());
}

TEST(Engine, AReleaseIsRefusedWhileTheCanaryIsSlow) {
  Bench bench(1);
  bench.Run(absl::Hours(2));
  bench.Send("GPU-0", "gpu.xid", 79, "off the bus");
  bench.Run(absl::Minutes(3));
  bench.slow = [](int) { return 1.2; };
  bench.Send("GPU-0", "gpu.release_asked", 1, "alice");
  bench.Run(absl::Minutes(2));
  EXPECT_EQ(bench.State(0), v1::GPU_STATE_QUARANTINED);
  EXPECT_TRUE(bench.Held(0));
}

TEST(Engine, AnOperatorCanForceARelease) {
  Bench bench(1);
  bench.Run(absl::Seconds(10));
  bench.Send("GPU-0", "gpu.xid", 79, "off the bus");
  bench.Run(absl::Minutes(3));
  bench.Send("GPU-0", "gpu.released", 1, "alice");
  bench.Run(absl::Seconds(10));
  EXPECT_EQ(bench.State(0), v1::GPU_STATE_HEALTHY);
  EXPECT_FALSE(bench.Held(0));
}

TEST(Engine, FlappingHeatEndsInQuarantine) {
  Bench bench(1);
  bench.change = [&](int, std::vector<Sample>& samples) {
    const int64_t second = absl::ToInt64Seconds(bench.now().steady - absl::FromUnixSeconds(1'000'000));
    if (second > 60 && second % 120 < 5) Hot(samples);
  };
  ASSERT_TRUE(bench.RunUntil([&] { return bench.State(0) == v1::GPU_STATE_QUARANTINED; }, absl::Minutes(12)));
  EXPECT_THAT(bench.Incidents("thermal_slowdown"), SizeIs(4));
  EXPECT_THAT(bench.Incidents("thermal_slowdown").back().reason(), HasSubstr("too often: 4 times within 3600 s"));
}

TEST(Engine, SeveralRulesAreOpenAtOnceAndTheWorstDecides) {
  Bench bench(1);
  bench.Run(absl::Seconds(10));
  bench.change = [](int, std::vector<Sample>& samples) {
    Hot(samples);
    Set(samples, "gpu.row_remap_pending", 1);
  };
  bench.Run(absl::Seconds(5));
  EXPECT_THAT(bench.View(0).open, SizeIs(2));
  EXPECT_EQ(bench.State(0), v1::GPU_STATE_COOLING);
  bench.change = [](int, std::vector<Sample>& samples) { Set(samples, "gpu.row_remap_pending", 1); };
  bench.Run(absl::Seconds(60));
  EXPECT_EQ(bench.State(0), v1::GPU_STATE_SUSPECT);
  EXPECT_FALSE(bench.Held(0));
}

TEST(Engine, AMonitorKilledInAnIncidentKeepsTheGpuHeldAndEndsItWhenItIsGood) {
  Bench bench(2);
  bench.Run(absl::Seconds(20));
  const Now before = bench.now();
  bool hot = true;
  bench.change = [&](int gpu, std::vector<Sample>& samples) {
    if (gpu == 1 && hot) Hot(samples);
  };
  bench.Run(absl::Seconds(5));
  bench.Kill(absl::Seconds(7));
  bench.Run(absl::Seconds(3));
  EXPECT_EQ(bench.State(1), v1::GPU_STATE_COOLING);
  EXPECT_TRUE(bench.Held(1));
  hot = false;
  ASSERT_TRUE(bench.RunUntil([&] { return !bench.Held(1); }, absl::Minutes(2)));
  const auto incidents = bench.Incidents("thermal_slowdown");
  ASSERT_THAT(incidents, SizeIs(1));
  EXPECT_EQ(From(incidents[0]), before.wall);
  EXPECT_GE(To(incidents[0]), before.wall + absl::Seconds(15));
}

TEST(Engine, CountersThatDidNotMoveProveTheTimeInWhichNobodyWatched) {
  Bench bench(1);
  bench.Run(absl::Seconds(30));
  bench.Kill(absl::Minutes(5));
  bench.Run(absl::Seconds(10));
  EXPECT_THAT(bench.Incidents("unwatched"), IsEmpty());
  EXPECT_GE(bench.HealthyThrough(0), bench.now().steady - absl::Seconds(1));
}

TEST(Engine, CountersThatMovedMeanwhileExcludeTheEndOfTheGap) {
  Bench bench(1);
  bench.Run(absl::Seconds(30));
  bench.Kill(absl::Minutes(5));
  const Now back = bench.now();
  bench.change = [](int, std::vector<Sample>& samples) { Set(samples, "gpu.thermal_slowdown_seconds_total", 12); };
  bench.Run(absl::Seconds(10));
  const auto incidents = bench.Incidents("unwatched");
  ASSERT_THAT(incidents, SizeIs(1));
  EXPECT_NEAR(absl::ToDoubleSeconds(To(incidents[0]) - back.wall), 0, 1);
  EXPECT_EQ(To(incidents[0]) - From(incidents[0]), absl::Seconds(20));
  EXPECT_THAT(bench.Of(DecisionKind::kExclude, 0), SizeIs(1));
  EXPECT_GE(bench.HealthyThrough(0), bench.now().steady - absl::Seconds(1));
}

TEST(Engine, AHangingNvmlPausesEverythingAndTheWatermarkStandsStill) {
  Bench bench(2);
  bench.Run(absl::Seconds(20));
  const absl::Time before = bench.now().steady;
  bench.nvml_answers = false;
  bench.Run(absl::Seconds(20));
  EXPECT_EQ(bench.HealthyThrough(0), before);
  EXPECT_TRUE(bench.Held(0));
  EXPECT_TRUE(bench.Held(1));
  EXPECT_THAT(bench.Of(DecisionKind::kExclude), IsEmpty());
  EXPECT_THAT(bench.Incidents("nvml_silent"), SizeIs(1));
  bench.nvml_answers = true;
  bench.Run(absl::Seconds(10));
  EXPECT_FALSE(bench.Held(0));
  EXPECT_GE(bench.HealthyThrough(0), bench.now().steady - absl::Seconds(1));
  EXPECT_THAT(bench.Of(DecisionKind::kExclude), IsEmpty());
}

TEST(Engine, AnNvmlThatStaysAwayExcludesSinceItsLastReading) {
  Bench bench(2);
  bench.Run(absl::Seconds(20));
  const Now before = bench.now();
  bench.nvml_answers = false;
  bench.Run(absl::Seconds(70));
  const auto exclusions = bench.Of(DecisionKind::kExclude, 1);
  ASSERT_THAT(exclusions, testing::Not(IsEmpty()));
  EXPECT_LE(exclusions[0].decision.from, before.wall);
  EXPECT_THAT(bench.Of(DecisionKind::kExclude, 0), testing::Not(IsEmpty()));
}

TEST(Engine, WindowOfTheHostIsAlsoThatOfAGpuThatAppearsWhileItLasts) {
  Bench bench(1);
  bench.Run(absl::Seconds(20));
  bench.nvml_answers = false;
  bench.Run(absl::Seconds(70));
  const auto known = bench.Of(DecisionKind::kExclude, 0);
  ASSERT_THAT(known, testing::Not(IsEmpty()));
  EXPECT_THAT(bench.Of(DecisionKind::kExclude, 7), IsEmpty());
  bench.Send(Bench::Gpu(7), "fault.unblamed", 1);
  bench.Run(absl::Seconds(1));
  const auto newcomer = bench.Of(DecisionKind::kExclude, 7);
  ASSERT_THAT(newcomer, SizeIs(1));
  EXPECT_EQ(newcomer[0].decision.incident_id, known[0].decision.incident_id);
  EXPECT_EQ(newcomer[0].decision.from, known[0].decision.from);
  bench.nvml_answers = true;
  bench.Run(absl::Seconds(10));
  EXPECT_NE(bench.Of(DecisionKind::kExclude, 7).back().decision.to, absl::InfiniteFuture()) << "and it ends there, too";
}

TEST(Engine, ASilentServiceIsRestartedAndAStormLeavesItAlone) {
  Bench bench(1);
  bench.Run(absl::Seconds(10));
  const absl::Time before = bench.now().steady;
  bench.change_host = [&](std::vector<Sample>& samples) {
    Set(samples, "service.silent_seconds", absl::ToDoubleSeconds(bench.now().steady - before));
  };
  bench.Run(absl::Minutes(9));
  std::vector<double> pauses;
  const auto restarts = bench.Of(DecisionKind::kRestartService);
  for (size_t i = 1; i < restarts.size(); ++i)
    pauses.push_back(absl::ToDoubleSeconds(restarts[i].at - restarts[i - 1].at));
  EXPECT_THAT(pauses, testing::ElementsAre(testing::DoubleNear(5, 0.3), testing::DoubleNear(10, 0.3),
                                           testing::DoubleNear(20, 0.3), testing::DoubleNear(40, 0.3)));
  EXPECT_THAT(bench.Incidents("restart_storm"), SizeIs(1));
  EXPECT_EQ(bench.Incidents("service_silent").at(0).severity(), v1::SEVERITY_CRITICAL);
}

TEST(Engine, AJudgeCrashLoopRestartsWorkersAndThenQuarantines) {
  Bench bench(2);
  bench.Run(absl::Seconds(10));
  bench.change = [&](int gpu, std::vector<Sample>& samples) {
    const int64_t tick = (bench.now().steady - absl::FromUnixSeconds(1'000'000)) / bench.tick;
    if (gpu == 1 && tick % 25 == 0) samples.push_back({bench.now().steady, "GPU-1", "judge.died", 1, "signal 11"});
  };
  bench.Run(absl::Seconds(30));
  EXPECT_EQ(bench.State(1), v1::GPU_STATE_COOLING);
  EXPECT_THAT(bench.Of(DecisionKind::kRestartWorkers, 1), testing::Not(IsEmpty()));
  bench.Run(absl::Minutes(5));
  EXPECT_EQ(bench.State(1), v1::GPU_STATE_QUARANTINED);
  EXPECT_THAT(bench.Of(DecisionKind::kRestartWorkers, 1), SizeIs(5));
  EXPECT_EQ(bench.State(0), v1::GPU_STATE_HEALTHY);
}

TEST(Engine, AClockJumpClosesWindowsAndOpensThemAgain) {
  Bench bench(1);
  bench.Run(absl::Seconds(10));
  bench.change = [](int, std::vector<Sample>& samples) { Hot(samples); };
  bench.Run(absl::Seconds(5));
  const Now before = bench.now();
  bench.SetWallClock(absl::Hours(-1));
  bench.Run(absl::Seconds(5));
  const auto incidents = bench.Incidents("thermal_slowdown");
  ASSERT_THAT(incidents, SizeIs(2));
  EXPECT_EQ(To(incidents[0]), before.wall + bench.tick);
  EXPECT_EQ(From(incidents[1]), before.wall + bench.tick - absl::Hours(1));
  EXPECT_FALSE(incidents[1].has_to());
  ASSERT_THAT(bench.Incidents("clock_jump"), SizeIs(1));
  EXPECT_NEAR(bench.Incidents("clock_jump")[0].evidence(0).value(), -3600, 1);
  EXPECT_TRUE(bench.Incidents("clock_jump")[0].has_to());
  EXPECT_EQ(bench.State(0), v1::GPU_STATE_COOLING);
}

TEST(Engine, AnEmulatedDeviceNeedsNoCanaryToComeBack) {
  Bench bench(1);
  bench.answer = [](const Decision& decision) {
    return decision.kind == DecisionKind::kRunCanary ? absl::FailedPreconditionError("emulated") : absl::OkStatus();
  };
  bench.Run(absl::Seconds(10));
  for (int i = 0; i < 3; ++i) bench.Send("GPU-0", "judge.died", 1);
  bench.Run(absl::Seconds(5));
  EXPECT_TRUE(bench.Held(0));
  EXPECT_TRUE(bench.RunUntil([&] { return !bench.Held(0); }, absl::Minutes(3)));
}

TEST(Engine, TheSameCallsGiveTheSameAnswers) {
  const auto play = [] {
    Bench bench(3);
    bench.change = [&](int gpu, std::vector<Sample>& samples) {
      if (gpu == 1 && (bench.now().steady > absl::FromUnixSeconds(1'000'030))) Hot(samples);
    };
    bench.Run(absl::Minutes(3));
    std::string all;
    for (const auto& entry : bench.journal()) all += entry.DebugString();
    return all;
  };
  EXPECT_EQ(play(), play());
}

TEST(Engine, WhatTheServiceForgotIsSaidAgainWhenItStarts) {
  Bench bench(1);
  bench.change = [](int, std::vector<Sample>& samples) { Hot(samples); };
  bench.Run(absl::Seconds(10));
  const size_t pauses = bench.Of(DecisionKind::kPause).size();
  bench.Send("", "service.started", 1);
  bench.Run(absl::Seconds(2));
  EXPECT_THAT(bench.Of(DecisionKind::kPause), SizeIs(pauses + 1));
}

}  // namespace
}  // namespace sassay::monitor
