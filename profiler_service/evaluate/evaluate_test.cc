#include "profiler_service/evaluate/evaluate.h"

#include <cstring>
#include <tuple>

#include "absl/time/clock.h"
#include "common/bundle/bundle.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "profiler_service/admission/testing/example_bundle.h"
#include "profiler_service/evaluate/session.h"
#include "profiler_service/evaluate/testing/fake_workers.h"
#include "profiler_service/verdict/verdict.h"

namespace sassay::evaluate {
namespace {

using namespace sassay::v1;  // NOLINT: codes
using sassay::worker::RUN_OUTCOME_FAULT;
using sassay::worker::RUN_OUTCOME_INFRA;
using sassay::worker::RUN_OUTCOME_REFUSED;
using sassay::worker::RUN_OUTCOME_TIMEOUT;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

admission::AdmittedBundle Example() {
  auto result = admission::Admit(admission::ExampleBundle().SerializeAsString(), admission::ExampleWorkload(), {},
                                 admission::ExampleDevice());
  return std::get<admission::AdmittedBundle>(std::move(result));
}

class EvaluateTest : public testing::Test {
 protected:
  Evaluation Run(std::vector<FakeKernel> kernels, bool proof = true) {
    FakeWorkers workers(judge_, std::move(kernels));
    const StageContext context{bundle_, workers, absl::Now() + absl::Minutes(1), absl::Seconds(10), proof, nullptr};
    Evaluation evaluation = Evaluate(context, seeds_, plan_);
    if (evaluation.needs_proof()) evaluation = Prove(context, seeds_, plan_, evaluation);
    runners_ = workers.started();
    return evaluation;
  }

  VerdictCode CodeOf(const Evaluation& evaluation) {
    return evaluation.passed() ? VERDICT_CODE_OK : evaluation.seen().failure->code;
  }

