#include "agent/dataset/collect.h"

#include <algorithm>
#include <set>

#include "agent/models/answer.h"
#include "common/base/status_macros.h"

namespace sassay::agent {
namespace {

bool IsNobodysFault(const v1::Verdict& verdict) {
  return verdict.has_excluded() || verdict.status() == v1::VERDICT_STATUS_INFRA_ERROR ||
         verdict.status() == v1::VERDICT_STATUS_CANCELLED || verdict.status() == v1::VERDICT_STATUS_UNSPECIFIED;
}

bool IsFailed(const Turn& turn) {
  return turn.judged.has_value() && !IsNobodysFault(turn.judged->verdict()) &&
         turn.judged->verdict().status() != v1::VERDICT_STATUS_CORRECT;
}

// A turn on its way is not there yet, as in a report.
bool IsDecided(const Turn& turn) {
  return turn.judged.has_value() || (turn.extracted.has_value() && turn.extracted->extraction() != v1::EXTRACTION_CODE);
}

void Count(const Turn& turn, CollectCounts& counts) {
  if (!IsDecided(turn)) return;
  ++counts.turns;
  if (!turn.judged.has_value()) {
    ++counts.turns_without_candidate;
  } else if (IsNobodysFault(turn.judged->verdict())) {
    ++counts.turns_excluded_or_infrastructure;
  } else if (!IsCorrect(turn)) {
    ++counts.turns_failed;
  } else if (!IsScorable(turn)) {
    ++counts.turns_unscorable;
  } else {
    ++counts.turns_correct;
  }
}

// The examples of one trajectory.
class TrajectoryReader {
 public:
  TrajectoryReader(const Run& run, const Trajectory& trajectory) : run_(run), trajectory_(trajectory) {}

  absl::Status AddFixes(const DatasetOptions& options, std::vector<Example>& examples) const {
    for (size_t i = 0; i < trajectory_.turns.size(); ++i) {
      if (!IsFailed(trajectory_.turns[i])) continue;
      ASSIGN_OR_RETURN(Example example, Begin(trajectory_.turns[i]));
      RETURN_IF_ERROR(AddFailure(trajectory_.turns[i], example));
      const Turn* fix = FixOf(i, options.within);
      if (fix != nullptr) RETURN_IF_ERROR(AddSolution(*fix, example));
      examples.push_back(std::move(example));
    }
    return absl::OkStatus();
  }

  absl::Status AddKernels(std::vector<Example>& examples) const {
    for (const Turn& turn : trajectory_.turns) {
      if (!IsScorable(turn)) continue;
      ASSIGN_OR_RETURN(Example example, Begin(turn));
      RETURN_IF_ERROR(AddSolution(turn, example));
      examples.push_back(std::move(example));
    }
    return absl::OkStatus();
  }

 private:
  absl::StatusOr<Example> Begin(const Turn& turn) const {
    Example example;
    example.run_id = run_.manifest.run_id();
    example.label = run_.manifest.label();
    example.language = run_.manifest.language();
    example.model = run_.manifest.model();
    example.arch = run_.manifest.arch();
    example.trajectory = trajectory_.began.trajectory_id();
    example.workload = trajectory_.began.workload();
    example.turn = example.solution_turn = turn.number;
    ASSIGN_OR_RETURN(example.system, ReadPrompt(run_.folder, trajectory_.began.system_sha256()));
    ASSIGN_OR_RETURN(example.user, ReadPrompt(run_.folder, trajectory_.began.user_sha256()));
    return example;
  }

  absl::Status AddFailure(const Turn& turn, Example& example) const {
    ASSIGN_OR_RETURN(example.failed_source, ReadSource(run_.folder, trajectory_, turn));
    if (turn.feedback.has_value()) example.feedback = turn.feedback->text();
    example.failed_status = turn.judged->verdict().status();
    example.failed_code = turn.judged->verdict().code();
    return absl::OkStatus();
  }

  // The first scorable turn after it.
  const Turn* FixOf(size_t failed, uint32_t within) const {
    const uint32_t number = trajectory_.turns[failed].number;
    for (size_t i = failed + 1; i < trajectory_.turns.size(); ++i) {
      if (within > 0 && trajectory_.turns[i].number > number + within) break;
      if (IsScorable(trajectory_.turns[i])) return &trajectory_.turns[i];
    }
    return nullptr;
  }

  absl::Status AddSolution(const Turn& turn, Example& example) const {
    const v1::Verdict& verdict = turn.judged->verdict();
    ASSIGN_OR_RETURN(example.solution, ReadSource(run_.folder, trajectory_, turn));
    example.solution_turn = turn.number;
    example.solution_origin = TextOrigin::kModel;
    example.solution_model = run_.manifest.model();
    example.speedup = SpeedupOf(turn);
    example.has_target_instructions = verdict.evidence().status() == v1::Evidence::DYNAMIC_PRESENT;
    example.rules = verdict.versions().rules();
    example.device = verdict.versions().device();
    example.sassay_version = verdict.versions().sassay();
    if (turn.answered.has_value()) AddWords(*turn.answered, example);
    return absl::OkStatus();
  }

  void AddWords(const v1::Answered& answered, Example& example) const {
    example.explanation = ProseOf(answered.text());
    example.reasoning = answered.reasoning();
    if (example.reasoning.empty()) return;
    example.reasoning_origin = TextOrigin::kModel;
    example.reasoning_model = run_.manifest.model();
  }

  const Run& run_;
  const Trajectory& trajectory_;
};

}  // namespace

absl::StatusOr<Collected> Collect(absl::Span<const Run> runs, const DatasetOptions& options) {
  Collected collected;
  std::set<std::string> seen;
  for (const Run& run : runs) {
    if (!seen.insert(run.manifest.run_id()).second) continue;
    ++collected.counts.runs;
    for (const Trajectory& trajectory : run.trajectories) {
      ++collected.counts.trajectories;
      for (const Turn& turn : trajectory.turns) Count(turn, collected.counts);
      const TrajectoryReader reader(run, trajectory);
      RETURN_IF_ERROR(options.kind == DatasetKind::kFixit ? reader.AddFixes(options, collected.examples)
                                                          : reader.AddKernels(collected.examples));
    }
  }
  std::sort(collected.examples.begin(), collected.examples.end(), Before);
  return collected;
}

}  // namespace sassay::agent
