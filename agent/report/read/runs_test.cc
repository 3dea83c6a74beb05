#include "agent/report/read/runs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/time/clock.h"
#include "agent/report/read/sources.h"
#include "agent/report/scores/turn_scores.h"
#include "agent/trajectory/run_folder.h"
#include "common/base/files.h"

namespace sassay::agent {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Optional;
using ::testing::SizeIs;

v1::Verdict MakeVerdict(v1::VerdictStatus status) {
  v1::Verdict verdict;
  verdict.set_status(status);
  verdict.mutable_versions()->set_rules("2026.1");
  verdict.mutable_versions()->set_device("NVIDIA H200");
  return verdict;
}

v1::Verdict MakeCorrect(v1::Evidence::Status evidence, double speedup) {
  v1::Verdict verdict = MakeVerdict(v1::VERDICT_STATUS_CORRECT);
  verdict.mutable_evidence()->set_status(evidence);
  verdict.mutable_timing()->set_status(v1::Timing::MEASURED);
  verdict.mutable_timing()->set_speedup(speedup);
  verdict.set_scorable(true);
  return verdict;
}

// A turn with a candidate.
Turn MakeJudged(uint32_t number, v1::Verdict verdict) {
  Turn turn;
  turn.number = number;
  turn.answered.emplace();
  turn.extracted.emplace().set_extraction(v1::EXTRACTION_CODE);
  *turn.judged.emplace().mutable_verdict() = std::move(verdict);
  return turn;
}

Run MakeRun(std::vector<Turn> turns) {
  Run run;
  run.manifest.set_run_id("r1");
  run.manifest.set_model("some/model");
  run.manifest.set_label("with notes");
  run.manifest.set_language("cuda");
  run.manifest.set_arch("sm_90a");
  run.manifest.set_turn_limit(8);
  run.manifest.set_context(v1::CONTEXT_POLICY_FULL);
  run.manifest.add_knowledge("params");
  run.manifest.add_knowledge("contract");
  Trajectory& trajectory = run.trajectories.emplace_back();
  trajectory.began.set_trajectory_id("exp_000");
  trajectory.began.set_workload("gemm_n7168_k5120/M=8192");
  trajectory.turns = std::move(turns);
  trajectory.ended.emplace();
  return run;
}

TrajectoryRows Rows(const Run& run) {
  TurnTable table;
  AddRun(run, "run", table);
  return table.trajectories.at(0);
}

TEST(Runs, CarryTheirConditions) {
  const TrajectoryRows rows = Rows(MakeRun({}));
  EXPECT_EQ(rows.model, "some/model");
  EXPECT_EQ(rows.label, "with notes");
  EXPECT_EQ(rows.definition, "gemm_n7168_k5120");
  EXPECT_EQ(rows.workload, "gemm_n7168_k5120/M=8192");
  EXPECT_EQ(rows.context, "FULL");
  EXPECT_EQ(rows.knowledge, "params+contract");
  EXPECT_EQ(rows.turn_limit, 8u);
  EXPECT_TRUE(rows.ended);
}

TEST(Runs, CorrectTurnsAreToldApartByEvidence) {
  const TrajectoryRows rows = Rows(MakeRun({MakeJudged(0, MakeCorrect(v1::Evidence::DYNAMIC_PRESENT, 0.5)),
                                            MakeJudged(1, MakeCorrect(v1::Evidence::DYNAMIC_NOT_EXECUTED, 0.7)),
                                            MakeJudged(2, MakeCorrect(v1::Evidence::UNAVAILABLE, 0.9))}));
  ASSERT_THAT(rows.turns, SizeIs(3));
  EXPECT_EQ(rows.turns[0].outcome, TurnOutcome::kCorrectWithTarget);
  EXPECT_THAT(rows.turns[0].speedup, Optional(0.5));
  EXPECT_EQ(rows.turns[1].outcome, TurnOutcome::kCorrectWithoutTarget);
  EXPECT_EQ(rows.turns[2].outcome, TurnOutcome::kCorrectWithoutTarget);
  EXPECT_EQ(rows.turns[0].device, "NVIDIA H200");
  EXPECT_FALSE(rows.turns[0].unscorable);
}

TEST(Runs, ATimeThatIsUnavailableIsNoSpeedup) {
  v1::Verdict verdict = MakeCorrect(v1::Evidence::DYNAMIC_PRESENT, 0);
  verdict.mutable_timing()->set_status(v1::Timing::UNAVAILABLE);
  verdict.set_scorable(false);
  const TrajectoryRows rows = Rows(MakeRun({MakeJudged(0, verdict)}));
  EXPECT_EQ(rows.turns[0].speedup, std::nullopt);
  EXPECT_TRUE(rows.turns[0].unscorable);
}

TEST(Runs, EveryStatusHasItsOutcome) {
  const google::protobuf::EnumDescriptor& statuses = *v1::VerdictStatus_descriptor();
  for (int i = 0; i < statuses.value_count(); ++i) {
    const auto status = static_cast<v1::VerdictStatus>(statuses.value(i)->number());
    const TurnRow turn = Rows(MakeRun({MakeJudged(0, MakeVerdict(status))})).turns[0];
    const bool ours = status == v1::VERDICT_STATUS_UNSPECIFIED || status == v1::VERDICT_STATUS_INFRA_ERROR ||
                      status == v1::VERDICT_STATUS_CANCELLED;
    EXPECT_EQ(turn.counts(), !ours) << statuses.value(i)->name();
    EXPECT_EQ(turn.correct(), status == v1::VERDICT_STATUS_CORRECT) << statuses.value(i)->name();
    EXPECT_NE(turn.outcome, TurnOutcome::kOther) << statuses.value(i)->name();
    if (ours || turn.correct()) continue;
    EXPECT_EQ("VERDICT_STATUS_" + std::string(OutcomeName(turn.outcome)), statuses.value(i)->name());
  }
}

TEST(Runs, AnAnswerWithoutCandidateIsATurnAndAnUnfinishedOneIsNot) {
  Turn no_code, pending;
  no_code.extracted.emplace().set_extraction(v1::EXTRACTION_CUT);
  no_code.extracted->set_reason("the answer was cut");
  pending.number = 1;
  pending.extracted.emplace().set_extraction(v1::EXTRACTION_CODE);
  const TrajectoryRows rows = Rows(MakeRun({no_code, pending}));
  ASSERT_THAT(rows.turns, SizeIs(1));
  EXPECT_EQ(rows.turns[0].outcome, TurnOutcome::kNoCode);
  EXPECT_EQ(rows.turns[0].code, "CUT");
  EXPECT_EQ(rows.turns[0].reason, "the answer was cut");
}

TEST(Runs, ExcludedAttemptsAndTakenBackTurnsCountNowhereButCost) {
  agent::Run run = MakeRun({MakeJudged(0, MakeCorrect(v1::Evidence::DYNAMIC_PRESENT, 0.5))});
  v1::Verdict excluded = MakeCorrect(v1::Evidence::DYNAMIC_PRESENT, 9);
  v1::StageReport& stage = *excluded.add_stages();
  stage.set_stage(v1::STAGE_TIMING);
  stage.set_device_ns(2'000'000'000);
  v1::AttemptExcluded& attempt = run.trajectories[0].turns[0].excluded.emplace_back();
  *attempt.mutable_verdict() = excluded;
  attempt.mutable_excluded()->mutable_exclusion()->set_reason("thermal slow-down");
  run.trajectories[0].taken_back.push_back(MakeJudged(1, MakeCorrect(v1::Evidence::DYNAMIC_PRESENT, 8)));
  const TrajectoryRows rows = Rows(run);
  ASSERT_THAT(rows.turns, SizeIs(3));
  EXPECT_EQ(rows.turns[0].excluded, Excluded::kSuperseded);
  EXPECT_EQ(rows.turns[0].reason, "thermal slow-down");
  EXPECT_THAT(rows.turns[0].device_s, Optional(2));
  EXPECT_EQ(rows.turns[2].excluded, Excluded::kSuperseded);
  const v1::TurnLimitScore score = ScoreAt({&rows}, 4);
  EXPECT_EQ(score.turns(), 4u);
  EXPECT_EQ(score.correct(), 1u);
  EXPECT_DOUBLE_EQ(score.best_speedup(), 0.5);
}

TEST(Runs, AVerdictThatWasExcludedForGoodLeavesTheDenominator) {
  v1::Verdict verdict = MakeCorrect(v1::Evidence::DYNAMIC_PRESENT, 0.5);
  verdict.mutable_excluded()->set_reason("ECC");
  const TrajectoryRows rows =
      Rows(MakeRun({MakeJudged(0, verdict), MakeJudged(1, MakeVerdict(v1::VERDICT_STATUS_TIMEOUT))}));
  EXPECT_EQ(rows.turns[0].excluded, Excluded::kLost);
  EXPECT_EQ(rows.turns[0].reason, "ECC");
  EXPECT_EQ(ScoreAt({&rows}, 4).turns(), 3u);
}

TEST(Runs, TimesComeFromWhereTheyWereTaken) {
  v1::Verdict verdict = MakeCorrect(v1::Evidence::DYNAMIC_PRESENT, 1);
  for (const v1::Stage stage : {v1::STAGE_EVALUATE, v1::STAGE_TIMING}) {
    v1::StageReport& report = *verdict.add_stages();
    report.set_stage(stage);
    report.set_outcome(v1::StageReport::PASSED);
    report.set_wall_ns(3'000'000'000);
    report.set_device_ns(500'000'000);
  }
  v1::StageReport& skipped = *verdict.add_stages();
  skipped.set_stage(v1::STAGE_SANITIZE);
  skipped.set_outcome(v1::StageReport::SKIPPED);
  v1::StageReport& unavailable = *verdict.add_stages();
  unavailable.set_stage(v1::STAGE_EVIDENCE);
  unavailable.set_outcome(v1::StageReport::UNAVAILABLE);
  unavailable.set_wall_ns(8'000);
  Turn turn = MakeJudged(0, verdict);
  turn.answered->mutable_wall()->set_seconds(40);
  turn.answered->set_reasoning("hm");
  turn.answered->mutable_usage()->set_completion_tokens(900);
  turn.answered->mutable_usage()->set_reasoning_tokens(700);
  turn.submitted.emplace().mutable_compile()->set_nanos(500'000'000);
  turn.judged->mutable_queued()->set_seconds(2);
  const TurnRow row = Rows(MakeRun({turn})).turns[0];
  const auto at = [&](TurnStage stage) { return row.stage_s[static_cast<size_t>(stage)]; };
  EXPECT_THAT(at(TurnStage::kGenerate), Optional(40));
  EXPECT_THAT(at(TurnStage::kCompile), Optional(0.5));
  EXPECT_EQ(at(TurnStage::kCapture), std::nullopt);
  EXPECT_THAT(at(TurnStage::kQueue), Optional(2));
  EXPECT_THAT(at(TurnStage::kTiming), Optional(3));
  EXPECT_EQ(at(TurnStage::kSanitize), std::nullopt);
  EXPECT_EQ(at(TurnStage::kEvidence), std::nullopt);
  EXPECT_THAT(row.device_s, Optional(1));
  EXPECT_THAT(row.reasoning_tokens, Optional(700));
  EXPECT_THAT(row.reasoning_bytes, Optional(2));
  EXPECT_EQ(row.cost_usd, std::nullopt);
}

class SourcesTest : public ::testing::Test {
 protected:
  SourcesTest() : directory_(*TemporaryDirectory::Create("report")) {}

  // A run of one trajectory with one answer that holds no candidate.
  void WriteRun(const std::string& name) {
    v1::RunManifest manifest;
    manifest.set_run_id(name);
    manifest.set_model("m");
    manifest.set_turn_limit(1);
    const auto folder = *RunFolder::Create(directory_.path() / name, manifest);
    const auto log = *folder->OpenLog("exp_000", absl::Now);
    v1::TrajectoryRecord record;
    record.mutable_began()->set_trajectory_id("exp_000");
    record.mutable_began()->set_workload("gemm/M=1");
    ASSERT_TRUE(log->Append(record).ok());
    record.mutable_asked();
    ASSERT_TRUE(log->Append(record).ok());
    record.mutable_answered()->set_text("no");
    ASSERT_TRUE(log->Append(record).ok());
    record.mutable_extracted()->set_extraction(v1::EXTRACTION_NO_CODE);
    ASSERT_TRUE(log->Append(record).ok());
    record.mutable_ended()->set_end(v1::TRAJECTORY_END_TURN_LIMIT);
    ASSERT_TRUE(log->Append(record).ok());
  }

  absl::StatusOr<TurnTable> Read(const std::vector<std::string>& sources) {
    return ReadSources(sources, directory_.path(), 8);
  }

  TemporaryDirectory directory_;
};

TEST_F(SourcesTest, ReadRunsFoldersOfRunsAndTables) {
  std::filesystem::create_directory(directory_.path() / "runs");
  WriteRun("runs/a");
  WriteRun("runs/b");
  ASSERT_TRUE(WriteFileAtomically(directory_.path() / "t.csv",
                                  "model,arch,definition,workload,trajectory_id,turn,correctness,speedup,"
                                  "correct_with_arch\nM,a,d,w,exp_000,0,Correct,1,1\n")
                  .ok());
  const absl::StatusOr<TurnTable> table = Read({"runs", "t.csv"});
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_THAT(table->sources, ElementsAre("runs/a", "runs/b", "t.csv"));
  ASSERT_THAT(table->trajectories, SizeIs(3));
  EXPECT_EQ(table->trajectories[1].run, "runs/b");
  EXPECT_EQ(table->trajectories[1].turns[0].outcome, TurnOutcome::kNoCode);
}

TEST_F(SourcesTest, TheSameRunTwiceCountsOnce) {
  WriteRun("a");
  const TurnTable table = *Read({"a", "./a/", directory_.path().string()});
  EXPECT_THAT(table.trajectories, SizeIs(1));
  EXPECT_THAT(table.notes, Contains(HasSubstr("named more than once")));
}

TEST_F(SourcesTest, SayWhatIsMissing) {
  const absl::Status folder = Read({"."}).status();
  EXPECT_EQ(folder.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(folder.message(), HasSubstr("is no run: it has no run.json"));
  EXPECT_EQ(Read({"nothing.csv"}).status().code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace sassay::agent
