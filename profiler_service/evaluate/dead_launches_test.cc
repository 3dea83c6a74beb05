#include "profiler_service/evaluate/dead_launches.h"

#include <set>

#include "absl/time/clock.h"
#include "common/bundle/bundle.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "profiler_service/admission/testing/example_bundle.h"
#include "profiler_service/evaluate/evaluate.h"
#include "profiler_service/evaluate/testing/fake_workers.h"

namespace sassay::evaluate {
namespace {

using namespace sassay::v1;  // NOLINT: codes
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// The example has two launches, its fourth step and its fifth.
admission::AdmittedBundle WithLaunches(int launches) {
  Bundle bundle = admission::ExampleBundle();
  LaunchPlan& plan = *bundle.mutable_plans(0);
  if (launches == 1) *plan.mutable_steady(4) = Step(plan.steady(1));
  for (int i = 2; i < launches; ++i) *plan.add_steady() = Step(plan.steady(3));
  auto result =
      admission::Admit(*SerializeBundle(bundle), admission::ExampleWorkload(), {}, admission::ExampleDevice());
  return std::get<admission::AdmittedBundle>(std::move(result));
}

std::vector<uint32_t> Dead(const DroppedLaunches& report) {
  std::vector<uint32_t> dead;
  for (const DeadLaunch& launch : report.dead()) dead.push_back(launch.launch());
  return dead;
}

// A candidate whose calls do without a launch as `without` says: it is given the launch's number.
class DeadLaunchesTest : public testing::Test {
 protected:
  DroppedLaunches Find(int launches, FakeKernel without, absl::Duration budget = absl::Minutes(1)) {
    return FindIn(WithLaunches(launches), std::move(without), budget);
  }

  DroppedLaunches FindIn(const admission::AdmittedBundle& bundle, FakeKernel without, absl::Duration budget) {
    FakeWorkers workers(judge_, {HonestGemm});
    workers.without_launch = [&](int launch, Tensors& tensors) {
      left_out_.push_back(launch);
      return without(launch, tensors);
    };
    const StageContext context{bundle, workers, absl::Now() + absl::Minutes(1), absl::Seconds(10), true, nullptr};
    plan_.leaving_out = budget;
    const Evaluation evaluation = Evaluate(context, seeds_, plan_);
    EXPECT_TRUE(evaluation.passed()) << evaluation.seen().failure->reason;
    EXPECT_EQ(workers.started(), 1) << "no runner for this alone";
    looked_ = evaluation.seen().dropped_launches.has_value();
    return evaluation.seen().dropped_launches.value_or(DroppedLaunches());
  }

