#include <algorithm>
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "agent/report/html/markup.h"
#include "agent/report/html/plot.h"
#include "agent/report/html/sections.h"
#include "fmt/format.h"

namespace sassay::agent {
namespace {

std::map<uint32_t, uint32_t> CountsByTurn(const v1::GroupReport& group) {
  std::map<uint32_t, uint32_t> counts;
  for (const v1::OutcomeCount& outcome : group.outcomes()) counts[outcome.turn()] += outcome.count();
  return counts;
}

std::string GroupName(const PageModel& model, const v1::GroupReport& group) {
  const std::string definition = Escaped(group.group().definition(), 80);
  if (model.conditions.size() == 1) return definition;
  return absl::StrCat(definition, " <span class=of>", model.conditions[model.condition_of.at(&group)].name, "</span>");
}

std::string OutcomeTable(const v1::GroupReport& group, const std::string& name) {
  std::vector<std::vector<std::string>> rows;
  for (const v1::OutcomeCount& outcome : group.outcomes())
    rows.push_back({absl::StrCat(outcome.turn() + 1), OutcomeWords(outcome.outcome()), absl::StrCat(outcome.count()),
                    PercentText(outcome.share())});
  return PlainTable(name, {"turn", "outcome", "turns", "%"}, rows);
}

std::string OutcomePanel(const PageModel& model, const v1::GroupReport& group, size_t index) {
  const std::map<uint32_t, uint32_t> counts = CountsByTurn(group);
  const uint32_t turns = counts.empty() ? 1 : counts.rbegin()->first + 1;
  const std::string definition = Escaped(group.group().definition(), 80);
  Plot plot(absl::StrCat("oc", index), absl::StrCat("Outcomes by turn, ", definition),
            "Share of each outcome among the turns of each number; the table below has the counts.", TurnAxis(turns),
            PercentAxis("turns, %"));
  std::map<uint32_t, double> base;
  for (const v1::OutcomeCount& outcome : group.outcomes()) {
    double& low = base[outcome.turn()];
    const std::string title = absl::StrCat("turn ", outcome.turn() + 1, ": ", OutcomeWords(outcome.outcome()), " ",
                                           outcome.count(), "/", counts.at(outcome.turn()));
    plot.Bar(outcome.turn() + 1, 0.41, low, low + outcome.share(), absl::StrCat("f ", OutcomeClass(outcome.outcome())),
             title);
    low += outcome.share();
  }
  const std::string name = GroupName(model, group);
  return Figure(absl::StrCat(name, " <span class=of>N = ", group.trajectories(), "</span>"), plot.Finish(),
                OutcomeTable(group, definition));
}

// One condition's transitions over all of its definitions.
struct Matrix {
  std::map<std::pair<std::string, std::string>, uint32_t> counts;
  std::map<std::string, uint32_t> from_totals;
  std::vector<std::string> states;
};

Matrix MatrixOf(const PageCondition& condition) {
  Matrix matrix;
  std::set<std::string> seen;
  for (const v1::GroupReport* group : condition.groups) {
    for (const v1::OutcomeTransition& transition : group->transitions()) {
      matrix.counts[{transition.from(), transition.to()}] += transition.count();
      matrix.from_totals[transition.from()] += transition.count();
      seen.insert({transition.from(), transition.to()});
    }
  }
  for (int i = 0; i < kTurnOutcomes; ++i) {
    const std::string name(OutcomeName(static_cast<TurnOutcome>(i)));
    if (seen.count(name) != 0) matrix.states.push_back(name);
  }
  return matrix;
}

std::string MatrixCell(const Matrix& matrix, const std::string& from, const std::string& to) {
  const auto found = matrix.counts.find({from, to});
  if (found == matrix.counts.end()) return "<td class=zero>·</td>";
  const double share = static_cast<double>(found->second) / matrix.from_totals.at(from);
  return absl::StrCat("<td class=\"heat",
                      share > 0.85   ? " high higher"
                      : share > 0.65 ? " high"
                                     : "",
                      "\" style=\"--v:", fmt::format("{:.3f}", share), "\">", fmt::format("{:.0f}", 100 * share),
                      "<span class=of>", found->second, "</span></td>");
}

std::string StateName(const std::string& state) {
  return absl::StrCat("<span class=\"chip ", OutcomeClass(state), "\" aria-hidden=\"true\">", OutcomeGlyph(state),
                      "</span>", OutcomeWords(state));
}

std::string MatrixTable(const PageCondition& condition) {
  const Matrix matrix = MatrixOf(condition);
  if (matrix.states.empty())
    return absl::StrCat("<p class=note>", condition.name, ": no trajectory has two turns.</p>");
  std::string table = absl::StrCat("<div class=scroll tabindex=0><table class=matrix><caption>", condition.name,
                                   "</caption><thead><tr><th scope=col>from ↓ to →</th>");
  for (const std::string& to : matrix.states) absl::StrAppend(&table, "<th scope=col>", StateName(to), "</th>");
  absl::StrAppend(&table, "<th scope=col class=n>turns</th></tr></thead><tbody>");
  for (const std::string& from : matrix.states) {
    if (matrix.from_totals.count(from) == 0) continue;
    absl::StrAppend(&table, "<tr><th scope=row>", StateName(from), "</th>");
    for (const std::string& to : matrix.states) absl::StrAppend(&table, MatrixCell(matrix, from, to));
    absl::StrAppend(&table, "<td class=n>", matrix.from_totals.at(from), "</td></tr>");
  }
  return table + "</tbody></table></div>";
}

}  // namespace

std::string OutcomeSection(const PageModel& model) {
  std::string section = absl::StrCat(
      "<p>What became of the candidates of each turn. Turns that were excluded or ended with trouble of our own are "
      "not "
      "among them.</p>",
      OutcomeLegend(model.report), "<div class=panels>");
  const size_t groups = model.report.groups_size();
  for (size_t i = 0; i < std::min(kMaxPanels, groups); ++i)
    absl::StrAppend(&section, OutcomePanel(model, model.report.groups(i), i));
  return absl::StrCat(section, "</div>", PanelLimitNote(groups));
}

std::string TransitionSection(const PageModel& model) {
  std::string section =
      "<p>What followed on what in the next turn of the same trajectory, over all definitions: per cent of the row, "
      "the "
      "count beside it.</p>";
  for (size_t i = 0; i < std::min(kMaxPanels, model.conditions.size()); ++i)
    absl::StrAppend(&section, MatrixTable(model.conditions[i]));
  return absl::StrCat(section, PanelLimitNote(model.conditions.size()));
}

}  // namespace sassay::agent
