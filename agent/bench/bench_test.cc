#include "agent/bench/bench.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "absl/strings/str_cat.h"

namespace sassay::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

// Times bundles as `time_of` says, and a baseline that takes 1,000 ns at the clock of the moment.
class FakeJudge final : public Judge {
 public:
  absl::StatusOr<Judgement> Run(const JudgeJob& job, const JudgeListener&, Stopper&) override {
    order.push_back(absl::StrCat(job.bundle, "@", job.workload->name()));
    requests.push_back(job.request_id);
    if (!trouble.empty()) {
      Judgement judgement;
      judgement.verdict.set_status(trouble.back());
      trouble.pop_back();
      return judgement;
    }
    Judgement judgement;
    judgement.verdict.set_status(status(job));
    v1::Timing& timing = *judgement.verdict.mutable_timing();
    const double clock = 1 + 0.2 * static_cast<double>(order.size() % 3);  // drifts, for both sides of a measurement
    timing.mutable_candidate()->set_median_ns(time_of(job) * clock);
    if (with_baseline) {
      timing.mutable_baseline()->set_median_ns(1000 * clock);
      timing.set_speedup(1000 / time_of(job));
    }
    return judgement;
  }
  void Close() override {}

  std::function<double(const JudgeJob&)> time_of = [](const JudgeJob&) { return 500; };
  std::function<v1::VerdictStatus(const JudgeJob&)> status = [](const JudgeJob&) { return v1::VERDICT_STATUS_CORRECT; };
  std::vector<v1::VerdictStatus> trouble;
  bool with_baseline = true;
  std::vector<std::string> order, requests;
};

class BenchTest : public ::testing::Test {
 protected:
  BenchTest() {
    plan_.candidate_name = "a.cu";
    plan_.candidate = "A";
    plan_.against_name = "b.cu";
    plan_.against = "B";
    plan_.rounds = 4;
    plan_.id = "bench-x";
    for (const char* name : {"gemm/M=1", "gemm/M=2"}) plan_.workloads.emplace_back().set_name(name);
  }
  v1::BenchResult Run() {
    return *RunBench(plan_, judge_, stopper_, [](absl::string_view) {});
  }

  BenchPlan plan_;
  FakeJudge judge_;
  Stopper stopper_;
};

TEST_F(BenchTest, SidesAreMeasuredInTurnAndEachTimeAnew) {
  const v1::BenchResult result = Run();
  EXPECT_THAT(std::vector<std::string>(judge_.order.begin(), judge_.order.begin() + 8),
              ElementsAre("A@gemm/M=1", "B@gemm/M=1", "B@gemm/M=1", "A@gemm/M=1", "A@gemm/M=1", "B@gemm/M=1",
                          "B@gemm/M=1", "A@gemm/M=1"));
  EXPECT_THAT(std::set<std::string>(judge_.requests.begin(), judge_.requests.end()), SizeIs(16)) << "no verdict twice";
  EXPECT_EQ(result.outcome(), v1::BENCH_OUTCOME_EQUAL);
  EXPECT_DOUBLE_EQ(result.geomean(), 1.0);
  EXPECT_EQ(result.shapes_size(), 2);
  EXPECT_EQ(result.shapes(0).rounds_size(), 4);
}

TEST_F(BenchTest, ASlowerCandidateIsFoundThroughADriftingClock) {
  judge_.time_of = [](const JudgeJob& job) {
    return job.bundle == "A" && job.workload->name() == "gemm/M=2" ? 515 : 500;
  };
  const v1::BenchResult result = Run();
  EXPECT_EQ(result.shapes(0).outcome(), v1::BENCH_OUTCOME_EQUAL);
  EXPECT_EQ(result.shapes(1).outcome(), v1::BENCH_OUTCOME_SLOWER);
  EXPECT_NEAR(result.shapes(1).ratio(), 1 / 1.03, 1e-9);
  EXPECT_NEAR(result.geomean(), std::sqrt(1 / 1.03), 1e-9);
  EXPECT_EQ(result.outcome(), v1::BENCH_OUTCOME_SLOWER);
  EXPECT_EQ(GuardOutcome(result), v1::BENCH_OUTCOME_SLOWER);
  const std::string xml = JUnit(result);
  EXPECT_THAT(xml, HasSubstr("tests=\"3\" failures=\"2\" errors=\"0\" skipped=\"0\""));
  EXPECT_THAT(
      xml,
      HasSubstr("<testcase classname=\"sassay.bench\" name=\"gemm/M=2\"><failure message=\"slower by more than 1 %"));
}

