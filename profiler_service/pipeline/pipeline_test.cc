#include "profiler_service/pipeline/pipeline.h"

#include <thread>

#include "absl/time/clock.h"
#include "common/base/files.h"
#include "common/base/sha256.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "profiler_service/admission/testing/example_bundle.h"
#include "profiler_service/evaluate/testing/fake_workers.h"
#include "profiler_service/pipeline/testing/pipeline_fixture.h"

namespace sassay::pipeline {
namespace {

TEST_F(PipelineTest, HonestCandidateGoesThroughEveryStageInOrder) {
  Build(evaluate::HonestGemm);
  const Verdict verdict = Run();
  EXPECT_EQ(verdict.status(), VERDICT_STATUS_CORRECT) << verdict.reason();
  EXPECT_THAT(observer_.started_,
              ElementsAre(STAGE_ADMISSION, STAGE_EVALUATE, STAGE_SANITIZE, STAGE_EVIDENCE, STAGE_TIMING));
  EXPECT_EQ(observer_.started_, observer_.finished_);
  EXPECT_EQ(verdict.timing().status(), sassay::v1::Timing::MEASURED);
  EXPECT_EQ(OutcomeOf(verdict, STAGE_EVIDENCE), StageReport::UNAVAILABLE);
  EXPECT_EQ(verdict.provenance(), PROVENANCE_VERIFIED);
  EXPECT_EQ(verdict.workload(), "gemm_n256_k256/M=64");
  EXPECT_EQ(verdict.bundle_sha256().size(), 64u);
  EXPECT_FALSE(verdict.replay_id().empty());
  EXPECT_EQ(verdict.versions().device(), "NVIDIA H200");
  EXPECT_EQ(lane_->judge_.objects(), 0u);
  EXPECT_EQ(pipeline_->lanes().jobs(0), 0);
}

TEST_F(PipelineTest, DamagedBundleIsRejectedAndNothingRuns) {
  Build(evaluate::HonestGemm);
  Job job = MakeJob();
  job.bundle_bytes.resize(job.bundle_bytes.size() / 2);
  const Verdict verdict = Run(job);
  EXPECT_EQ(verdict.status(), VERDICT_STATUS_REJECTED);
  EXPECT_EQ(verdict.stage(), STAGE_ADMISSION);
  EXPECT_THAT(observer_.started_, ElementsAre(STAGE_ADMISSION));
  EXPECT_EQ(OutcomeOf(verdict, STAGE_ADMISSION), StageReport::FAILED);
}

TEST_F(PipelineTest, UnknownWorkloadIsRejected) {
  Build(evaluate::HonestGemm);
  EXPECT_EQ(Run(MakeJob("conv/N=3")).code(), VERDICT_CODE_WORKLOAD_UNKNOWN);
}

TEST_F(PipelineTest, WrongOutputThatIsAFunctionOfTheInputsIsNotDiagnosedAndNotMeasured) {
  Build(Zeros);
  const Verdict verdict = Run();
  EXPECT_EQ(verdict.status(), VERDICT_STATUS_INCORRECT_NUMERICAL);
  EXPECT_EQ(verdict.stage(), STAGE_EVALUATE);
  EXPECT_THAT(verdict.reason(), HasSubstr("zero"));
  EXPECT_EQ(lane_->sanitized_, 0);
  EXPECT_THAT(verdict.details().notes(), Contains(HasSubstr("--sanitize full")));
  EXPECT_EQ(lane_->timed_, 0);
  EXPECT_EQ(OutcomeOf(verdict, STAGE_SANITIZE), StageReport::SKIPPED);
  EXPECT_EQ(OutcomeOf(verdict, STAGE_TIMING), StageReport::SKIPPED);
}

TEST_F(PipelineTest, WrongOutputIsDiagnosedByEveryToolIfTheFullPolicyIsAskedFor) {
  Build(Zeros);
  Job job = MakeJob();
  job.request.set_sanitize(SANITIZE_POLICY_FULL);
  EXPECT_EQ(Run(job).status(), VERDICT_STATUS_INCORRECT_NUMERICAL);
  EXPECT_EQ(lane_->sanitized_, 4);
}

TEST_F(PipelineTest, WrongOutputOnAnEmulatedDeviceIsDiagnosed) {
  Build(Zeros, "emulated");
  EXPECT_EQ(Run().status(), VERDICT_STATUS_INCORRECT_NUMERICAL);
  EXPECT_EQ(lane_->sanitized_, 1);
}

TEST_F(PipelineTest, WrongOutputThatAStrayReadMayExplainIsDiagnosed) {
  Build([](int, Tensors& tensors) {
    std::fill(tensors["C"].begin(), tensors["C"].end(), 0);
    std::copy_n(tensors["A"].end(), 512, tensors["C"].data());
    return Ended();
  });
  lane_->reports_[sanitize::Tool::kMemcheck].set_outcome(SanitizerReport::FINDINGS);
  *lane_->reports_[sanitize::Tool::kMemcheck].add_convicting() = StorePastC();
  EXPECT_EQ(Run().status(), VERDICT_STATUS_SANITIZER_ERROR);
  EXPECT_EQ(lane_->sanitized_, 1);
}

TEST_F(PipelineTest, TheSanitizersFindingTakesThePlaceOfABrokenGuard) {
  Build(StorePastTheEnd);
  lane_->reports_[sanitize::Tool::kMemcheck].set_outcome(SanitizerReport::FINDINGS);
  *lane_->reports_[sanitize::Tool::kMemcheck].add_convicting() = StorePastC();
  const Verdict verdict = Run();
  EXPECT_EQ(verdict.status(), VERDICT_STATUS_SANITIZER_ERROR);
  EXPECT_EQ(verdict.code(), VERDICT_CODE_OOB_GLOBAL_WRITE);
  EXPECT_EQ(verdict.stage(), STAGE_SANITIZE);
  EXPECT_THAT(verdict.details().notes(), Contains(HasSubstr("evaluate saw:")));
}

TEST_F(PipelineTest, MemoryMisuseIsDiagnosedEvenIfOnlyEvaluateWasAskedFor) {
  Build(StorePastTheEnd);
  Job job = MakeJob();
  job.request.add_stages(STAGE_EVALUATE);
  EXPECT_EQ(Run(job).code(), VERDICT_CODE_GUARD_BAND);
  EXPECT_EQ(lane_->sanitized_, 1);
}

TEST_F(PipelineTest, OnlyTheStagesAskedForRunBesidesEvaluate) {
  Build(evaluate::HonestGemm);
  Job job = MakeJob();
  job.request.add_stages(STAGE_TIMING);
  EXPECT_EQ(Run(job).status(), VERDICT_STATUS_CORRECT);
  EXPECT_THAT(observer_.started_, ElementsAre(STAGE_ADMISSION, STAGE_EVALUATE, STAGE_TIMING));
}

TEST_F(PipelineTest, AKernelThatDoesNothingIsNeverCorrectWhateverStagesAreAskedFor) {
  Build([](int, Tensors&) { return evaluate::Ended(); });
  for (const Stage stage : {STAGE_ADMISSION, STAGE_EVALUATE, STAGE_SANITIZE, STAGE_EVIDENCE, STAGE_TIMING}) {
    Job job = MakeJob();
    job.request.add_stages(stage);
    EXPECT_EQ(Run(job).status(), VERDICT_STATUS_INCORRECT_NUMERICAL) << Stage_Name(stage);
  }
}

TEST_F(PipelineTest, ALaunchThatAdmissionRefusesIsRejected) {
  Build(evaluate::HonestGemm);
  Job job = MakeJob();
  sassay::v1::Bundle bundle = admission::ExampleBundle();
  for (auto& plan : *bundle.mutable_plans()) {
    for (auto& step : *plan.mutable_steady()) {
      if (step.has_launch()) step.mutable_launch()->mutable_block()->set_x(2048);
    }
  }
  job.bundle_bytes = bundle.SerializeAsString();
  const Verdict verdict = Run(job);
  EXPECT_EQ(verdict.status(), VERDICT_STATUS_REJECTED) << verdict.reason();
  EXPECT_EQ(verdict.code(), VERDICT_CODE_BLOCK_LIMIT);
}

TEST_F(PipelineTest, UnavailableSanitizerIsANoteAndTheRestGoesOn) {
  Build(evaluate::HonestGemm);
  lane_->reports_[sanitize::Tool::kMemcheck].set_outcome(SanitizerReport::UNAVAILABLE);
  lane_->reports_[sanitize::Tool::kMemcheck].set_reason("compute-sanitizer not found");
  const Verdict verdict = Run();
  EXPECT_EQ(verdict.status(), VERDICT_STATUS_CORRECT);
  EXPECT_EQ(OutcomeOf(verdict, STAGE_SANITIZE), StageReport::UNAVAILABLE);
  EXPECT_EQ(lane_->timed_, 1);
}

// A kernel can know that it is watched, by its addresses or the clock, and do nothing then.
TEST_F(PipelineTest, AKernelThatIsCleanOnlyBecauseItDidNothingIsNotSanitized) {
  for (const bool honest : {true, false}) {
    Build(evaluate::HonestGemm);
    lane_->checked_kernel_ = honest ? FakeKernel(evaluate::HonestGemm) : FakeKernel(Zeros);
    const Verdict verdict = Run();
    EXPECT_EQ(verdict.status(), VERDICT_STATUS_CORRECT) << verdict.DebugString();
    EXPECT_EQ(verdict.scorable(), honest) << verdict.DebugString();
    ASSERT_GT(verdict.sanitizers_size(), 0);
    EXPECT_EQ(verdict.sanitizers(0).outcome(), honest ? SanitizerReport::CLEAN : SanitizerReport::UNAVAILABLE);
    EXPECT_THAT(verdict.sanitizers(0).reason(),
                HasSubstr(honest ? "" : "the checked call was not the one that was judged"));
  }
}

TEST_F(PipelineTest, WrongOutputsUnderAToolAreNoNewsWhereEvaluateSawThem) {
  Build(Zeros);
  lane_->checked_kernel_ = Zeros;
  Job job = MakeJob();
  job.request.set_sanitize(SANITIZE_POLICY_FULL);
  const Verdict verdict = Run(job);
  EXPECT_EQ(verdict.status(), VERDICT_STATUS_INCORRECT_NUMERICAL);
  ASSERT_GT(verdict.sanitizers_size(), 0);
  EXPECT_EQ(verdict.sanitizers(0).outcome(), SanitizerReport::CLEAN);
}

TEST_F(PipelineTest, ASanitizerThatLostItsRunnerLooksAgain) {
  Build(evaluate::HonestGemm);
  lane_->lost_sanitizers_ = 1;
  lane_->reports_[sanitize::Tool::kMemcheck].set_outcome(SanitizerReport::FINDINGS);
  lane_->reports_[sanitize::Tool::kMemcheck].add_convicting()->set_code(VERDICT_CODE_UNINITIALIZED_READ);
  const Verdict verdict = Run();
  EXPECT_EQ(verdict.code(), VERDICT_CODE_UNINITIALIZED_READ);
  EXPECT_THAT(verdict.details().notes(), Contains("sanitize began again: the runner was lost"));
}

TEST_F(PipelineTest, FastAsksMemcheckAlone) {
  Build(evaluate::HonestGemm);
  const Verdict verdict = Run();
  EXPECT_THAT(lane_->asked_, ElementsAre("memcheck gemm_n256_k256/M=64"));
  ASSERT_EQ(verdict.sanitizers_size(), 1);
  EXPECT_EQ(verdict.sanitizers(0).tool(), "memcheck");
  EXPECT_EQ(verdict.sanitizers(0).outcome(), SanitizerReport::CLEAN);
  EXPECT_EQ(verdict.sanitizers(0).workload(), "gemm_n256_k256/M=64");
  EXPECT_TRUE(verdict.scorable());
}

TEST_F(PipelineTest, FullAsksEveryToolOneAfterTheOtherAndAdviceIsNoGuilt) {
  Build(evaluate::HonestGemm);
  SanitizerReport& race = lane_->reports_[sanitize::Tool::kRacecheck];
  race.set_outcome(SanitizerReport::FINDINGS);
  race.add_advisory()->set_code(VERDICT_CODE_SHARED_RACE);
  lane_->reports_[sanitize::Tool::kInitcheck].set_outcome(SanitizerReport::UNAVAILABLE);
  lane_->reports_[sanitize::Tool::kInitcheck].set_reason("it was late");
  Job job = MakeJob();
  job.request.set_sanitize(SANITIZE_POLICY_FULL);
  const Verdict verdict = Run(job);
  EXPECT_EQ(lane_->asked_.size(), 4u);
  EXPECT_EQ(verdict.status(), VERDICT_STATUS_CORRECT);
  EXPECT_TRUE(verdict.scorable()) << "memcheck decides whether it counts as sanitized";
  ASSERT_EQ(verdict.sanitizers_size(), 4);
  EXPECT_EQ(verdict.sanitizers(3).advisory(0).code(), VERDICT_CODE_SHARED_RACE);
  EXPECT_THAT(verdict.details().notes(), Contains("sanitize: initcheck is UNAVAILABLE: it was late"));
}

TEST_F(PipelineTest, SlowToolsLookAtTheSanitizeShapeWhereTheBundleHasAPlanForIt) {
  Build(evaluate::HonestGemm);
  Job job = MakeJob("gemm_n256_k256/M=128");
  sassay::v1::Bundle bundle = admission::ExampleBundle();
  LaunchPlan large = bundle.plans(0);
  large.set_workload("gemm_n256_k256/M=128");
  for (const int doubled : {0, 2}) {
    large.mutable_buffers(doubled)->set_size_bytes(2 * large.buffers(doubled).size_bytes());
  }
  *bundle.mutable_plans()->Add() = large;
  bundle.mutable_plans()->SwapElements(0, 1);
  job.bundle_bytes = bundle.SerializeAsString();
  job.request.set_bundle_sha256(Sha256Hex(job.bundle_bytes));
  job.request.set_sanitize(SANITIZE_POLICY_FULL);
  const Verdict verdict = Run(job);
  EXPECT_THAT(lane_->asked_, ElementsAre("memcheck gemm_n256_k256/M=128", "synccheck gemm_n256_k256/M=128",
                                         "initcheck gemm_n256_k256/M=128", "racecheck gemm_n256_k256/M=64"))
      << verdict.reason();
}

TEST_F(PipelineTest, AfterAFindingThatConvictsNoOtherToolIsAsked) {
  Build(evaluate::HonestGemm);
  lane_->reports_[sanitize::Tool::kMemcheck].set_outcome(SanitizerReport::FINDINGS);
  *lane_->reports_[sanitize::Tool::kMemcheck].add_convicting() = StorePastC();
  Job job = MakeJob();
  job.request.set_sanitize(SANITIZE_POLICY_FULL);
  const Verdict verdict = Run(job);
  EXPECT_EQ(lane_->sanitized_, 1);
  EXPECT_EQ(verdict.code(), VERDICT_CODE_OOB_GLOBAL_WRITE);
  EXPECT_EQ(verdict.sanitizers(3).reason(), "not run: the finding of memcheck comes first");
}

TEST_F(PipelineTest, WithoutASanitizerNothingIsScorable) {
  Build(evaluate::HonestGemm);
  Job job = MakeJob();
  job.request.set_sanitize(SANITIZE_POLICY_NONE);
  const Verdict verdict = Run(job);
  EXPECT_EQ(lane_->sanitized_, 0);
  EXPECT_EQ(verdict.status(), VERDICT_STATUS_CORRECT);
  EXPECT_FALSE(verdict.scorable());
  EXPECT_EQ(OutcomeOf(verdict, STAGE_SANITIZE), StageReport::SKIPPED);
}

TEST_F(PipelineTest, DiagnosesRunLastAndTheirFilesAreKept) {
  Build(evaluate::HonestGemm);
  Job job = MakeJob();
  job.submission_id = "s1";
  job.request.add_diagnose(DIAGNOSIS_NCU);
  std::string kept;
  job.keep_artifact = [&](absl::string_view bytes) {
    kept = std::string(bytes);
    return absl::StatusOr<std::string>("digest");
  };
  const Verdict verdict = Run(job);
  EXPECT_EQ(verdict.status(), VERDICT_STATUS_CORRECT);
  EXPECT_EQ(observer_.started_.back(), STAGE_DIAGNOSE);
  EXPECT_EQ(verdict.stage(), STAGE_TIMING) << "a diagnosis decides nothing";
  EXPECT_EQ(kept, "the report");
  ASSERT_EQ(verdict.diagnoses_size(), 1);
  EXPECT_EQ(verdict.diagnoses(0).kind(), DIAGNOSIS_NCU);
  EXPECT_EQ(verdict.diagnoses(0).artifacts(0).name(), "s1.ncu-rep");
  EXPECT_EQ(verdict.diagnoses(0).artifacts(0).sha256(), "digest");
  EXPECT_EQ(verdict.diagnoses(0).artifacts(0).size_bytes(), 10u);
}

TEST_F(PipelineTest, AFileThatCannotBeKeptIsSaid) {
  Build(evaluate::HonestGemm);
  Job job = MakeJob();
  job.request.add_diagnose(DIAGNOSIS_NCU);
  job.keep_artifact = [](absl::string_view) {
    return absl::StatusOr<std::string>(absl::ResourceExhaustedError("--max-bytes-per-tenant is used up"));
  };
  const Verdict verdict = Run(job);
  EXPECT_EQ(verdict.diagnoses(0).outcome(), DiagnosisReport::DONE);
  EXPECT_EQ(verdict.diagnoses(0).artifacts_size(), 0);
  EXPECT_THAT(verdict.diagnoses(0).summary(), Contains(HasSubstr("--max-bytes-per-tenant")));
}

TEST_F(PipelineTest, OnlyAFaultOrAHangIsDebuggedAndOnlyWhatEndsIsProfiled) {
  Job job = MakeJob();
  job.request.add_diagnose(DIAGNOSIS_NCU);
  job.request.add_diagnose(DIAGNOSIS_DEBUG);
  Build(evaluate::HonestGemm);
  EXPECT_THAT(Run(job).diagnoses(1).reason(), HasSubstr("nothing to debug"));
  EXPECT_THAT(lane_->diagnosed_, ElementsAre("DIAGNOSIS_NCU"));
  Build(Hang);
  const Verdict hung = Run(job);
  EXPECT_THAT(lane_->diagnosed_, ElementsAre("DIAGNOSIS_DEBUG"));
  EXPECT_EQ(hung.status(), VERDICT_STATUS_TIMEOUT);
  EXPECT_EQ(hung.diagnoses(0).outcome(), DiagnosisReport::UNAVAILABLE);
  EXPECT_EQ(hung.details().warps(0).state(), "waiting at a barrier");
}

TEST_F(PipelineTest, MisusedMemoryThatFaultsIsDebugged) {
  Build([](int, Tensors&) {
    return Ended(sassay::worker::RUN_OUTCOME_FAULT, VERDICT_CODE_MISALIGNED, "gemm: misaligned address");
  });
  Job job = MakeJob();
  job.request.add_diagnose(DIAGNOSIS_DEBUG);
  EXPECT_EQ(Run(job).status(), VERDICT_STATUS_SANITIZER_ERROR);
  EXPECT_THAT(lane_->diagnosed_, ElementsAre("DIAGNOSIS_DEBUG"));
}

TEST_F(PipelineTest, AnEmulatedDeviceSaysThatItCannotDiagnose) {
  Build(evaluate::HonestGemm, "emulated");
  Job job = MakeJob();
  job.request.add_diagnose(DIAGNOSIS_NCU);
  EXPECT_THAT(Run(job).diagnoses(0).reason(), HasSubstr("emulated"));
  EXPECT_TRUE(lane_->diagnosed_.empty());
}

TEST_F(PipelineTest, ACandidateThatNobodyCouldSanitizeIsNotAcquitted) {
  Build(evaluate::HonestGemm, "emulated");
  lane_->lost_sanitizers_ = 2;
  const Verdict verdict = Run();
  EXPECT_EQ(verdict.code(), VERDICT_CODE_RUNNER_LOST);
  EXPECT_EQ(verdict.stage(), STAGE_SANITIZE);
  EXPECT_EQ(OutcomeOf(verdict, STAGE_EVIDENCE), StageReport::SKIPPED);
}

TEST_F(PipelineTest, AToolThatTakesItsRunnerAlongEachTimeIsUnavailable) {
  Build(evaluate::HonestGemm, "cuda");
  lane_->lost_sanitizers_ = 2;
  const Verdict verdict = Run();
  EXPECT_EQ(verdict.status(), VERDICT_STATUS_CORRECT);
  EXPECT_FALSE(verdict.scorable());
}

// The example's second launch writes elsewhere than to its output.
TEST_F(PipelineTest, ALaunchThatNothingDependsOnIsInTheEvidenceAndConvictsNobody) {
  Build(evaluate::HonestGemm);
  lane_->without_launch_ = [](int launch, Tensors& tensors) {
    return launch == 1 ? evaluate::HonestGemm(0, tensors) : Ended();
  };
  const Verdict verdict = Run();
  EXPECT_EQ(verdict.status(), VERDICT_STATUS_CORRECT) << verdict.reason();
  EXPECT_TRUE(verdict.scorable());
  const DroppedLaunches& dropped = verdict.evidence().dropped_launches();
  EXPECT_EQ(dropped.launches(), 2u);
  EXPECT_EQ(dropped.tried(), 2u);
  ASSERT_EQ(dropped.dead_size(), 1);
  EXPECT_EQ(dropped.dead(0).launch(), 1u);
  EXPECT_THAT(dropped.dead(0).kernel(), HasSubstr("tensor_map"));
  EXPECT_THAT(verdict.details().notes(), Contains(HasSubstr("launch 1 (tensor_map) is dead")));
}

TEST_F(PipelineTest, NoLaunchIsLeftOutForThoseWhoAskForNoEvidence) {
  Build(evaluate::HonestGemm);
  lane_->without_launch_ = [](int, Tensors&) {
    ADD_FAILURE() << "nobody wants to know";
    return Ended();
  };
  Job job = MakeJob();
  job.request.add_stages(STAGE_TIMING);
  EXPECT_EQ(Run(job).status(), VERDICT_STATUS_CORRECT);
}

TEST_F(PipelineTest, KernelThatRestsWhileItIsTimedIsWrong) {
  Build(evaluate::HonestGemm);
  lane_->timed_calls_ = {evaluate::HonestGemm, [](int, Tensors&) { return evaluate::Ended(); }};
  const Verdict verdict = Run();
  EXPECT_EQ(verdict.status(), sassay::v1::VERDICT_STATUS_INCORRECT_NUMERICAL);
  EXPECT_EQ(verdict.code(), sassay::v1::VERDICT_CODE_TIMED_OUTPUT_WRONG) << verdict.reason();
  EXPECT_EQ(OutcomeOf(verdict, STAGE_TIMING), StageReport::FAILED);
  EXPECT_FALSE(verdict.scorable());
}

TEST_F(PipelineTest, KernelThatIsRightInEveryTimedCallHasATime) {
  Build(evaluate::HonestGemm);
  lane_->timed_calls_ = {evaluate::HonestGemm, evaluate::HonestGemm};
  const Verdict verdict = Run();
  EXPECT_EQ(verdict.status(), VERDICT_STATUS_CORRECT) << verdict.reason();
  EXPECT_EQ(verdict.timing().status(), sassay::v1::Timing::MEASURED);
  EXPECT_TRUE(verdict.scorable());
}

TEST_F(PipelineTest, WhatBaselinesTookIsKnownToLaterJobsAndAfterARestart) {
  const TemporaryDirectory folder = *TemporaryDirectory::Create("pipeline-test");
  baseline_history_file_ = folder.path() / "baseline_history";
  for (uint32_t earlier = 0; earlier < 4; ++earlier) {
    if (earlier % 2 == 0) Build(evaluate::HonestGemm);
    EXPECT_EQ(pipeline_->baseline_history().Compare("a baseline", 1000, 1600).measurements(), earlier);
    lane_->remember_ns_ = 1000;
    Run();
  }
}

TEST_F(PipelineTest, KernelThatFaultsOnlyWhileItIsTimedIsNotCorrect) {
  Build(evaluate::HonestGemm);
  lane_->faults_while_timed_ = 2;
  const Verdict verdict = Run();
  EXPECT_EQ(verdict.status(), VERDICT_STATUS_RUNTIME_ERROR);
  EXPECT_EQ(verdict.code(), VERDICT_CODE_TRAP);
  EXPECT_EQ(verdict.stage(), STAGE_TIMING);
  EXPECT_EQ(OutcomeOf(verdict, STAGE_TIMING), StageReport::FAILED);
}

TEST_F(PipelineTest, AFaultWhileTimedThatDoesNotHappenAgainOnlyTakesTheTime) {
  Build(evaluate::HonestGemm);
  lane_->faults_while_timed_ = 1;
  const Verdict verdict = Run();
  EXPECT_EQ(verdict.status(), VERDICT_STATUS_CORRECT);
  EXPECT_EQ(lane_->timed_, 2);
  EXPECT_EQ(verdict.timing().status(), sassay::v1::Timing::UNAVAILABLE);
  EXPECT_THAT(verdict.timing().reason(), HasSubstr("did not happen again"));
}

TEST_F(PipelineTest, RunnerLostWhileTimedIsTriedOnceMore) {
  Build(evaluate::HonestGemm);
  lane_->lost_timings_ = 1;
  EXPECT_EQ(Run().timing().status(), sassay::v1::Timing::MEASURED);
  EXPECT_EQ(lane_->timed_, 2);

  Build(evaluate::HonestGemm);
  lane_->lost_timings_ = 2;
  const Verdict verdict = Run();
  EXPECT_EQ(verdict.status(), VERDICT_STATUS_CORRECT);
  EXPECT_EQ(verdict.timing().status(), sassay::v1::Timing::UNAVAILABLE);
  EXPECT_THAT(verdict.timing().reason(), HasSubstr("the runner was lost"));
  EXPECT_EQ(lane_->timed_, 2);
}

TEST_F(PipelineTest, EmulatedDevicesGiveNoTime) {
  Build(evaluate::HonestGemm, "emulated");
  const Verdict verdict = Run();
  EXPECT_EQ(verdict.status(), VERDICT_STATUS_CORRECT) << verdict.reason();
  EXPECT_EQ(verdict.timing().status(), sassay::v1::Timing::UNAVAILABLE);
  EXPECT_EQ(verdict.timing().reason(), "emulated device");
  EXPECT_EQ(lane_->timed_, 0);
}

TEST_F(PipelineTest, EmulatedRunThatOnlyHasLittleTimeLeftIsNotTooLarge) {
  Build(evaluate::HonestGemm, "emulated");
  Job job = MakeJob();
  job.deadline = absl::Now() + absl::Milliseconds(1500);  // one call takes 0.28 s by the estimate
  const Verdict verdict = Run(job);
  EXPECT_EQ(verdict.status(), VERDICT_STATUS_INFRA_ERROR);
  EXPECT_EQ(verdict.code(), VERDICT_CODE_QUEUE_DEADLINE);
  EXPECT_THAT(verdict.reason(), HasSubstr("ask for a longer one"));
}

TEST_F(PipelineTest, EmulatedRunThatCannotEndInTimeIsRefusedWithASizeThatFits) {
  usual_run_deadline_ = absl::Seconds(2);
  Build(evaluate::HonestGemm, "emulated");
  Job job = MakeJob();
  job.deadline = absl::Now() + absl::Milliseconds(1500);  // one call takes 0.28 s by the estimate
  const Verdict verdict = Run(job);
  EXPECT_EQ(verdict.status(), VERDICT_STATUS_REJECTED);
  EXPECT_EQ(verdict.code(), VERDICT_CODE_TOO_LARGE_FOR_DEVICE);
  EXPECT_THAT(verdict.reason(), HasSubstr("would take about 2 s on emulated:0"));
  EXPECT_THAT(observer_.started_, ElementsAre(STAGE_ADMISSION));
}

TEST_F(PipelineTest, CancelledBeforeItBeginsNothingRuns) {
  Build(evaluate::HonestGemm);
  observer_.cancelled_ = true;
  const Verdict verdict = Run();
  EXPECT_EQ(verdict.status(), VERDICT_STATUS_CANCELLED);
  EXPECT_THAT(observer_.started_, ElementsAre(STAGE_ADMISSION));
}

TEST_F(PipelineTest, CancelledDuringARunNothingMoreRuns) {
  Build([this](int, Tensors&) {
    observer_.cancelled_ = true;
    return sassay::worker::RunnerReply();  // what a killed runner looks like
  });
  const Verdict verdict = Run();
  EXPECT_EQ(verdict.status(), VERDICT_STATUS_CANCELLED);
  EXPECT_EQ(verdict.code(), VERDICT_CODE_CANCELLED_BY_CLIENT);
  EXPECT_EQ(lane_->sanitized_, 0);
}

TEST_F(PipelineTest, TheObserverLearnsTheGpuOfTheJobsSeat) {
  Build(evaluate::HonestGemm);
  EXPECT_EQ(Run().status(), VERDICT_STATUS_CORRECT);
  EXPECT_EQ(observer_.seat_, "GPU-1");
}

TEST_F(PipelineTest, AJobThatFindsItsGpuClosedSaysSoAndIsNotJudged) {
  Build(evaluate::HonestGemm);
  pipeline_->lanes().Close(0, "cooling");
  const Verdict verdict = Run();
  EXPECT_EQ(verdict.status(), VERDICT_STATUS_INFRA_ERROR);
  EXPECT_THAT(observer_.why_no_gpu_, HasSubstr("GPU-1 is closed: cooling"));
  EXPECT_EQ(observer_.seat_, "");
}

TEST_F(PipelineTest, AJobWhoseWorkersAreRestartedIsALostAttemptWhateverItsKernelSeemedToDo) {
  for (const auto& seemed : {Ended(), Ended(sassay::worker::RUN_OUTCOME_FAULT, VERDICT_CODE_TRAP, "gemm trapped"),
                             Ended(sassay::worker::RUN_OUTCOME_TIMEOUT, VERDICT_CODE_KERNEL_TIMEOUT, "gemm hangs")}) {
    Build([&](int, Tensors&) {
      pipeline_->lanes().Abandon(0, "a judge is silent");
      return seemed;
    });
    lane_->probe_ = [] { return absl::UnavailableError("its runner was killed"); };
    const Verdict verdict = Run();
    EXPECT_EQ(verdict.status(), VERDICT_STATUS_INFRA_ERROR);
    EXPECT_EQ(verdict.code(), VERDICT_CODE_RUNNER_LOST);
    EXPECT_THAT(verdict.reason(), HasSubstr("GPU-1 were restarted: a judge is silent"));
    EXPECT_EQ(lane_->sanitized_, 0);
    EXPECT_EQ(pipeline_->lanes().open_seats(), 4u) << "nobody took the device for sick";
    lane_->probe_ = [] { return absl::OkStatus(); };
  }
}

TEST_F(PipelineTest, ReplayShowsTheSameWorstElementAndIsNeverScored) {
  Build(Zeros);
  const Verdict first = Run();
  Job job = MakeJob();
  job.request.set_replay_id(first.replay_id());
  const Verdict second = Run(job);
  EXPECT_EQ(first.numerics().SerializeAsString(), second.numerics().SerializeAsString());
  EXPECT_FALSE(second.scorable());
  EXPECT_THAT(second.details().notes(), Contains(HasSubstr("not scorable")));
  job.request.set_replay_id("r1-forged");
  EXPECT_EQ(Run(job).status(), VERDICT_STATUS_REJECTED);
}

TEST_F(PipelineTest, AnAttemptAfterTroubleBeginsAfterAPauseUnlessItIsCancelled) {
  retry_pause_ = absl::Milliseconds(60);
  Build(evaluate::HonestGemm);
  Job job = MakeJob();
  job.earlier_devices = {"NVIDIA H200 GPU-7", "NVIDIA H200 GPU-8"};
  const absl::Time begin = absl::Now();
  EXPECT_EQ(Run(job).status(), VERDICT_STATUS_CORRECT);
  EXPECT_GE(absl::Now() - begin, absl::Milliseconds(120));
  retry_pause_ = absl::Hours(1);
  Build(evaluate::HonestGemm);
  observer_.cancelled_ = true;
  EXPECT_EQ(Run(job).status(), VERDICT_STATUS_CANCELLED);
}

TEST_F(PipelineTest, SeveralJobsShareADevice) {
  Build(evaluate::HonestGemm);
  std::vector<std::thread> threads;
  std::atomic<int> correct{0};
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      RecordingObserver observer;
      correct += pipeline_->Run(MakeJob(), observer).status() == VERDICT_STATUS_CORRECT;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(correct, 4);
}

// A neighbour holds the device until the end; the job gives up while it waits.
TEST_F(PipelineTest, NobodySharesADeviceThatIsExclusive) {
  struct GivesUpInEvaluate : RecordingObserver {
    void StageStarted(Stage stage, absl::string_view device) override {
      RecordingObserver::StageStarted(stage, device);
      cancelled_ = stage == STAGE_EVALUATE;
    }
  };
  for (const bool exclusive : {false, true}) {
    exclusive_ = exclusive;
    std::atomic<int> calls{0};
    Build([&](int call, Tensors& tensors) {
      ++calls;
      return evaluate::HonestGemm(call, tensors);
    });
    const auto neighbour =
        lane_->lease().Acquire(DeviceLease::Mode::kShared, 0, absl::InfiniteFuture(), [] { return false; });
    ASSERT_TRUE(neighbour.ok());
    GivesUpInEvaluate observer;
    EXPECT_EQ(pipeline_->Run(MakeJob(), observer).status(), VERDICT_STATUS_CANCELLED);
    EXPECT_EQ(calls == 0, exclusive);
  }
}

// ---- parts ----

TEST(Estimate, NamesTheLargestSuggestedSizeThatFits) {
  const WorkloadCatalog& catalog = WorkloadCatalog::BuiltIn();
  const Workload large = *catalog.Resolve("gemm_n7168_k5120/M=8192");
  EXPECT_GT(EstimateCall(large, ""), absl::Hours(1));
  EXPECT_LT(EstimateCall(large, "mma.sync.aligned"), EstimateCall(large, ""));
  const std::string fits = SizeThatFits(large, catalog, "", absl::Seconds(30));
  ASSERT_FALSE(fits.empty());
  EXPECT_LE(EstimateCall(*catalog.Resolve(fits), ""), absl::Seconds(30));
  EXPECT_EQ(SizeThatFits(large, catalog, "", absl::Nanoseconds(1)), "");
}

}  // namespace
}  // namespace sassay::pipeline
