#include <algorithm>
#include <map>

#include "absl/strings/str_cat.h"
#include "agent/report/html/markup.h"
#include "agent/report/html/sections.h"
#include "agent/report/scores/counting.h"
#include "fmt/format.h"

namespace sassay::agent {
namespace {

// Of a reason; less where thousands of them would make most of the page.
constexpr size_t kReasonBytes = 200, kReasonBytesOfMany = 60;
constexpr size_t kManyTurns = 4000;
// Turns shown of one trajectory; what follows is in `--section turns`.
constexpr uint32_t kMaxShownTurns = 64;

std::string OutcomeOf(const TurnRow& turn) { return std::string(OutcomeName(turn.outcome)); }

std::string TitleOf(const TurnRow& turn, size_t reason_bytes) {
  std::string title = OutcomeWords(OutcomeOf(turn));
  if (turn.speedup.has_value()) absl::StrAppend(&title, ", speed-up ", SpeedupText(*turn.speedup));
  if (!turn.correct() && !turn.reason.empty()) absl::StrAppend(&title, ": ", Escaped(turn.reason, reason_bytes));
  return title;
}

// Speed-ups where there are some, signs elsewhere.
std::string FaceOf(const TurnRow& turn) {
  if (turn.speedup.has_value()) return fmt::format("{:.2f}", *turn.speedup);
  return OutcomeGlyph(OutcomeOf(turn));
}

std::string CellOf(const TurnRow* counted, const TurnRow* lost, bool ended, size_t reason_bytes) {
  if (counted != nullptr)
    return absl::StrCat("<td class=", OutcomeClass(OutcomeOf(*counted)), " title=\"", TitleOf(*counted, reason_bytes),
                        "\">", FaceOf(*counted), "</td>");
  if (lost != nullptr)
    return absl::StrCat("<td class=lost title=\"does not count: ", Escaped(lost->reason, reason_bytes), "\">·</td>");
  return ended ? "<td class=over></td>" : "<td class=open title=\"not yet\">…</td>";
}

std::string RowOf(const TrajectoryRows& trajectory, uint32_t turns, size_t reason_bytes) {
  std::map<uint32_t, const TurnRow*> counted, lost;
  double best = 0;
  for (const TurnRow& turn : trajectory.turns) {
    (turn.counts() ? counted : lost)[turn.number] = &turn;
    if (turn.counts() && turn.with_target()) best = std::max(best, turn.speedup.value_or(0));
  }
  std::string row = absl::StrCat("<tr><th scope=row>", Escaped(trajectory.trajectory, 60), "</th>");
  for (uint32_t i = 0; i < turns; ++i) {
    const auto at = counted.find(i), gone = lost.find(i);
    absl::StrAppend(&row, CellOf(at == counted.end() ? nullptr : at->second,
                                 gone == lost.end() ? nullptr : gone->second, trajectory.ended, reason_bytes));
  }
  return absl::StrCat(row, "<td class=\"n best\">", best > 0 ? SpeedupText(best) : "–", "</td></tr>");
}

uint32_t TurnsOf(const TurnGroup& group) {
  uint32_t turns = 0;
  for (const TrajectoryRows* trajectory : group.trajectories) {
    for (const TurnRow& turn : trajectory->turns) turns = std::max(turns, turn.number + 1);
  }
  return std::min(turns, kMaxShownTurns);
}

std::string GridOf(const PageModel& model, size_t index) {
  const TurnGroup& group = model.members[index];
  std::string caption = Escaped(group.keys.definition(), 80);
  const PageCondition& condition = model.conditions[model.condition_of.at(&model.report.groups(index))];
  if (model.conditions.size() > 1) absl::StrAppend(&caption, " <span class=of>", condition.name, "</span>");
  const uint32_t turns = TurnsOf(group);
  const size_t reason_bytes = model.report.turns() > kManyTurns ? kReasonBytesOfMany : kReasonBytes;
  std::string grid = absl::StrCat("<div class=scroll tabindex=0><table class=grid><caption>", caption,
                                  "</caption><thead><tr><th scope=col>trajectory</th>");
  for (uint32_t i = 0; i < turns; ++i) absl::StrAppend(&grid, "<th scope=col>", i + 1, "</th>");
  absl::StrAppend(&grid, "<th scope=col class=n>best</th></tr></thead><tbody>");
  for (const TrajectoryRows* trajectory : group.trajectories)
    absl::StrAppend(&grid, RowOf(*trajectory, turns, reason_bytes));
  return grid + "</tbody></table></div>";
}

}  // namespace

std::string GridSection(const PageModel& model) {
  std::string section = absl::StrCat(
      "<p>Every turn of every trajectory: its speed-up where it has one, else a sign for what became of it; the "
      "pointer "
      "shows the reason. A dot without colour does not count.</p>",
      OutcomeLegend(model.report), "<div class=grids>");
  for (size_t i = 0; i < model.members.size(); ++i) absl::StrAppend(&section, GridOf(model, i));
  return section + "</div>";
}

}  // namespace sassay::agent
