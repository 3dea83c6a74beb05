#include "profiler_service/verdict/verdict.h"

#include <functional>
#include <set>
#include <tuple>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sassay::verdict {
namespace {

using namespace sassay::v1;  // NOLINT: codes and statuses
using testing::Contains;
using testing::HasSubstr;

sassay::v1::Finding Finding(VerdictCode code, const std::string& message) {
  sassay::v1::Finding finding;
  finding.set_code(code);
  finding.set_message(message);
  finding.mutable_where()->set_kernel("_Z4gemmPKfPf");
  finding.mutable_where()->mutable_block()->set_x(3);
  finding.mutable_where()->set_source_line("kernel.cu:9");
  return finding;
}

StageReport Report(Stage stage, StageReport::Outcome outcome = StageReport::PASSED) {
  StageReport report;
  report.set_stage(stage);
  report.set_outcome(outcome);
  return report;
}

Observations Clean() {
  Observations seen;
  seen.evaluate.emplace();
  seen.evaluate->numerics.emplace().set_passed(true);
  seen.sanitize.emplace();
  seen.provenance = PROVENANCE_VERIFIED;
  seen.capture_profile = CAPTURE_PROFILE_STRICT;
  seen.stages = {Report(STAGE_ADMISSION), Report(STAGE_EVALUATE), Report(STAGE_SANITIZE),
                 Report(STAGE_EVIDENCE, StageReport::UNAVAILABLE)};
  return seen;
}

Failure Failed(VerdictCode code) { return {code, "what evaluate saw", {}, {}}; }

TEST(Verdict, CleanStagesAreCorrectAndScorable) {
  const Verdict verdict = Decide(Clean());
  EXPECT_EQ(verdict.status(), VERDICT_STATUS_CORRECT);
  EXPECT_EQ(verdict.code(), VERDICT_CODE_OK);
  EXPECT_EQ(verdict.stage(), STAGE_SANITIZE);  // the last that ran
  EXPECT_TRUE(verdict.scorable());
  EXPECT_EQ(verdict.versions().rules(), kRulesVersion);
}

// Each of these takes the score away and nothing else.
TEST(Verdict, ScoresOnlyVerifiedStrictSanitizedUnexcludedFreshRunsAndSaysWhyNot) {
  for (const std::function<void(Observations&)>& spoil : std::vector<std::function<void(Observations&)>>{
           [](Observations& seen) { seen.provenance = PROVENANCE_CLAIMED; },
           [](Observations& seen) { seen.capture_profile = CAPTURE_PROFILE_LENIENT; },
           [](Observations& seen) { seen.excluded.emplace(); },
           [](Observations& seen) { seen.replayed = true; },
           [](Observations& seen) { seen.against_itself = true; },
           [](Observations& seen) { seen.sanitize.reset(); },
           [](Observations& seen) { seen.sanitize->unavailable = "compute-sanitizer is not installed"; },
       }) {
    Observations seen = Clean();
    spoil(seen);
    const Verdict verdict = Decide(seen);
    EXPECT_EQ(verdict.status(), VERDICT_STATUS_CORRECT);
    EXPECT_FALSE(verdict.scorable());
    EXPECT_THAT(verdict.details().notes(), Contains(HasSubstr("not scorable: ")));
  }
}

TEST(Verdict, EveryCodeHasTheStatusOfItsKind) {
  const std::pair<VerdictCode, VerdictStatus> expected[] = {
      {VERDICT_CODE_OK, VERDICT_STATUS_CORRECT},
      {VERDICT_CODE_LINK_ERROR, VERDICT_STATUS_COMPILE_ERROR},
      {VERDICT_CODE_HOST_CUDA_ERROR, VERDICT_STATUS_CAPTURE_ERROR},
      {VERDICT_CODE_BUNDLE_MALFORMED, VERDICT_STATUS_REJECTED},
      {VERDICT_CODE_VENDOR_KERNEL, VERDICT_STATUS_REJECTED},
      {VERDICT_CODE_OOB_GLOBAL_READ, VERDICT_STATUS_SANITIZER_ERROR},
      {VERDICT_CODE_GUARD_BAND, VERDICT_STATUS_SANITIZER_ERROR},
      {VERDICT_CODE_OOB_CONST, VERDICT_STATUS_SANITIZER_ERROR},
      {VERDICT_CODE_ILLEGAL_ADDRESS, VERDICT_STATUS_RUNTIME_ERROR},
      {VERDICT_CODE_LAUNCH_REFUSED, VERDICT_STATUS_RUNTIME_ERROR},
      {VERDICT_CODE_KERNEL_TIMEOUT, VERDICT_STATUS_TIMEOUT},
      {VERDICT_CODE_BARRIER_DEADLOCK, VERDICT_STATUS_TIMEOUT},
      {VERDICT_CODE_MBARRIER_DEADLOCK, VERDICT_STATUS_TIMEOUT},
      {VERDICT_CODE_MISMATCH, VERDICT_STATUS_INCORRECT_NUMERICAL},
      {VERDICT_CODE_NONDETERMINISTIC, VERDICT_STATUS_INCORRECT_NUMERICAL},
      {VERDICT_CODE_TIMED_OUTPUT_WRONG, VERDICT_STATUS_INCORRECT_NUMERICAL},
      {VERDICT_CODE_EMULATOR_LACKS, VERDICT_STATUS_INFRA_ERROR},
      {VERDICT_CODE_DIGEST_BARRED, VERDICT_STATUS_INFRA_ERROR},
      {VERDICT_CODE_CANCELLED_BY_CLIENT, VERDICT_STATUS_CANCELLED},
      {VERDICT_CODE_UNSPECIFIED, VERDICT_STATUS_INFRA_ERROR},
  };
  for (const auto& [code, status] : expected) EXPECT_EQ(StatusOf(code), status) << VerdictCode_Name(code);
}

// Exhaustive over the enum: no code may fall into a status by accident.
TEST(Verdict, NoCodeIsWithoutAStatus) {
  const auto* type = VerdictCode_descriptor();
  for (int i = 0; i < type->value_count(); ++i) {
    EXPECT_NE(StatusOf(static_cast<VerdictCode>(type->value(i)->number())), VERDICT_STATUS_UNSPECIFIED);
  }
}

TEST(Verdict, CancellationComesBeforeEverything) {
  Observations seen = Clean();
  seen.cancelled = true;
  seen.refused = Failed(VERDICT_CODE_PLAN_LIMIT);
  seen.evaluate->failure = Failed(VERDICT_CODE_RUNNER_LOST);
  EXPECT_EQ(Decide(seen).status(), VERDICT_STATUS_CANCELLED);
}

TEST(Verdict, WhoLostItsWorkersIsNotJudgedByWhatItSawThen) {
  for (const VerdictCode seen_then : {VERDICT_CODE_OK, VERDICT_CODE_ILLEGAL_ADDRESS, VERDICT_CODE_KERNEL_TIMEOUT}) {
    Observations seen = Clean();
    if (seen_then != VERDICT_CODE_OK) seen.evaluate->failure = Failed(seen_then);
    seen.lost = Failure{VERDICT_CODE_RUNNER_LOST, "the workers were restarted", {}, {}};
    const Verdict verdict = Decide(seen);
    EXPECT_EQ(verdict.status(), VERDICT_STATUS_INFRA_ERROR);
    EXPECT_EQ(verdict.reason(), "the workers were restarted");
  }
  Observations refused = Clean();
  refused.refused = Failed(VERDICT_CODE_PLAN_LIMIT);
  refused.lost = Failed(VERDICT_CODE_RUNNER_LOST);
  EXPECT_EQ(Decide(refused).status(), VERDICT_STATUS_REJECTED);
}

TEST(Verdict, RefusalComesBeforeTheStages) {
  Observations seen = Clean();
  seen.refused = Failure{VERDICT_CODE_PLAN_POINTER_INVALID, "plans[0].steady[1]: past its buffer", {}, {}};
  const Verdict verdict = Decide(seen);
  EXPECT_EQ(verdict.status(), VERDICT_STATUS_REJECTED);
  EXPECT_EQ(verdict.stage(), STAGE_ADMISSION);
  EXPECT_EQ(verdict.reason(), "plans[0].steady[1]: past its buffer");
}

// Capture gives these codes, too, and there they are CAPTURE_ERROR.
TEST(Verdict, WhatAdmissionRefusesIsRejectedWhateverTheCode) {
  for (VerdictCode code : {VERDICT_CODE_SHARED_MEMORY_LIMIT, VERDICT_CODE_BLOCK_LIMIT, VERDICT_CODE_LAUNCH_INVALID,
                           VERDICT_CODE_NO_LAUNCH, VERDICT_CODE_TENSOR_MAP_INVALID}) {
    Observations seen;
    seen.refused = Failed(code);
    EXPECT_EQ(Decide(seen).status(), VERDICT_STATUS_REJECTED) << VerdictCode_Name(code);
    EXPECT_EQ(Decide(seen).code(), code);
    EXPECT_EQ(StatusOf(code), VERDICT_STATUS_CAPTURE_ERROR);
  }
  Observations barred;
  barred.refused = Failed(VERDICT_CODE_DIGEST_BARRED);
  EXPECT_EQ(Decide(barred).status(), VERDICT_STATUS_INFRA_ERROR);
}

TEST(Verdict, WhatWasNeverEvaluatedIsNeverCorrect) {
  Observations seen = Clean();
  seen.evaluate.reset();
  EXPECT_EQ(Decide(seen).status(), VERDICT_STATUS_INFRA_ERROR);
  EXPECT_EQ(Decide(seen).code(), VERDICT_CODE_INTERNAL);
  EXPECT_FALSE(Decide(seen).scorable());
}

TEST(Verdict, WhatWasNotFoundRightIsNeverCorrect) {
  Observations seen = Clean();
  seen.evaluate->numerics.reset();
  EXPECT_EQ(Decide(seen).code(), VERDICT_CODE_INTERNAL);
  EXPECT_EQ(Decide(seen).status(), VERDICT_STATUS_INFRA_ERROR);
  EXPECT_FALSE(Decide(seen).scorable());
  seen.evaluate->numerics.emplace().set_passed(false);
  EXPECT_EQ(Decide(seen).status(), VERDICT_STATUS_INFRA_ERROR);
}

// A runner that was taken over can give any number.
TEST(Verdict, NoNumberMakesAFailureCorrect) {
  for (int number = -1; number <= 300; ++number) {
    const auto code = static_cast<VerdictCode>(number);
    EXPECT_EQ(StatusOf(code) == VERDICT_STATUS_CORRECT, number == VERDICT_CODE_OK) << number;
    Observations evaluated = Clean(), sanitized = Clean(), lost = Clean(), timed = Clean();
    evaluated.evaluate->failure = Failed(code);
    sanitized.sanitize->convicting = {Finding(code, "store")};
    lost.sanitize->lost = Failed(code);
    timed.timing.emplace().failure = Failed(code);
    for (const Observations& seen : {evaluated, sanitized, lost, timed}) {
      EXPECT_NE(Decide(seen).status(), VERDICT_STATUS_CORRECT) << number;
      EXPECT_NE(Decide(seen).code(), VERDICT_CODE_OK) << number;
      EXPECT_FALSE(Decide(seen).scorable()) << number;
    }
  }
}

TEST(Verdict, OurOwnTroubleIsNeverTheCandidatesFault) {
  for (VerdictCode code : {VERDICT_CODE_EMULATOR_LACKS, VERDICT_CODE_RUNNER_LOST, VERDICT_CODE_JUDGE_LOST,
                           VERDICT_CODE_DEVICE_LOST, VERDICT_CODE_INTERNAL}) {
    Observations seen = Clean();
    seen.evaluate->failure = Failed(code);
    seen.sanitize->convicting = {Finding(VERDICT_CODE_OOB_GLOBAL_WRITE, "store")};
    EXPECT_EQ(Decide(seen).status(), VERDICT_STATUS_INFRA_ERROR);
    EXPECT_EQ(Decide(seen).code(), code);
  }
}

// The sanitizer's finding is the cause, what evaluate saw its effect.
TEST(Verdict, ADiagnosisTakesThePlaceOfTheSymptom) {
  for (VerdictCode code : {VERDICT_CODE_GUARD_BAND, VERDICT_CODE_ILLEGAL_ADDRESS, VERDICT_CODE_KERNEL_TIMEOUT,
                           VERDICT_CODE_BARRIER_DEADLOCK, VERDICT_CODE_LAUNCH_FAILED, VERDICT_CODE_MISMATCH,
                           VERDICT_CODE_NON_FINITE, VERDICT_CODE_UNWRITTEN_OUTPUT, VERDICT_CODE_INPUT_MODIFIED}) {
    Observations seen = Clean();
    seen.evaluate->failure = Failed(code);
    seen.sanitize->diagnostic = true;
    seen.sanitize->convicting = {Finding(VERDICT_CODE_OOB_GLOBAL_WRITE, "2-byte store 0 bytes past the end of C")};
    const Verdict verdict = Decide(seen);
    EXPECT_EQ(verdict.status(), VERDICT_STATUS_SANITIZER_ERROR);
    EXPECT_EQ(verdict.code(), VERDICT_CODE_OOB_GLOBAL_WRITE);
    EXPECT_EQ(verdict.stage(), STAGE_SANITIZE);
    EXPECT_EQ(verdict.reason(),
              "2-byte store 0 bytes past the end of C (gemm block (3,0,0) thread (0,0,0) at kernel.cu:9)");
    EXPECT_EQ(verdict.details().findings(0).where().kernel(), "_Z4gemmPKfPf") << "programs get the symbol";
    EXPECT_THAT(verdict.details().notes(), Contains("evaluate saw: what evaluate saw"));
  }
}

TEST(Verdict, TrapsAndAssertionsSpeakForThemselves) {
  for (VerdictCode code : {VERDICT_CODE_TRAP, VERDICT_CODE_ASSERT}) {
    Observations seen = Clean();
    seen.evaluate->failure = Failed(code);
    seen.sanitize->convicting = {Finding(VERDICT_CODE_UNINITIALIZED_READ, "read")};
    EXPECT_EQ(Decide(seen).code(), code);
    EXPECT_EQ(Decide(seen).status(), VERDICT_STATUS_RUNTIME_ERROR);
  }
}

TEST(Verdict, WithoutADiagnosisTheSymptomDecides) {
  Observations seen = Clean();
  seen.evaluate->failure = Failed(VERDICT_CODE_GUARD_BAND);
  seen.sanitize->unavailable = "compute-sanitizer not found";
  const Verdict verdict = Decide(seen);
  EXPECT_EQ(verdict.status(), VERDICT_STATUS_SANITIZER_ERROR);
  EXPECT_EQ(verdict.code(), VERDICT_CODE_GUARD_BAND);
  EXPECT_THAT(verdict.details().notes(), Contains("sanitize: UNAVAILABLE: compute-sanitizer not found"));
}

TEST(Verdict, OutputsThatWereWrongTwiceAlikeAreMarkedForWhoReusesThem) {
  Observations seen = Clean();
  seen.evaluate->failure = Failed(VERDICT_CODE_MISMATCH);
  EXPECT_THAT(Decide(seen).details().notes(), testing::Not(Contains(kWrongTwiceAlike)));
  seen.evaluate->wrong_by_itself = true;
  EXPECT_THAT(Decide(seen).details().notes(), Contains(kWrongTwiceAlike));
}

TEST(Verdict, AConvictionOfACorrectKernelIsASanitizerError) {
  Observations seen = Clean();
  seen.sanitize->convicting = {Finding(VERDICT_CODE_SHARED_RACE, "race")};
  EXPECT_EQ(Decide(seen).status(), VERDICT_STATUS_SANITIZER_ERROR);
}

TEST(Verdict, AdvisoryFindingsNeverConvict) {
  Observations seen = Clean();
  seen.sanitize->advisory = {Finding(VERDICT_CODE_SHARED_RACE, "racecheck says so")};
  const Verdict verdict = Decide(seen);
  EXPECT_EQ(verdict.status(), VERDICT_STATUS_CORRECT);
  EXPECT_EQ(verdict.details().findings_size(), 1);
  EXPECT_THAT(verdict.details().notes(), Contains(HasSubstr("sanitize advises: racecheck says so")));
}

TEST(Verdict, ARaceConvictsOnlyWhereEqualCallsGaveOtherOutputs) {
  for (const auto& [seen_code, found, expected] : std::vector<std::tuple<VerdictCode, VerdictCode, VerdictCode>>{
           {VERDICT_CODE_NONDETERMINISTIC, VERDICT_CODE_SHARED_RACE, VERDICT_CODE_SHARED_RACE},
           {VERDICT_CODE_NONDETERMINISTIC, VERDICT_CODE_UNINITIALIZED_READ, VERDICT_CODE_NONDETERMINISTIC},
           {VERDICT_CODE_MISMATCH, VERDICT_CODE_SHARED_RACE, VERDICT_CODE_MISMATCH}}) {
    Observations seen = Clean();
    seen.evaluate->failure = Failed(seen_code);
    seen.sanitize->advisory = {Finding(found, "two threads meet")};
    EXPECT_EQ(VerdictCode_Name(Decide(seen).code()), VerdictCode_Name(expected));
  }
}

TEST(Verdict, EveryToolsReportIsInTheVerdictAndWhatCouldNotRunIsANote) {
  Observations seen = Clean();
  for (const char* tool : {"memcheck", "racecheck"}) seen.sanitize->reports.emplace_back().set_tool(tool);
  seen.sanitize->reports[1].set_outcome(SanitizerReport::UNAVAILABLE);
  seen.sanitize->reports[1].set_reason("it was late");
  const Verdict verdict = Decide(seen);
  EXPECT_EQ(verdict.sanitizers_size(), 2);
  EXPECT_TRUE(verdict.scorable());
  EXPECT_THAT(verdict.details().notes(), Contains("sanitize: racecheck is UNAVAILABLE: it was late"));
}

TEST(Verdict, DiagnosesAreAttachedAndDecideNothing) {
  Observations seen = Clean();
  seen.stages.push_back(Report(STAGE_DIAGNOSE));
  seen.diagnose.reports.emplace_back().set_kind(DIAGNOSIS_NCU);
  seen.diagnose.warps.emplace_back().set_state("at a barrier");
  const Verdict verdict = Decide(seen);
  EXPECT_EQ(verdict.status(), VERDICT_STATUS_CORRECT);
  EXPECT_EQ(verdict.stage(), STAGE_SANITIZE);
  EXPECT_EQ(verdict.diagnoses(0).kind(), DIAGNOSIS_NCU);
  EXPECT_EQ(verdict.details().warps(0).state(), "at a barrier");
}

TEST(Verdict, UnavailableStagesAreNeitherGuiltNorInnocence) {
  Observations seen = Clean();
  seen.sanitize->unavailable = "no tool";
  seen.evidence.emplace().set_status(Evidence::UNAVAILABLE);
  seen.timing.emplace().timing.set_status(Timing::UNAVAILABLE);
  const Verdict verdict = Decide(seen);
  EXPECT_EQ(verdict.status(), VERDICT_STATUS_CORRECT);
  EXPECT_EQ(verdict.evidence().status(), Evidence::UNAVAILABLE);
}

TEST(Verdict, AWorkerLostWhileItSanitizedIsNoAcquittalAndTakesNoConvictionAway) {
  Observations seen = Clean();
  seen.sanitize->unavailable = "the runner was lost";
  seen.sanitize->lost = Failure{VERDICT_CODE_RUNNER_LOST, "the runner was lost", {}, {}};
  EXPECT_EQ(Decide(seen).status(), VERDICT_STATUS_INFRA_ERROR);
  EXPECT_EQ(Decide(seen).stage(), STAGE_SANITIZE);
  seen.evaluate->failure = Failure{VERDICT_CODE_MISMATCH, "wrong", {}, {}};
  EXPECT_EQ(Decide(seen).code(), VERDICT_CODE_MISMATCH);
}

TEST(Verdict, TimeoutsCarryWhereTheWarpsStood) {
  Observations seen = Clean();
  seen.evaluate->failure = Failed(VERDICT_CODE_KERNEL_TIMEOUT);
  seen.evaluate->failure->warps.resize(100);
  const Verdict verdict = Decide(seen);
  EXPECT_EQ(verdict.status(), VERDICT_STATUS_TIMEOUT);
  EXPECT_EQ(verdict.details().warps_size(), kMaxWarps);
}

TEST(Verdict, AToolNamesTheFaultThatTheDriverDidNot) {
  Observations seen = Clean();
  seen.evaluate->failure = Failed(VERDICT_CODE_LAUNCH_FAILED);
  sassay::v1::Finding trap;
  trap.set_code(VERDICT_CODE_TRAP);
  trap.set_message("Trace/breakpoint trap by thread (0,0,0) of block (5,0,0) in gemm at trap.cu:12");
  seen.sanitize.emplace().advisory = {trap};
  const Verdict verdict = Decide(seen);
  EXPECT_EQ(verdict.status(), VERDICT_STATUS_RUNTIME_ERROR);
  EXPECT_EQ(verdict.code(), VERDICT_CODE_TRAP);
  EXPECT_EQ(verdict.stage(), STAGE_EVALUATE);
  EXPECT_THAT(verdict.reason(), ::testing::HasSubstr("trap.cu:12"));
}

TEST(Verdict, AToolThatAdvisesOfMemoryDoesNotRenameALaunchFailure) {
  Observations seen = Clean();
  seen.evaluate->failure = Failed(VERDICT_CODE_LAUNCH_FAILED);
  sassay::v1::Finding race;
  race.set_code(VERDICT_CODE_SHARED_RACE);
  seen.sanitize.emplace().advisory = {race};
  EXPECT_EQ(Decide(seen).code(), VERDICT_CODE_LAUNCH_FAILED);
}

TEST(Verdict, CheatingIsFoundByTiming) {
  Observations seen = Clean();
  seen.timing.emplace().failure = Failed(VERDICT_CODE_FASTER_THAN_PHYSICS);
  const Verdict verdict = Decide(seen);
  EXPECT_EQ(verdict.status(), VERDICT_STATUS_CHEATING);
  EXPECT_EQ(verdict.stage(), STAGE_TIMING);
  EXPECT_FALSE(verdict.scorable());
}

TEST(Verdict, NumericsLineNamesCountWorstElementValuesAndPattern) {
  Numerics numerics;
  numerics.set_worst_distribution("normal");
  OutputComparison* output = numerics.add_outputs();
  output->set_output("C");
  output->set_elements(65536);
  output->set_wrong(16384);
  output->add_worst_index(200);
  output->add_worst_index(17);
  output->set_worst_expected(3.25);
  output->set_worst_actual(0);
  output->set_pattern("all errors have row >= 192");
  EXPECT_EQ(
      DescribeNumerics(numerics),
      "C: 16384 of 65536 elements are wrong; worst is C[200,17]: expected 3.25, got 0; all errors have row >= 192 | "
      "inputs: normal");
}

}  // namespace
}  // namespace sassay::verdict
