#include "profiler_service/timing/judged_sets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/time/clock.h"
#include "common/base/files.h"
#include "common/bundle/bundle.h"
#include "profiler_service/admission/testing/example_bundle.h"
#include "profiler_service/evaluate/testing/fake_workers.h"
#include "profiler_service/wire/runner_client.h"

namespace sassay::timing {
namespace {

using evaluate::FakeKernel;
using evaluate::Tensors;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

admission::AdmittedBundle Example(const v1::Workload& workload = admission::ExampleWorkload()) {
  v1::Bundle bundle = admission::ExampleBundle();
  bundle.mutable_plans(0)->set_workload(workload.name());
  auto result = admission::Admit(*SerializeBundle(bundle), workload, {}, admission::ExampleDevice());
  return std::get<admission::AdmittedBundle>(std::move(result));
}

// The built-in definition of the example as "mine", whose reference is a bundle.
const WorkloadCatalog& Mine() {
  static const WorkloadCatalog* const catalog = [] {
    const TemporaryDirectory folder = *TemporaryDirectory::Create("judged-sets-test");
    const std::string json =
        *ReadFile(std::string(std::getenv("SASSAY_TEST_SOURCE")) + "/common/workload/definitions/gemm_n256_k256.json");
    std::ofstream(folder.path() / "mine.json")
        << absl::StrReplaceAll(json, {{"\"gemm_n256_k256\"", "\"mine\""},
                                      {"builtin:gemm", absl::StrCat("bundle:sha256:", std::string(64, 'a'))}});
    return new WorkloadCatalog(*WorkloadCatalog::Load({folder.path()}));
  }();
  return *catalog;
}

// A judge whose refills and comparisons take time by the test's own clock.
class JudgedSetsTest : public testing::Test {
 protected:
  JudgedSetsTest() : bundle_(Example()) {}
  JudgedSetsTest(const WorkloadCatalog& catalog, const std::string& workload)
      : bundle_(Example(*catalog.Resolve(workload))), judge_(catalog) {}

  void Make(int sets, bool any_seed = true) {
    JudgedSets::Options options;
    options.sets = sets;
    options.any_seed = any_seed;
    options.now = [this] { return now_ += tick_; };
    options.reference = reference_;
    sets_.reset();
    seeds_.assign(1, pool_.Fresh());
    sets_ = std::make_unique<JudgedSets>(bundle_, judge_, absl::Now() + absl::Minutes(1), seeds_.front(),
                                         std::move(options));
    ASSERT_TRUE(sets_->Prepare().ok());
    ASSERT_EQ(sets_->sets().size(), static_cast<size_t>(sets));
  }

  // A block: the candidate called once on each set that is taken.
  void Call(int calls, const FakeKernel& kernel) {
    for (const uint32_t set : sets_->Take(calls)) {
      evaluate::FakeWorkers workers(judge_, {kernel});
      auto runner = workers.StartRunner(worker::RUN_MODE_TIMED, absl::InfiniteFuture());
      const auto one_plan = wire::WithOnlyPlan(bundle_.bundle(), bundle_.workload().name());
      ASSERT_TRUE((*runner)->Load(*one_plan, worker::RUN_MODE_TIMED).ok());
      ASSERT_TRUE((*runner)->Bind(sets_->sets()[set].regions, sets_->sets()[set].descriptors).ok());
      ASSERT_TRUE((*runner)->Steady(1, absl::Seconds(1)).ok());
    }
  }

  // A measurement of so many rounds with a call on each set. Whether nothing was found wrong.
  bool Rounds(int rounds, const std::function<FakeKernel(int round)>& kernel) {
    for (int round = 0; round < rounds; ++round) {
      if (!sets_->Refresh().ok()) return false;
      Call(static_cast<int>(sets_->sets().size()), kernel(round));
      if (!sets_->Check(round + 1 == rounds).ok()) return false;
    }
    return true;
  }
  static worker::RunnerReply Rest(int, Tensors&) { return evaluate::Ended(); }

