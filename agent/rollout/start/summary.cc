#include "agent/rollout/start/summary.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "agent/rollout/spending.h"
#include "agent/trajectory/layout.h"
#include "agent/trajectory/read_log.h"
#include "common/base/proto_json.h"
#include "common/base/status_macros.h"
#include "common/terminal/text.h"
#include "fmt/format.h"

namespace sassay::agent {
namespace {

void AddTrajectory(const Trajectory& trajectory, Spending& spending, v1::RunSummary& summary) {
  for (const auto* turns : {&trajectory.turns, &trajectory.taken_back}) {
    for (const Turn& turn : *turns) {
      if (turn.answered.has_value()) spending.Add(turn.answered->usage());
    }
  }
  for (const Turn& turn : trajectory.turns) {
    const bool decided = turn.judged.has_value() || turn.feedback.has_value();
    summary.set_turns(summary.turns() + decided);
    summary.set_correct_turns(summary.correct_turns() + IsCorrect(turn));
    summary.set_best_speedup(std::max(summary.best_speedup(), SpeedupOf(turn).value_or(0)));
  }
  summary.set_taken_back(summary.taken_back() + static_cast<uint32_t>(trajectory.taken_back.size()));
  if (!trajectory.ended.has_value()) return;
  summary.set_ended(summary.ended() + 1);
  ++(*summary.mutable_ends())[EnumName(trajectory.ended->end())];
}

std::string StateText(const v1::RunSummary& summary, const Style& style) {
  if (summary.state() == "finished") return style.Good("finished");
  return absl::StrCat(style.Warn(summary.state()), ": ", PrintableLine(summary.detail()));
}

}  // namespace

absl::StatusOr<v1::RunSummary> SummaryOf(const RunFolder& folder, const absl::Status& outcome) {
  v1::RunSummary summary;
  const v1::RunManifest& manifest = folder.manifest();
  summary.set_run_id(manifest.run_id());
  summary.set_folder(folder.path().string());
  summary.set_state(outcome.ok() ? "finished" : absl::IsCancelled(outcome) ? "interrupted" : "paused");
  summary.set_detail(std::string(outcome.message()));
  const size_t prompts = std::max(1, manifest.prompts_sha256_size());
  const size_t count = manifest.workloads_size() * prompts * manifest.trajectories();
  summary.set_trajectories(static_cast<uint32_t>(count));
  Spending spending(0, 0);
  for (size_t i = 0; i < count; ++i) {
    ASSIGN_OR_RETURN(const LogContent log, ReadLog(LogPath(folder.path(), TrajectoryId(i))));
    AddTrajectory(log.trajectory, spending, summary);
  }
  *summary.mutable_usage() = spending.total();
  return summary;
}

std::string RenderSummary(const v1::RunSummary& summary, const Style& style) {
  const v1::Usage& usage = summary.usage();
  std::string text = absl::StrCat("run ", summary.run_id(), " ", StateText(summary, style), "\n");
  absl::StrAppend(&text, summary.ended(), " of ", summary.trajectories(), " trajectories ended");
  for (const auto& [end, count] : summary.ends()) absl::StrAppend(&text, ", ", count, " ", end);
  absl::StrAppend(&text, "\n", summary.turns(), " turns, ", summary.correct_turns(), " correct");
  if (summary.taken_back() > 0) absl::StrAppend(&text, ", ", summary.taken_back(), " taken back");
  if (summary.best_speedup() > 0) absl::StrAppend(&text, fmt::format(", best {:.3f}x", summary.best_speedup()));
  absl::StrAppend(&text, "\n", CountText(usage.prompt_tokens()), " tokens sent (",
                  CountText(usage.cached_prompt_tokens()), " from the cache",
                  usage.cache_written_prompt_tokens() > 0
                      ? absl::StrCat(", ", CountText(usage.cache_written_prompt_tokens()), " written to it")
                      : "",
                  "), ", CountText(usage.completion_tokens()), " received",
                  usage.estimated() ? ", partly estimated" : "");
  if (usage.cost_usd() > 0) absl::StrAppend(&text, fmt::format(", ${:.2f}", usage.cost_usd()));
  absl::StrAppend(&text, "\n", PrintableLine(summary.folder()), "\n");
  return text;
}

}  // namespace sassay::agent
