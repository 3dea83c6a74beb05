#include "profiler_service/pipeline/witness.h"

#include <string>
#include <vector>

#include "profiler_service/pipeline/testing/pipeline_fixture.h"

namespace sassay::pipeline {
namespace {

// What a watcher hears while jobs run.
class WitnessTest : public PipelineTest {
 protected:
  WitnessTest() {
    telemetry_ = &hub_;
    watcher_ = hub_.Watch(1000, [] {});
  }

  std::vector<sassay::v1::Telemetry> Heard() {
    std::vector<sassay::v1::Telemetry> heard;
    while (auto message = watcher_->Take()) heard.push_back(*std::move(message));
    return heard;
  }
  std::vector<sassay::v1::FaultObserved> Faults() {
    std::vector<sassay::v1::FaultObserved> faults;
    for (const sassay::v1::Telemetry& message : Heard()) {
      if (message.has_fault()) faults.push_back(message.fault());
    }
    return faults;
  }

  static sassay::worker::RunnerReply Fault(int, Tensors&) {
    return Ended(sassay::worker::RUN_OUTCOME_FAULT, VERDICT_CODE_ILLEGAL_ADDRESS, "illegal address");
  }

  telemetry::Hub hub_;
  std::shared_ptr<telemetry::Watcher> watcher_;
};

TEST_F(WitnessTest, EveryStageThatRanIsToldWithItsGpuAndSubmission) {
  Build(evaluate::HonestGemm);
  Job job = MakeJob();
  job.submission_id = "s-1";
  EXPECT_EQ(Run(job).status(), VERDICT_STATUS_CORRECT);
  std::vector<Stage> stages;
  for (const sassay::v1::Telemetry& message : Heard()) {
    if (!message.has_stage()) continue;
    EXPECT_EQ(message.stage().submission_id(), "s-1");
    EXPECT_EQ(message.stage().uuid(), "GPU-1");
    stages.push_back(message.stage().report().stage());
    if (stages.back() == STAGE_TIMING) {
      EXPECT_GT(message.stage().report().device_ns(), 0u) << "nobody else had the device meanwhile";
    }
  }
  EXPECT_EQ(stages, observer_.finished_);
}

TEST_F(WitnessTest, AFaultIsToldWhenItIsSeenAndAgainWhenItIsProven) {
  Build(Fault);
  EXPECT_EQ(Run().code(), VERDICT_CODE_ILLEGAL_ADDRESS);
  const auto faults = Faults();
  ASSERT_EQ(faults.size(), 2u);
  EXPECT_FALSE(faults[0].blamed());
  EXPECT_TRUE(faults[1].blamed());
  for (const sassay::v1::FaultObserved& fault : faults) {
    EXPECT_EQ(fault.code(), VERDICT_CODE_ILLEGAL_ADDRESS);
    EXPECT_EQ(fault.uuid(), "GPU-1");
  }
}

TEST_F(WitnessTest, AFaultThatDoesNotHappenAgainIsNobodysYet) {
  std::atomic<int> calls{0};
  Build([&](int call, Tensors& tensors) {
    return ++calls == 1 ? Fault(call, tensors) : evaluate::HonestGemm(call, tensors);
  });
  Run();
  const auto faults = Faults();
  ASSERT_EQ(faults.size(), 1u);
  EXPECT_FALSE(faults[0].blamed());
}

TEST_F(WitnessTest, AToolThatNamesTheFaultProvesIt) {
  Build(Fault);
  SanitizerReport report;
  report.set_outcome(SanitizerReport::FINDINGS);
  *report.add_convicting() = StorePastC();
  lane_->reports_[sanitize::Tool::kMemcheck] = report;
  EXPECT_EQ(Run().status(), VERDICT_STATUS_SANITIZER_ERROR);
  const auto faults = Faults();
  ASSERT_EQ(faults.size(), 2u);
  EXPECT_TRUE(faults[1].blamed());
}

TEST_F(WitnessTest, AnEmulatorsFaultNeedsNoProof) {
  Build(Fault, "emulated");
  Run();
  const auto faults = Faults();
  ASSERT_EQ(faults.size(), 1u);
  EXPECT_TRUE(faults[0].blamed());
}

TEST_F(WitnessTest, WrongNumbersAreNoFault) {
  Build(Zeros);
  EXPECT_EQ(Run().status(), VERDICT_STATUS_INCORRECT_NUMERICAL);
  EXPECT_TRUE(Faults().empty());
}

TEST_F(WitnessTest, WhatAJobSeesOnceItsWorkersAreTakenAwayIsNotTold) {
  Build([this](int call, Tensors& tensors) {
    pipeline_->lanes().Abandon(0, "restarted");
    return Fault(call, tensors);
  });
  EXPECT_EQ(Run().status(), VERDICT_STATUS_INFRA_ERROR);
  EXPECT_TRUE(Faults().empty());
}

TEST_F(WitnessTest, ATimingIsToldWithItsVoidBlocksReasonsAndTheBaselinesPast) {
  sassay::v1::Timing timing;
  timing.set_blocks(20);
  timing.set_void_blocks(3);
  timing.set_clock_event_reasons(0x24);
  (*timing.mutable_voided_samples())["HW slowdown"] = 24;
  timing.mutable_baseline_history()->set_measurements(timing::kFewestRemembered);
  timing.mutable_baseline_history()->set_median_ns(1000);
  timing.mutable_baseline_history()->set_measured_ns(1100);
  Witness witness(&hub_, "s-2");
  witness.Seated("GPU-3");
  witness.Timed(timing);
  timing.mutable_baseline_history()->set_measurements(timing::kFewestRemembered - 1);
  witness.Timed(timing);
  witness.Timed(sassay::v1::Timing());  // nothing was measured
  const auto heard = Heard();
  ASSERT_EQ(heard.size(), 2u);
  const sassay::v1::TimingObserved& observed = heard[0].timing();
  EXPECT_EQ(observed.uuid(), "GPU-3");
  EXPECT_EQ(observed.submission_id(), "s-2");
  EXPECT_EQ(observed.blocks(), 20u);
  EXPECT_EQ(observed.void_blocks(), 3u);
  EXPECT_EQ(observed.clock_event_reasons(), 0x24u);
  EXPECT_EQ(observed.voided_samples().at("HW slowdown"), 24u);
  EXPECT_DOUBLE_EQ(observed.baseline_over_history(), 1.1);
  EXPECT_EQ(heard[1].timing().baseline_over_history(), 0) << "too few earlier measurements";
}

TEST_F(WitnessTest, WorkersAreToldByTheirGpusId) {
  TellOfWorker(&hub_, {"cuda:GPU-7", "judge", wire::Happening::kKilledSilent, 12, "it hangs"});
  TellOfWorker(&hub_, {"emulated:sm_90a#2", "runner", wire::Happening::kStarted, 13, ""});
  TellOfWorker(nullptr, {"cuda:GPU-7", "judge", wire::Happening::kStarted, 14, ""});
  const auto heard = Heard();
  ASSERT_EQ(heard.size(), 2u);
  EXPECT_EQ(heard[0].worker().uuid(), "GPU-7");
  EXPECT_EQ(heard[0].worker().kind(), "judge");
  EXPECT_EQ(heard[0].worker().happening(), sassay::v1::WorkerObserved::KILLED_SILENT);
  EXPECT_EQ(heard[0].worker().pid(), 12u);
  EXPECT_EQ(heard[0].worker().reason(), "it hangs");
  EXPECT_EQ(heard[1].worker().uuid(), "emulated:sm_90a#2");
  EXPECT_EQ(heard[1].worker().happening(), sassay::v1::WorkerObserved::STARTED);
}

}  // namespace
}  // namespace sassay::pipeline