  const admission::AdmittedBundle bundle_;
  evaluate::InProcessJudge judge_;
  std::function<std::unique_ptr<evaluate::ReferenceSession>()> reference_;
  evaluate::SeedPool pool_ = evaluate::SeedPool("a secret of sixteen bytes");
  std::vector<evaluate::Seeds> seeds_;
  absl::Time now_ = absl::UnixEpoch();
  absl::Duration tick_ = absl::Microseconds(1);
  std::unique_ptr<JudgedSets> sets_;
};

TEST_F(JudgedSetsTest, HonestCallsPassAndSomeOfThemAreChecked) {
  Make(3);
  for (int round = 0; round < 3; ++round) {
    ASSERT_TRUE(sets_->Refresh().ok());
    Call(3, evaluate::HonestGemm);
    EXPECT_EQ(sets_->checked_calls(), 0u) << "between rounds nothing is compared";
    ASSERT_TRUE(sets_->Check(round == 2).ok()) << sets_->failure()->reason;
  }
  EXPECT_GE(sets_->checked_calls(), 1u) << "one of the last round";
  EXPECT_EQ(sets_->renewed_sets(), 6u) << "a quick judge renews every set in every round";
}

TEST_F(JudgedSetsTest, HoweverManyCallsThereAreTheCheckedOnesAreFew) {
  Make(4);
  Rounds(25, [](int) { return evaluate::HonestGemm; });
  EXPECT_LE(sets_->checked_calls(), JudgedSets::kMostKept);
  EXPECT_GE(sets_->checked_calls(), JudgedSets::kMostKept / 2) << "of a hundred calls twenty-five are drawn";
}

// Each of the round's four calls is drawn with probability 1/4, and nearly none of those kept is put out again.
TEST_F(JudgedSetsTest, RestingInOneRoundOfSixIsFoundOutTwoTimesOfThree) {
  int found = 0;
  for (int trial = 0; trial < 60; ++trial) {
    Make(4);
    found += !Rounds(6, [&](int round) -> FakeKernel { return round == trial % 5 ? Rest : evaluate::HonestGemm; });
  }
  EXPECT_GT(found, 24);
  EXPECT_LT(found, 56);
}

TEST_F(JudgedSetsTest, SlowComparisonsEndWithTheBudget) {
  Make(4);
  for (int round = 0; round < 8; ++round) {
    ASSERT_TRUE(sets_->Refresh().ok());
    Call(4, evaluate::HonestGemm);
    if (round == 7) tick_ = absl::Milliseconds(400);
    ASSERT_TRUE(sets_->Check(round == 7).ok());
  }
  EXPECT_EQ(sets_->checked_calls(), JudgedSets::kFewestChecked);
}

TEST_F(JudgedSetsTest, CallsOfABlockHaveASetEach) {
  Make(3);
  ASSERT_TRUE(sets_->Refresh().ok());
  EXPECT_EQ(sets_->ring(), 3);
  EXPECT_THAT(sets_->Take(3), UnorderedElementsAre(0, 1, 2));
}

TEST_F(JudgedSetsTest, SetsThatTakeLongToRenewAreFewAndAllAreRenewed) {
  Make(4);
  tick_ = absl::Milliseconds(150);
  ASSERT_TRUE(sets_->Refresh().ok());
  EXPECT_EQ(sets_->ring(), 2);
  tick_ = absl::Microseconds(1);
  for (int round = 1; round <= 3; ++round) {
    ASSERT_TRUE(sets_->Refresh().ok());
    EXPECT_EQ(sets_->renewed_sets(), 2u * static_cast<uint32_t>(round));
    EXPECT_THAT(sets_->Take(2), UnorderedElementsAre(0, 1));
  }
}

TEST_F(JudgedSetsTest, KernelThatRestsFromAnyRoundOnIsFoundOut) {
  Make(2);
  EXPECT_FALSE(Rounds(3, [](int round) -> FakeKernel { return round == 2 ? Rest : evaluate::HonestGemm; }));
  EXPECT_EQ(sets_->failure()->code, v1::VERDICT_CODE_TIMED_OUTPUT_WRONG);
  EXPECT_THAT(sets_->failure()->reason, HasSubstr("right when it was evaluated"));
}

TEST_F(JudgedSetsTest, AnswerOfAnEarlierCallIsWrongForNewInputs) {
  Make(1);
  ASSERT_TRUE(sets_->Refresh().ok());
  evaluate::Memoizer memoizer;
  Call(1, memoizer.Remember());
  ASSERT_TRUE(sets_->Check(false).ok());
  ASSERT_TRUE(sets_->Refresh().ok());
  Call(1, memoizer.Repeat());
  EXPECT_FALSE(sets_->Check(true).ok());
}

TEST_F(JudgedSetsTest, SetThatNoCallWorkedOnIsNeverHeldAgainstTheCandidate) {
  Make(4);
  ASSERT_TRUE(sets_->Refresh().ok());
  for (int round = 0; round < 6; ++round) {
    Call(1, evaluate::HonestGemm);
    ASSERT_TRUE(sets_->Check(true).ok()) << sets_->failure()->reason;
    ASSERT_TRUE(sets_->Refresh().ok());
  }
}

TEST_F(JudgedSetsTest, JudgeThatKnowsOneAnswerChecksTheSetThatHoldsItAtOnce) {
  Make(2, /*any_seed=*/false);
  ASSERT_TRUE(sets_->Refresh().ok());
  Call(2, Rest);
  EXPECT_FALSE(sets_->Check(false).ok());
  EXPECT_EQ(sets_->failure()->code, v1::VERDICT_CODE_TIMED_OUTPUT_WRONG);
}

// How slow the judge is depends on the host; that a kernel rests must be seen on any.
TEST_F(JudgedSetsTest, KernelThatRestsInTheLastRoundIsFoundOutByASlowJudge) {
  for (const int calls : {1, 4}) {
    Make(4);
    tick_ = absl::Milliseconds(400);
    for (int round = 0; round < 6; ++round) {
      ASSERT_TRUE(sets_->Refresh().ok());
      Call(calls, evaluate::HonestGemm);
      ASSERT_TRUE(sets_->Check(false).ok()) << sets_->failure()->reason;
    }
    ASSERT_TRUE(sets_->Refresh().ok());
    Call(calls, [](int, Tensors&) { return evaluate::Ended(); });
    EXPECT_FALSE(sets_->Check(true).ok()) << calls << " calls";
  }
}

TEST_F(JudgedSetsTest, LostJudgeIsOurs) {
  Make(1);
  judge_.Kill();
  EXPECT_FALSE(sets_->Refresh().ok());
  EXPECT_TRUE(evaluate::IsLostWorker(*sets_->failure()));
}

TEST_F(JudgedSetsTest, LeavesNoMemoryBehindInTheJudge) {
  Make(3);
  EXPECT_GT(judge_.objects(), 0u);
  sets_.reset();
  EXPECT_EQ(judge_.objects(), 0u);
}

TEST_F(JudgedSetsTest, RingIsAsLargeAsTheMemoryThereIs) {
  judge_.LimitObjects(7);  // three tensors a set
  JudgedSets::Options options;
  options.sets = 5;
  options.now = [] { return absl::Now(); };
  const evaluate::Seeds seeds = pool_.Fresh();
  JudgedSets sets(bundle_, judge_, absl::Now() + absl::Minutes(1), seeds, std::move(options));
  ASSERT_TRUE(sets.Prepare().ok());
  EXPECT_EQ(sets.sets().size(), 2u);
}

// The judge cannot compute what is right: a kernel in a runner of its own does.
class KernelReference : public JudgedSetsTest {
 protected:
  KernelReference() : JudgedSetsTest(Mine(), "mine/M=64") {}
  // Each runner of the reference runs the next of `kernels`, the last one for ever.
  void MakeWith(int sets, std::vector<FakeKernel> kernels) {
    workers_.emplace(judge_, std::move(kernels));
    context_.emplace(
        evaluate::StageContext{bundle_, *workers_, absl::Now() + absl::Minutes(1), absl::Seconds(10), true, &bundle_});
    reference_ = [this] { return std::make_unique<evaluate::ReferenceSession>(*context_, seeds_.front()); };
    Make(sets);
  }