  InProcessJudge judge_;
  Seeds seeds_ = SeedPool("a secret of sixteen bytes").Fresh();
  EvaluatePlan plan_{{"normal", "outliers", "structured"}, true};
  std::vector<int> left_out_;
  bool looked_ = false;
};

FakeKernel RightWithout(std::set<int> dead) {
  return [dead](int launch, Tensors& tensors) { return dead.count(launch) > 0 ? HonestGemm(0, tensors) : Ended(); };
}

TEST_F(DeadLaunchesTest, LaunchWithoutWhichOutputsAreRightIsReportedWithItsKernel) {
  const DroppedLaunches report = Find(3, RightWithout({2}));
  EXPECT_EQ(report.launches(), 3u);
  EXPECT_EQ(report.tried(), 3u);
  EXPECT_THAT(Dead(report), ElementsAre(2));
  EXPECT_FALSE(report.dead(0).kernel().empty());
  EXPECT_EQ(report.reason(), "");
}

TEST_F(DeadLaunchesTest, LaunchesThatOutputsDependOnAreNot) {
  const DroppedLaunches report = Find(3, RightWithout({}));
  EXPECT_EQ(report.tried(), 3u);
  EXPECT_THAT(Dead(report), IsEmpty());
}

TEST_F(DeadLaunchesTest, APlanOfOneLaunchHasNothingToLeaveOut) {
  Find(1, RightWithout({0}));
  EXPECT_FALSE(looked_);
  EXPECT_THAT(left_out_, IsEmpty());
}

// What a launch wrote in an earlier call still lies in the candidate's memory.
TEST_F(DeadLaunchesTest, NoCallHasTheInputsOfTheCallBefore) {
  std::string before;
  int alike = 0;
  for (const bool repeat_first : {true, false}) {
    plan_.repeat_first = repeat_first;
    before.clear();
    Find(5, [&](int, Tensors& tensors) {
      const std::string now(tensors["A"].data(), tensors["A"].size());
      alike += now == before;
      before = now;
      return Ended();
    });
  }
  EXPECT_EQ(alike, 0);
}

TEST_F(DeadLaunchesTest, TheFirstCallHasOtherInputsThanEvaluatesLast) {
  for (const bool repeat_first : {true, false}) {
    plan_.repeat_first = repeat_first;
    std::string evaluates_last, first;
    FakeWorkers workers(judge_, {[&](int call, Tensors& tensors) {
                          evaluates_last.assign(tensors["A"].data(), tensors["A"].size());
                          return HonestGemm(call, tensors);
                        }});
    workers.without_launch = [&](int, Tensors& tensors) {
      if (first.empty()) first.assign(tensors["A"].data(), tensors["A"].size());
      return Ended();
    };
    const admission::AdmittedBundle bundle = WithLaunches(2);
    const StageContext context{bundle, workers, absl::Now() + absl::Minutes(1), absl::Seconds(10), true, nullptr};
    plan_.leaving_out = absl::Minutes(1);
    ASSERT_TRUE(Evaluate(context, seeds_, plan_).passed());
    EXPECT_NE(first, evaluates_last);
  }
}

TEST_F(DeadLaunchesTest, ACallThatFaultsIsNotDeadEndsTheSearchAndConvictsNobody) {
  const DroppedLaunches report = Find(4, [](int, Tensors&) {
    return Ended(sassay::worker::RUN_OUTCOME_FAULT, VERDICT_CODE_ILLEGAL_ADDRESS, "gemm read at 0x0");
  });
  EXPECT_EQ(report.tried(), 1u);
  EXPECT_THAT(Dead(report), IsEmpty());
  EXPECT_THAT(report.reason(), HasSubstr("gemm read at 0x0"));
}

TEST_F(DeadLaunchesTest, ALostRunnerTriedNothing) {
  const DroppedLaunches report = Find(4, [](int, Tensors&) { return worker::RunnerReply(); });
  EXPECT_EQ(report.tried(), 0u);
  EXPECT_THAT(report.reason(), HasSubstr("signal 9"));
}

TEST_F(DeadLaunchesTest, OfALongPlanAFewAreTriedAtRandom) {
  std::set<int> ever;
  for (int i = 0; i < 4; ++i) {
    seeds_ = SeedPool("a secret of sixteen bytes").Fresh();
    left_out_.clear();
    const DroppedLaunches report = Find(40, RightWithout({}));
    EXPECT_EQ(report.launches(), 40u);
    EXPECT_EQ(report.tried(), LeftOutPlan::kMostTried);
    EXPECT_THAT(report.reason(), HasSubstr("at most"));
    EXPECT_EQ(std::set<int>(left_out_.begin(), left_out_.end()).size(), LeftOutPlan::kMostTried);
    ever.insert(left_out_.begin(), left_out_.end());
  }
  EXPECT_GT(ever.size(), LeftOutPlan::kMostTried);
}

TEST_F(DeadLaunchesTest, ABudgetThatIsTooShortForACallSaysSo) {
  const DroppedLaunches report = Find(3, RightWithout({0, 1, 2}), absl::Nanoseconds(1));
  EXPECT_EQ(report.tried(), 0u);
  EXPECT_THAT(report.reason(), HasSubstr("a call takes"));
  EXPECT_THAT(left_out_, IsEmpty());
}

TEST_F(DeadLaunchesTest, NobodyLooksWhereNobodyAsked) {
  Find(3, RightWithout({0, 1, 2}), absl::ZeroDuration());
  EXPECT_FALSE(looked_);
  EXPECT_THAT(left_out_, IsEmpty());
}

}  // namespace
}  // namespace sassay::evaluate
