#include "agent/report/read/runs.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/proto_json.h"
#include "common/base/proto_time.h"

namespace sassay::agent {
namespace {

TurnOutcome OutcomeOf(const v1::Verdict& verdict) {
  switch (verdict.status()) {
    case v1::VERDICT_STATUS_CORRECT:
      return verdict.evidence().status() == v1::Evidence::DYNAMIC_PRESENT ? TurnOutcome::kCorrectWithTarget
                                                                          : TurnOutcome::kCorrectWithoutTarget;
    case v1::VERDICT_STATUS_COMPILE_ERROR:
      return TurnOutcome::kCompileError;
    case v1::VERDICT_STATUS_CAPTURE_ERROR:
      return TurnOutcome::kCaptureError;
    case v1::VERDICT_STATUS_REJECTED:
      return TurnOutcome::kRejected;
    case v1::VERDICT_STATUS_SANITIZER_ERROR:
      return TurnOutcome::kSanitizerError;
    case v1::VERDICT_STATUS_RUNTIME_ERROR:
      return TurnOutcome::kRuntimeError;
    case v1::VERDICT_STATUS_TIMEOUT:
      return TurnOutcome::kTimeout;
    case v1::VERDICT_STATUS_INCORRECT_NUMERICAL:
      return TurnOutcome::kIncorrectNumerical;
    case v1::VERDICT_STATUS_CHEATING:
      return TurnOutcome::kCheating;
    default:
      return TurnOutcome::kInfrastructure;
  }
}

std::optional<TurnStage> StageOf(v1::Stage stage) {
  switch (stage) {
    case v1::STAGE_COMPILE:
      return TurnStage::kCompile;
    case v1::STAGE_CAPTURE:
      return TurnStage::kCapture;
    case v1::STAGE_ADMISSION:
      return TurnStage::kAdmission;
    case v1::STAGE_EVALUATE:
      return TurnStage::kEvaluate;
    case v1::STAGE_SANITIZE:
      return TurnStage::kSanitize;
    case v1::STAGE_EVIDENCE:
      return TurnStage::kEvidence;
    case v1::STAGE_TIMING:
      return TurnStage::kTiming;
    case v1::STAGE_DIAGNOSE:
      return TurnStage::kDiagnose;
    default:
      return std::nullopt;
  }
}

std::optional<double>& StageTimeOf(TurnStage stage, TurnRow& row) { return row.stage_s[static_cast<size_t>(stage)]; }

void AddStages(const v1::Verdict& verdict, TurnRow& row) {
  for (const v1::StageReport& report : verdict.stages()) {
    const std::optional<TurnStage> stage = StageOf(report.stage());
    if (!stage.has_value() || report.outcome() == v1::StageReport::SKIPPED) continue;
    // What could not run took no time that says anything about the stage.
    if (report.wall_ns() > 0 && report.outcome() != v1::StageReport::UNAVAILABLE)
      StageTimeOf(*stage, row) = report.wall_ns() / 1e9;
    if (report.device_ns() == 0) continue;
    row.stage_device_s[static_cast<size_t>(*stage)] += report.device_ns() / 1e9;
    row.device_s = row.device_s.value_or(0) + report.device_ns() / 1e9;
  }
}

void AddVerdict(const v1::Verdict& verdict, TurnRow& row) {
  row.outcome = OutcomeOf(verdict);
  row.code = EnumName(verdict.code());
  row.reason = verdict.reason();
  row.rules = verdict.versions().rules();
  row.device = verdict.versions().device();
  row.unscorable = row.correct() && !verdict.scorable();
  AddStages(verdict, row);
}

// What the answer cost; of one turn it is told once, however often its candidate was judged.
void AddAnswer(const Turn& turn, const v1::RunManifest& manifest, TurnRow& row) {
  if (!turn.answered.has_value()) return;
  const v1::Answered& answered = *turn.answered;
  if (answered.has_wall()) StageTimeOf(TurnStage::kGenerate, row) = SecondsOf(answered.wall());
  if (!answered.reasoning().empty()) row.reasoning_bytes = answered.reasoning().size();
  const v1::Usage& usage = answered.usage();
  if (usage.prompt_tokens() + usage.completion_tokens() > 0) {
    row.prompt_tokens = usage.prompt_tokens();
    row.completion_tokens = usage.completion_tokens();
  }
  if (usage.reasoning_tokens() > 0) row.reasoning_tokens = usage.reasoning_tokens();
  row.tokens_estimated = usage.estimated();
  const bool priced = manifest.prices().prompt() > 0 || manifest.prices().completion() > 0;
  if (priced || usage.cost_usd() > 0) row.cost_usd = usage.cost_usd();
}

void AddSubmission(const Turn& turn, TurnRow& row) {
  if (turn.submitted.has_value()) {
    std::optional<double>& compile = StageTimeOf(TurnStage::kCompile, row);
    std::optional<double>& capture = StageTimeOf(TurnStage::kCapture, row);
    if (!compile.has_value() && turn.submitted->has_compile()) compile = SecondsOf(turn.submitted->compile());
    if (!capture.has_value() && turn.submitted->has_capture()) capture = SecondsOf(turn.submitted->capture());
  }
  if (turn.judged.has_value() && turn.judged->has_queued())
    StageTimeOf(TurnStage::kQueue, row) = SecondsOf(turn.judged->queued());
}

TurnRow AttemptRow(const v1::AttemptExcluded& attempt, uint32_t number) {
  TurnRow row;
  row.number = number;
  row.outcome = TurnOutcome::kInfrastructure;
  if (attempt.has_verdict()) AddVerdict(attempt.verdict(), row);
  row.excluded = Excluded::kSuperseded;
  row.reason = attempt.excluded().exclusion().reason();
  return row;
}

bool HoldsNoCandidate(const Turn& turn) {
  return turn.extracted.has_value() && turn.extracted->extraction() != v1::EXTRACTION_CODE;
}

// The turn's last word, if it has one.
std::optional<TurnRow> LastWord(const Turn& turn, const v1::RunManifest& manifest) {
  TurnRow row;
  row.number = turn.number;
  AddAnswer(turn, manifest, row);
  if (turn.judged.has_value()) {
    const v1::Verdict& verdict = turn.judged->verdict();
    AddVerdict(verdict, row);
    AddSubmission(turn, row);
    row.speedup = SpeedupOf(turn);
    if (verdict.has_excluded()) row.reason = verdict.excluded().reason();
    if (verdict.has_excluded() || row.outcome == TurnOutcome::kInfrastructure) row.excluded = Excluded::kLost;
    return row;
  }
  if (!HoldsNoCandidate(turn)) return std::nullopt;
  row.outcome = TurnOutcome::kNoCode;
  row.code = EnumName(turn.extracted->extraction());
  row.reason = turn.extracted->reason();
  return row;
}

void AddTurn(const Turn& turn, const v1::RunManifest& manifest, bool taken_back, TrajectoryRows& trajectory) {
  for (const v1::AttemptExcluded& attempt : turn.excluded) trajectory.turns.push_back(AttemptRow(attempt, turn.number));
  std::optional<TurnRow> row = LastWord(turn, manifest);
  if (!row.has_value()) return;
  if (taken_back) row->excluded = Excluded::kSuperseded;
  trajectory.turns.push_back(*std::move(row));
}

TrajectoryRows RowsOf(const Trajectory& trajectory, const v1::RunManifest& manifest) {
  TrajectoryRows rows;
  rows.model = manifest.model();
  rows.label = manifest.label();
  rows.language = manifest.language();
  rows.arch = manifest.arch();
  rows.workload = trajectory.began.workload();
  rows.definition = rows.workload.substr(0, rows.workload.find('/'));
  rows.run = manifest.run_id();
  rows.trajectory = trajectory.began.trajectory_id();
  rows.prompt = absl::StrCat(trajectory.began.prompt());
  rows.context = EnumName(manifest.context());
  rows.knowledge = absl::StrJoin(manifest.knowledge(), "+");
  rows.notes = manifest.notes();
  rows.turn_limit = manifest.turn_limit();
  rows.ended = trajectory.ended.has_value();
  for (const Turn& turn : trajectory.taken_back) AddTurn(turn, manifest, /*taken_back=*/true, rows);
  for (const Turn& turn : trajectory.turns) AddTurn(turn, manifest, /*taken_back=*/false, rows);
  std::stable_sort(rows.turns.begin(), rows.turns.end(),
                   [](const TurnRow& a, const TurnRow& b) { return a.number < b.number; });
  return rows;
}

}  // namespace

void AddRun(const Run& run, absl::string_view name, TurnTable& table) {
  for (const Trajectory& trajectory : run.trajectories) table.trajectories.push_back(RowsOf(trajectory, run.manifest));
  if (run.trajectories.empty()) table.notes.push_back(absl::StrCat(name, ": the run has no trajectory yet."));
  table.sources.push_back(std::string(name));
}

}  // namespace sassay::agent
