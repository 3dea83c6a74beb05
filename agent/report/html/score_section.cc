#include <algorithm>

#include "absl/strings/str_cat.h"
#include "agent/report/html/markup.h"
#include "agent/report/html/sections.h"
#include "agent/report/scores/statistics.h"
#include "fmt/format.h"

namespace sassay::agent {
namespace {

// Beyond so many groups intervals are numbers: a picture each would make half of the page.
constexpr size_t kMaxDrawnIntervals = 300;
constexpr char kAbsent[] = "<span class=absent>–</span>";

// A rate as number, bar and count.
std::string RateCell(bool has, double share, uint32_t part, uint32_t whole) {
  if (!has) return absl::StrCat("<td class=n colspan=2>", kAbsent, "</td>");
  return absl::StrCat("<td class=\"n rate\" style=\"--v:", fmt::format("{:.3f}", share), "\"><b>", PercentText(share),
                      "</b></td><td class=\"n of\">", part, "/", whole, "</td>");
}

std::string UnrestrictedCell(bool has, double share) {
  return absl::StrCat("<td class=\"n any\">", has ? PercentText(share) : kAbsent, "</td>");
}

// A rate's Wilson interval as a whisker from 0 to 100 %.
std::string IntervalCell(uint32_t part, uint32_t whole, bool drawn) {
  if (whole == 0) return absl::StrCat("<td class=n>", kAbsent, "</td>");
  const Interval interval = WilsonInterval(part, whole);
  if (!drawn) return fmt::format("<td class=\"n of\">{:.0f}–{:.0f}</td>", 100 * interval.low, 100 * interval.high);
  const double low = 60 * interval.low, high = 60 * interval.high, at = 60.0 * part / whole;
  const std::string words = fmt::format("95 % interval {:.0f} to {:.0f} %", 100 * interval.low, 100 * interval.high);
  return absl::StrCat("<td class=whisker><svg viewBox=\"-2 0 64 12\" role=\"img\" aria-label=\"", words, "\"><title>",
                      words, "</title><path class=g d=\"M0 6H60\"/><path class=w d=\"M", Coordinate(low), " 6H",
                      Coordinate(high), "\"/><circle class=p cx=\"", Coordinate(at),
                      "\" cy=\"6\" r=\"2.4\"/></svg></td>");
}

std::string SpeedupCell(bool has, double speedup, const char* classes) {
  const char* faster = has && speedup >= 1 ? " faster" : has && speedup == 0 ? " none" : "";
  return absl::StrCat("<td class=\"n ", classes, faster, "\">", has ? SpeedupText(speedup) : kAbsent, "</td>");
}

std::string ScoreRow(const v1::TurnLimitScore& s, bool drawn) {
  return absl::StrCat(
      "<td class=n>", s.turn_limit(), "</td>",
      RateCell(s.has_turn_correct_with_target(), s.turn_correct_with_target(), s.correct_with_target(), s.turns()),
      IntervalCell(s.correct_with_target(), s.turns(), drawn), UnrestrictedCell(s.has_turn_correct(), s.turn_correct()),
      RateCell(s.has_trajectory_rate_with_target(), s.trajectory_rate_with_target(), s.trajectories_with_target(),
               s.trajectories()),
      IntervalCell(s.trajectories_with_target(), s.trajectories(), drawn),
      UnrestrictedCell(s.has_trajectory_rate(), s.trajectory_rate()),
      SpeedupCell(s.has_best_speedup_with_target(), s.best_speedup_with_target(), "best"),
      SpeedupCell(s.has_best_speedup(), s.best_speedup(), "any"));
}

std::string GroupRows(const v1::GroupReport& group, bool drawn) {
  std::string rows;
  for (int i = 0; i < group.scores_size(); ++i) {
    absl::StrAppend(&rows, i == 0 ? "<tr class=first>" : "<tr>");
    if (i == 0)
      absl::StrAppend(&rows, "<th scope=rowgroup rowspan=", group.scores_size(), ">",
                      Escaped(group.group().definition(), 80), "</th>");
    absl::StrAppend(&rows, ScoreRow(group.scores(i), drawn), "</tr>");
  }
  return rows;
}

constexpr char kHead[] =
    "<thead><tr><td></td><td></td><th colspan=4 scope=colgroup>turns correct, %</th><th colspan=4 "
    "scope=colgroup>trajectories with a correct turn, %</th><th colspan=2 scope=colgroup>best speed-up</th></tr>"
    "<tr><th scope=col>definition</th><th scope=col class=n>turns</th><th scope=col class=n colspan=2>with target</th>"
    "<th scope=col>95 %</th><th scope=col class=n>any</th><th scope=col class=n colspan=2>with target</th><th "
    "scope=col>95 %</th><th "
    "scope=col "
    "class=n>any</th><th scope=col class=n>with target</th><th scope=col class=n>any</th></tr></thead>";

std::string ConditionRows(const PageCondition& condition, bool drawn) {
  std::string rows =
      absl::StrCat("<tbody><tr class=condition><th colspan=12 scope=rowgroup>", condition.name, "</th></tr>");
  for (const v1::GroupReport* group : condition.groups) absl::StrAppend(&rows, GroupRows(*group, drawn));
  return rows + "</tbody>";
}

}  // namespace

std::string ScoreSection(const PageModel& model) {
  std::string section =
      "<p>With N trajectories and T turns, turn correctness is correct turns over N·T. <em>With target</em>: correct, "
      "and "
      "instructions of the architecture’s own family (wgmma, TMA, tcgen05) were seen executing; <em>any</em>: without "
      "asking for them. Speed-up is the vendor library’s time over the candidate’s; 0: no such turn. Whiskers are "
      "Wilson’s 95 % intervals; turns of one trajectory depend on each other, so that of a turn rate is too narrow: "
      "the one over trajectories is what holds.</p>";
  const bool drawn = static_cast<size_t>(model.report.groups_size()) <= kMaxDrawnIntervals;
  absl::StrAppend(&section, "<div class=scroll tabindex=0><table class=scores>", kHead);
  for (const PageCondition& condition : model.conditions) absl::StrAppend(&section, ConditionRows(condition, drawn));
  return section + "</table></div>";
}

}  // namespace sassay::agent