  absl::optional<evaluate::FakeWorkers> workers_;
  absl::optional<evaluate::StageContext> context_;
};

TEST_F(KernelReference, AnswersForNewInputsOnceTheLastRoundIsOver) {
  MakeWith(3, {evaluate::HonestGemm});
  for (int round = 0; round < 3; ++round) {
    ASSERT_TRUE(sets_->Refresh().ok());
    Call(3, evaluate::HonestGemm);
    EXPECT_EQ(workers_->started(), 0) << "no context of another process is there while something is timed";
    ASSERT_TRUE(sets_->Check(round == 2).ok()) << sets_->failure()->reason;
  }
  EXPECT_EQ(workers_->started(), 1);
  EXPECT_GE(sets_->checked_calls(), 1u);
  EXPECT_EQ(sets_->renewed_sets(), 6u) << "every set is new in every round";
}

TEST_F(KernelReference, AnswerOfAnEarlierCallIsWrongForNewInputs) {
  MakeWith(1, {evaluate::HonestGemm});
  evaluate::Memoizer memoizer;
  EXPECT_FALSE(Rounds(2, [&](int round) { return round == 0 ? memoizer.Remember() : memoizer.Repeat(); }));
  EXPECT_EQ(sets_->failure()->code, v1::VERDICT_CODE_TIMED_OUTPUT_WRONG);
}

TEST_F(KernelReference, AMeasurementThatIsRepeatedIsAnsweredByAnotherRunner) {
  MakeWith(2, {evaluate::HonestGemm});
  EXPECT_TRUE(Rounds(2, [](int) { return evaluate::HonestGemm; }));
  EXPECT_TRUE(Rounds(2, [](int) { return evaluate::HonestGemm; })) << sets_->failure()->reason;
  EXPECT_EQ(workers_->started(), 2);
}

TEST_F(KernelReference, ThatFailsIsOurTroubleAndNotTheCandidates) {
  MakeWith(2, {[](int, Tensors&) {
             return evaluate::Ended(worker::RUN_OUTCOME_FAULT, v1::VERDICT_CODE_TRAP, "reference trapped");
           }});
  EXPECT_FALSE(Rounds(1, [](int) { return evaluate::HonestGemm; }));
  EXPECT_EQ(sets_->failure()->code, v1::VERDICT_CODE_INTERNAL);
  EXPECT_THAT(sets_->failure()->reason, HasSubstr("reference kernel failed: reference trapped"));
}

TEST_F(KernelReference, ThatIsLostIsWorthAnotherTry) {
  MakeWith(1, {[](int, Tensors&) { return worker::RunnerReply(); }});
  EXPECT_FALSE(Rounds(1, [](int) { return evaluate::HonestGemm; }));
  EXPECT_TRUE(evaluate::IsLostWorker(*sets_->failure()));
}

TEST_F(KernelReference, LeavesNoMemoryBehindInTheJudge) {
  MakeWith(2, {evaluate::HonestGemm});
  Rounds(2, [](int) { return evaluate::HonestGemm; });
  sets_.reset();
  EXPECT_EQ(judge_.objects(), 0u);
}

}  // namespace
}  // namespace sassay::timing