TEST_F(BenchTest, WithoutAnotherKernelTheBaselineIsTheOtherSide) {
  plan_.against.clear();
  plan_.against_name = "baseline";
  const v1::BenchResult result = Run();
  EXPECT_THAT(judge_.order, SizeIs(8));
  EXPECT_EQ(result.outcome(), v1::BENCH_OUTCOME_FASTER);
  EXPECT_DOUBLE_EQ(result.geomean(), 2.0);
  judge_.with_baseline = false;
  EXPECT_EQ(Run().outcome(), v1::BENCH_OUTCOME_UNAVAILABLE);
}

TEST_F(BenchTest, WhatHasNoBaselineIsComparedByItsTimes) {
  judge_.with_baseline = false;
  plan_.workloads.resize(1);
  plan_.rounds = 7;
  const v1::BenchResult result = Run();
  EXPECT_EQ(result.shapes(0).rounds_size(), 7);
  EXPECT_EQ(result.outcome(), v1::BENCH_OUTCOME_INCONCLUSIVE) << "the clock's drift is in the interval";
  EXPECT_EQ(GuardOutcome(result), v1::BENCH_OUTCOME_INCONCLUSIVE);
  EXPECT_THAT(JUnit(result), HasSubstr("<skipped message=\"inconclusive: "));
}

TEST_F(BenchTest, AKernelAtFaultHasNoRatio) {
  judge_.status = [](const JudgeJob& job) {
    return job.bundle == "B" ? v1::VERDICT_STATUS_RUNTIME_ERROR : v1::VERDICT_STATUS_CORRECT;
  };
  const v1::BenchResult result = Run();
  EXPECT_EQ(result.outcome(), v1::BENCH_OUTCOME_UNAVAILABLE);
  EXPECT_EQ(result.geomean(), 0);
  EXPECT_THAT(result.shapes(0).reason(), HasSubstr("b.cu is RUNTIME_ERROR"));
  EXPECT_EQ(result.shapes(0).verdict().status(), v1::VERDICT_STATUS_RUNTIME_ERROR);
  EXPECT_THAT(judge_.order, SizeIs(4)) << "it is not measured on";
  EXPECT_THAT(JUnit(result), HasSubstr("errors=\"2\""));
}

TEST_F(BenchTest, TroubleOfTheServiceIsTriedAgainAndThenSaid) {
  judge_.trouble = {v1::VERDICT_STATUS_INFRA_ERROR, v1::VERDICT_STATUS_INFRA_ERROR};
  EXPECT_EQ(Run().outcome(), v1::BENCH_OUTCOME_EQUAL);
  judge_.trouble.assign(3, v1::VERDICT_STATUS_INFRA_ERROR);
  EXPECT_TRUE(absl::IsUnavailable(RunBench(plan_, judge_, stopper_, [](absl::string_view) {}).status()));
}

TEST_F(BenchTest, HostileTextStaysTextInXml) {
  v1::BenchResult result;
  result.set_candidate("\"><x>");
  v1::BenchShape& shape = *result.add_shapes();
  shape.set_outcome(v1::BENCH_OUTCOME_UNAVAILABLE);
  shape.set_reason("]]> </testcase> & \x01\xff");
  const std::string xml = JUnit(result);
  EXPECT_THAT(xml, Not(HasSubstr("<x>")));
  EXPECT_THAT(xml, HasSubstr("]]&gt; &lt;/testcase&gt; &amp; ??"));
}

}  // namespace
}  // namespace sassay::agent