  const admission::AdmittedBundle bundle_ = Example();
  InProcessJudge judge_;
  Seeds seeds_ = SeedPool("a secret of sixteen bytes").Fresh();
  EvaluatePlan plan_{{"normal", "outliers", "structured"}, true};
  int runners_ = 0;
};

TEST_F(EvaluateTest, HonestKernelPassesEveryCaseInOneRunner) {
  const Evaluation evaluation = Run({HonestGemm});
  EXPECT_TRUE(evaluation.passed()) << evaluation.seen().failure->reason;
  EXPECT_THAT(evaluation.seen().numerics->distributions(), ElementsAre("normal", "outliers", "structured", "normal"));
  EXPECT_TRUE(evaluation.seen().numerics->passed());
  EXPECT_EQ(evaluation.seen().replay_id, seeds_.replay_id());
  EXPECT_EQ(runners_, 1);
  EXPECT_EQ(evaluation.device_ns(), 7000u);  // load, bind, setup and four calls of 1 us
}

TEST_F(EvaluateTest, LeavesNoMemoryBehindInTheJudge) {
  Run({HonestGemm});
  EXPECT_EQ(judge_.objects(), 0u);
}

TEST_F(EvaluateTest, WrongOutputIsAMismatchWithThePatternInTheReason) {
  const Evaluation evaluation = Run({[](int, Tensors& tensors) {
    GemmRows(tensors, 0, 64);
    for (int i = 48 * 512; i < 64 * 512; ++i) tensors["C"][i] = 0;
    return Ended();
  }});
  EXPECT_EQ(CodeOf(evaluation), VERDICT_CODE_MISMATCH);
  EXPECT_THAT(evaluation.seen().failure->reason, HasSubstr("all errors have row >= 48"));
  EXPECT_THAT(evaluation.seen().failure->reason, HasSubstr("inputs: normal"));
}

class WrongAgain : public EvaluateTest {
 protected:
  WrongAgain() { plan_.repeat_wrong = true; }
  // The kernel computes all but the last rows, which `rest` fills.
  bool ByItself(const std::function<void(int call, absl::Span<char> rest)>& rest) {
    const Evaluation evaluation = Run({[&](int call, Tensors& tensors) {
      ++calls_;
      GemmRows(tensors, 0, 48);
      rest(call, tensors["C"].subspan(48 * 512));
      return Ended();
    }});
    EXPECT_EQ(verdict::StatusOf(CodeOf(evaluation)), VERDICT_STATUS_INCORRECT_NUMERICAL);
    return evaluation.seen().wrong_by_itself;
  }
  int calls_ = 0;
};

TEST_F(WrongAgain, OutputsThatAreAFunctionOfTheInputsAreWrongByThemselves) {
  EXPECT_TRUE(ByItself([](int, absl::Span<char> rest) { std::fill(rest.begin(), rest.end(), 0); }));
  EXPECT_EQ(calls_, 2);
}

TEST_F(WrongAgain, ElementsThatEqualThePoisonByChanceMakeNoDifference) {
  const Evaluation evaluation = Run({[](int, Tensors& tensors) {
    // What poison may look like, so that one in a thousand is it.
    for (size_t i = 0; i < tensors["C"].size() / 2; ++i) {
      const auto word = static_cast<uint16_t>((i * 40'503 & 0x81FF) | 0x3E00);
      std::memcpy(tensors["C"].data() + 2 * i, &word, 2);
    }
    return Ended();
  }});
  EXPECT_EQ(CodeOf(evaluation), VERDICT_CODE_MISMATCH);
  EXPECT_TRUE(evaluation.seen().wrong_by_itself);
}

TEST_F(WrongAgain, OutputsThatHoldWhatLiesBehindAnInputAreNot) {
  const Evaluation evaluation = Run({[](int, Tensors& tensors) {
    GemmRows(tensors, 0, 63);
    const absl::Span<char> a = tensors["A"];
    std::memcpy(tensors["C"].data() + 63 * 512, a.data() + a.size(), 512);
    return Ended();
  }});
  EXPECT_EQ(CodeOf(evaluation), VERDICT_CODE_MISMATCH);
  EXPECT_FALSE(evaluation.seen().wrong_by_itself);
}

TEST_F(WrongAgain, UnwrittenOutputsAreNot) {
  EXPECT_FALSE(ByItself([](int, absl::Span<char>) {}));
}

TEST_F(WrongAgain, OutputsThatDifferFromCallToCallAreNot) {
  EXPECT_FALSE(ByItself(
      [](int call, absl::Span<char> rest) { std::fill(rest.begin(), rest.end(), static_cast<char>(call + 1)); }));
}

TEST_F(WrongAgain, AFaultOfTheSecondCallIsTheGreaterFailure) {
  const Evaluation evaluation = Run({[](int call, Tensors& tensors) {
    std::fill(tensors["C"].begin(), tensors["C"].end(), 0);
    return call == 0 ? Ended() : Ended(RUN_OUTCOME_FAULT, VERDICT_CODE_ILLEGAL_ADDRESS, "illegal address");
  }});
  EXPECT_EQ(CodeOf(evaluation), VERDICT_CODE_ILLEGAL_ADDRESS);
  EXPECT_FALSE(evaluation.seen().wrong_by_itself);
}

TEST_F(WrongAgain, AStoreThatOnlyTheSecondCallMakesIsFound) {
  const Evaluation evaluation = Run({[](int call, Tensors& tensors) {
    std::fill(tensors["C"].begin(), tensors["C"].end(), 0);
    if (call == 1) tensors["C"].data()[tensors["C"].size()] ^= 1;
    return Ended();
  }});
  EXPECT_EQ(CodeOf(evaluation), VERDICT_CODE_GUARD_BAND);
}

TEST_F(WrongAgain, ALostRunnerTellsNothing) {
  const Evaluation evaluation = Run({[](int call, Tensors& tensors) {
    std::fill(tensors["C"].begin(), tensors["C"].end(), 0);
    return call == 0 ? Ended() : Ended(sassay::worker::RUN_OUTCOME_UNSPECIFIED);
  }});
  EXPECT_EQ(CodeOf(evaluation), VERDICT_CODE_MISMATCH);
  EXPECT_FALSE(evaluation.seen().wrong_by_itself);
}

TEST_F(EvaluateTest, SkippedTileIsUnwrittenOutput) {
  const Evaluation evaluation = Run({[](int, Tensors& tensors) {
    GemmRows(tensors, 0, 48);
    return Ended();
  }});
  EXPECT_EQ(CodeOf(evaluation), VERDICT_CODE_UNWRITTEN_OUTPUT);
  EXPECT_THAT(evaluation.seen().failure->reason, HasSubstr("row >= 48"));
}

TEST_F(EvaluateTest, NansAreNonFinite) {
  const Evaluation evaluation = Run({[](int, Tensors& tensors) {
    std::memset(tensors["C"].data(), 0xff, tensors["C"].size());
    return Ended();
  }});
  EXPECT_EQ(CodeOf(evaluation), VERDICT_CODE_NON_FINITE);
}

TEST_F(EvaluateTest, KernelThatRepeatsItsFirstAnswerIsFoundByTheSecondCase) {
  std::string memory;
  const Evaluation evaluation = Run({[&memory](int call, Tensors& tensors) {
    if (call == 0) {
      GemmRows(tensors, 0, 64);
      memory.assign(tensors["C"].data(), tensors["C"].size());
    }
    std::memcpy(tensors["C"].data(), memory.data(), memory.size());
    return Ended();
  }});
  EXPECT_EQ(CodeOf(evaluation), VERDICT_CODE_MISMATCH);
  EXPECT_THAT(evaluation.seen().numerics->distributions(), SizeIs(2));
}

TEST_F(EvaluateTest, WrongOnlyWhenRepeatedIsNondeterministic) {
  const Evaluation evaluation = Run({[](int call, Tensors& tensors) {
    GemmRows(tensors, 0, call == 3 ? 63 : 64);
    return Ended();
  }});
  EXPECT_EQ(CodeOf(evaluation), VERDICT_CODE_NONDETERMINISTIC);
}

TEST_F(EvaluateTest, SmallDifferencesFromRunToRunAreOnlyReported) {
  const Evaluation evaluation = Run({[](int call, Tensors& tensors) {
    GemmRows(tensors, 0, 64);
    // At a power of two a unit in the last place of one side is two of the other's.
    size_t at = 0;
    while ((tensors["C"].data()[at] & 0x7f) < 2 || (tensors["C"].data()[at] & 0x7f) > 0x7d) at += 2;
    if (call == 3) tensors["C"].data()[at] ^= 1;
    return Ended();
  }});
  EXPECT_TRUE(evaluation.passed());
  EXPECT_THAT(evaluation.notes(), ElementsAre(HasSubstr("differ from run to run")));
}

TEST_F(EvaluateTest, GuardBandsComeBeforeTheOutputs) {
  const Evaluation evaluation = Run({[](int, Tensors& tensors) {
    tensors["C"].data()[tensors["C"].size()] ^= 1;
    return Ended();
  }});
  EXPECT_EQ(CodeOf(evaluation), VERDICT_CODE_GUARD_BAND);
  EXPECT_EQ(evaluation.seen().failure->findings.at(0).buffer(), "C");
}

TEST_F(EvaluateTest, ModifiedInputIsFoundThoughTheOutputIsRight) {
  const Evaluation evaluation = Run({[](int, Tensors& tensors) {
    GemmRows(tensors, 0, 64);
    tensors["A"][5] ^= 1;
    return Ended();
  }});
  EXPECT_EQ(CodeOf(evaluation), VERDICT_CODE_INPUT_MODIFIED);
}

sassay::worker::RunnerReply Fault(int, Tensors&) {
  return Ended(RUN_OUTCOME_FAULT, VERDICT_CODE_ILLEGAL_ADDRESS, "illegal address in gemm");
}
sassay::worker::RunnerReply Hang(int, Tensors&) {
  return Ended(RUN_OUTCOME_TIMEOUT, VERDICT_CODE_KERNEL_TIMEOUT, "gemm did not end by its deadline of 10 s");
}
sassay::worker::RunnerReply Lost(int, Tensors&) { return sassay::worker::RunnerReply(); }

TEST_F(EvaluateTest, AFaultIsTheCandidatesOnlyIfItHappensAgain) {
  const Evaluation evaluation = Run({Fault});
  EXPECT_EQ(CodeOf(evaluation), VERDICT_CODE_ILLEGAL_ADDRESS);
  EXPECT_EQ(runners_, 2);
}

// A runner that was taken over gives whatever number it likes.
TEST_F(EvaluateTest, ACauseThatDoesNotFitHowTheRunEndedIsNone) {
  using Case = std::tuple<sassay::worker::RunOutcome, VerdictCode, VerdictCode>;
  for (const auto& [outcome, told, taken] :
       {Case{RUN_OUTCOME_FAULT, static_cast<VerdictCode>(2), VERDICT_CODE_LAUNCH_FAILED},
        Case{RUN_OUTCOME_FAULT, VERDICT_CODE_OK, VERDICT_CODE_LAUNCH_FAILED},
        Case{RUN_OUTCOME_FAULT, VERDICT_CODE_RUNNER_LOST, VERDICT_CODE_LAUNCH_FAILED},
        Case{RUN_OUTCOME_FAULT, VERDICT_CODE_KERNEL_TIMEOUT, VERDICT_CODE_LAUNCH_FAILED},
        Case{RUN_OUTCOME_FAULT, VERDICT_CODE_TRAP, VERDICT_CODE_TRAP},
        Case{RUN_OUTCOME_FAULT, VERDICT_CODE_OOB_SHARED, VERDICT_CODE_OOB_SHARED},
        Case{RUN_OUTCOME_TIMEOUT, VERDICT_CODE_MISMATCH, VERDICT_CODE_KERNEL_TIMEOUT},
        Case{RUN_OUTCOME_TIMEOUT, VERDICT_CODE_BARRIER_DEADLOCK, VERDICT_CODE_BARRIER_DEADLOCK},
        Case{RUN_OUTCOME_REFUSED, VERDICT_CODE_DIGEST_BARRED, VERDICT_CODE_LAUNCH_REFUSED},
        Case{RUN_OUTCOME_REFUSED, VERDICT_CODE_TOO_LARGE_FOR_DEVICE, VERDICT_CODE_TOO_LARGE_FOR_DEVICE},
        Case{RUN_OUTCOME_INFRA, VERDICT_CODE_FASTER_THAN_PHYSICS, VERDICT_CODE_INTERNAL},
        Case{RUN_OUTCOME_INFRA, static_cast<VerdictCode>(9), VERDICT_CODE_INTERNAL},
        Case{RUN_OUTCOME_INFRA, VERDICT_CODE_EMULATOR_LACKS, VERDICT_CODE_EMULATOR_LACKS},
        Case{static_cast<sassay::worker::RunOutcome>(77), VERDICT_CODE_TRAP, VERDICT_CODE_INTERNAL}}) {
    EXPECT_EQ(FailureOf(Ended(outcome, told, "so it ended"))->code, taken) << outcome << " " << told;
  }
}

TEST_F(EvaluateTest, WhetherTheCandidatesOwnLaunchesRanIsKnown) {
  EXPECT_TRUE(Run({Fault}).launched());
  EXPECT_TRUE(Run({Lost}).launched());
  EXPECT_FALSE(Run({HonestGemm}).launched());
  judge_.LimitObjects(1);
  EXPECT_FALSE(Run({Fault}).launched());
}

TEST_F(EvaluateTest, AFaultThatDoesNotHappenAgainIsTheDevices) {
  const Evaluation evaluation = Run({Fault, HonestGemm});
  EXPECT_EQ(CodeOf(evaluation), VERDICT_CODE_DEVICE_LOST);
  EXPECT_THAT(evaluation.seen().failure->reason, HasSubstr("did not happen again"));
}

// Beside others it was stopped early.
TEST_F(EvaluateTest, AKernelThatNeedsMoreThanTheFirstTryGaveIsOnlySlow) {
  for (const bool hangs : {false, true}) {
    FakeWorkers workers(judge_, hangs ? std::vector<FakeKernel>{Hang} : std::vector<FakeKernel>{Hang, HonestGemm});
    StageContext context{bundle_, workers, absl::Now() + absl::Minutes(1), absl::Seconds(2), true, nullptr};
    const Evaluation first = Evaluate(context, seeds_, plan_);
    EXPECT_TRUE(first.needs_proof());
    context.device_deadline = absl::Seconds(10);
    EXPECT_EQ(CodeOf(Prove(context, seeds_, plan_, first)), hangs ? VERDICT_CODE_KERNEL_TIMEOUT : VERDICT_CODE_OK);
  }
}

TEST_F(EvaluateTest, WhatGoesWrongTheSecondTimeIsTheCandidatesAlsoIfItIsAnotherThing) {
  const FakeKernel zeros = [](int, Tensors& tensors) {
    std::memset(tensors["C"].data(), 0, tensors["C"].size());
    return Ended();
  };
  EXPECT_EQ(CodeOf(Run({Fault, zeros})), VERDICT_CODE_MISMATCH);
  EXPECT_EQ(runners_, 2);
}

TEST_F(EvaluateTest, AnEmulatorsWordNeedsNoProof) {
  const Evaluation evaluation = Run({Hang}, /*proof=*/false);
  EXPECT_EQ(CodeOf(evaluation), VERDICT_CODE_KERNEL_TIMEOUT);
  EXPECT_EQ(runners_, 1);
}

TEST_F(EvaluateTest, ALostRunnerIsTriedOnceMore) {
  EXPECT_TRUE(Run({Lost, HonestGemm}).passed());
  EXPECT_EQ(CodeOf(Run({Lost})), VERDICT_CODE_RUNNER_LOST);
  EXPECT_EQ(runners_, 2);
}

TEST_F(EvaluateTest, ALostJudgeIsTriedOnceMore) {
  judge_.Kill();
  const Evaluation evaluation = Run({HonestGemm});
  EXPECT_TRUE(evaluation.passed());
  EXPECT_THAT(evaluation.notes(), ElementsAre(HasSubstr("evaluate began again: judge")));
}

TEST_F(EvaluateTest, AJudgeWithoutMemoryIsNotTheCandidatesFault) {
  judge_.LimitObjects(1);
  const Evaluation evaluation = Run({HonestGemm});
  EXPECT_EQ(CodeOf(evaluation), VERDICT_CODE_INTERNAL);
  EXPECT_THAT(evaluation.seen().failure->reason, HasSubstr("no memory left"));
}

TEST_F(EvaluateTest, WhatTheEmulatorLacksIsInfrastructureAndIsNotTriedAgain) {
  const Evaluation evaluation = Run({[](int, Tensors&) {
    return Ended(RUN_OUTCOME_INFRA, VERDICT_CODE_EMULATOR_LACKS, "emulator lacks wgmma.mma_async (PTX line 88)");
  }});
  EXPECT_EQ(CodeOf(evaluation), VERDICT_CODE_EMULATOR_LACKS);
  EXPECT_EQ(runners_, 1);
}

TEST_F(EvaluateTest, AKernelThatWasGivenNoTimeHasNotBeenSlow) {
  FakeWorkers workers(judge_, {Hang});
  const StageContext context{bundle_,           workers, absl::Now() + absl::Milliseconds(500),
                             absl::Seconds(10), false,   nullptr};
  EXPECT_EQ(CodeOf(Evaluate(context, seeds_, plan_)), VERDICT_CODE_QUEUE_DEADLINE);
}

TEST_F(EvaluateTest, TimeThatALostRunnerUsedUpIsNotTheCandidates) {
  FakeWorkers workers(judge_, {Lost, Hang});
  const StageContext context{bundle_,           workers, absl::Now() + absl::Milliseconds(500),
                             absl::Seconds(10), false,   nullptr};
  EXPECT_EQ(CodeOf(Evaluate(context, seeds_, plan_)), VERDICT_CODE_RUNNER_LOST);
}

TEST_F(EvaluateTest, ReplayedSeedsShowTheSameWorstElement) {
  const FakeKernel wrong = [](int, Tensors& tensors) {
    std::memset(tensors["C"].data(), 0, tensors["C"].size());
    return Ended();
  };
  const Evaluation first = Run({wrong});
  seeds_ = *SeedPool("a secret of sixteen bytes").Replay(first.seen().replay_id);
  const Evaluation second = Run({wrong});
  EXPECT_EQ(first.seen().numerics->SerializeAsString(), second.seen().numerics->SerializeAsString());
}

}  // namespace
}  // namespace sassay::evaluate
