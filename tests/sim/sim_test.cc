// The promises of docs/decisions/0016 in a cluster of 50 GPUs with losses, drains and poisonous candidates. The bench
// (sim_bench) is the same at full size.
#include <gtest/gtest.h>

#include "tests/sim/report.h"
#include "tests/sim/scenarios.h"

namespace sassay::sim {
namespace {

constexpr double kSize = 0.05;

// One simulation for all claims.
Report& Busy() {
  static Report report = [] {
    Report made = Simulate(BusyCluster(kSize, 30 * kMinute, 1));
    Print(made, kMinute, 10 * kMinute);
    return made;
  }();
  return report;
}

TEST(Simulation, GpusAreBusyWhileWorkWaits) { EXPECT_GE(BusyShare(Busy().pools, kMinute), 0.95); }

TEST(Simulation, NoTenantGetsLessThanNineTenthsOfItsShareOverTenMinutes) {
  const LeastShare least = FindLeastShare(Busy().courses, 10 * kMinute);
  EXPECT_GT(least.windows, 100u);
  EXPECT_GE(least.ratio, 0.9) << least.tenant << " from " << Seconds(least.from) << " s";
}

TEST(Simulation, PeopleWaitMomentsWhileOthersFlood) {
  std::vector<float> waits = Busy().people_waited_s;
  ASSERT_FALSE(waits.empty());
  EXPECT_LT(Percentile(waits, 0.5), 2.0f);
  EXPECT_LT(Percentile(waits, 0.99), 30.0f);
}

TEST(Simulation, AFreePlaceHasItsJobWithinMilliseconds) {
  EXPECT_LT(Percentile(Busy().dispatch_ms, 0.5), 20.0f);
  EXPECT_LT(Percentile(Busy().dispatch_ms, 0.99), 100.0f);
}

TEST(Simulation, APoisonousCandidateEndsWithAVerdictAndReachesFewNodes) {
  EXPECT_GE(Busy().nodes_poisoned, 1u);
  EXPECT_GE(Busy().given_up, 1u);
  EXPECT_LE(Busy().most_losses, 10u);
  EXPECT_LE(Busy().most_nodes_of_one, 4u);
}

TEST(Simulation, EverySubmissionHasExactlyOneVerdictWhateverIsLost) {
  Options options = BusyCluster(kSize, 4 * kMinute, 2);
  options.serve_all = true;
  options.between_losses = 10 * kSecond;
  const Report report = Simulate(options);
  EXPECT_GT(report.nodes_lost, 20u);
  EXPECT_EQ(report.never, 0u);
  EXPECT_EQ(report.twice, 0u);
  EXPECT_EQ(report.verdicts, report.submitted);
}

TEST(Simulation, TheSameSeedGivesTheSame) {
  const Options options = BusyCluster(kSize, 2 * kMinute, 3);
  const Report a = Simulate(options), b = Simulate(options);
  EXPECT_EQ(a.dispatched, b.dispatched);
  EXPECT_EQ(a.waited_s[0], b.waited_s[0]);
  EXPECT_EQ(a.courses[0].used, b.courses[0].used);
  EXPECT_EQ(a.pools[0].busy, b.pools[0].busy);
}

// What the assertions above are worth: strict priority of interactive work fails them.
TEST(Simulation, StrictPriorityWouldNotHold) {
  Options options = BusyCluster(kSize, 30 * kMinute, 1);
  options.rules.warp = absl::Hours(1000);
  Habits& flood = options.tenants[3];
  ASSERT_EQ(flood.tenant, "flood");
  flood.arrives_every /= 10;
  const Report report = Simulate(options);
  EXPECT_LT(FindLeastShare(report.courses, 10 * kMinute).ratio, 0.9);
}

}  // namespace
}  // namespace sassay::sim
