#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "agent/report/html/markup.h"
#include "agent/report/html/plot.h"
#include "agent/report/html/sections.h"
#include "common/terminal/text.h"
#include "fmt/format.h"

namespace sassay::agent {
namespace {

bool CountsTokens(const v1::Report& report) {
  for (const v1::GroupReport& group : report.groups()) {
    for (const v1::ReasoningByTurn& turn : group.reasoning()) {
      if (turn.has_tokens()) return true;
    }
  }
  return false;
}

const v1::Spread& SpreadShown(const v1::ReasoningByTurn& turn, bool tokens) {
  return tokens ? turn.tokens() : turn.text_bytes();
}

double LongestOf(const PageTask& task, bool tokens) {
  double longest = 0;
  for (const auto& [condition, group] : task.groups) {
    for (const v1::ReasoningByTurn& turn : group->reasoning())
      longest = std::max(longest, SpreadShown(turn, tokens).high_quartile());
  }
  return longest;
}

void AddReasoning(const v1::GroupReport& group, size_t condition, bool tokens, bool alone, Plot& plot) {
  PlotPoints low, median, high;
  for (const v1::ReasoningByTurn& turn : group.reasoning()) {
    const v1::Spread& spread = SpreadShown(turn, tokens);
    if (spread.count() == 0) continue;
    low.emplace_back(turn.turn() + 1, spread.low_quartile() / 1000);
    median.emplace_back(turn.turn() + 1, spread.median() / 1000);
    high.emplace_back(turn.turn() + 1, spread.high_quartile() / 1000);
  }
  if (alone) plot.Band(low, high, SeriesClass(condition));
  plot.Line(median, SeriesClass(condition));
}

std::string ReasoningTable(const PageModel& model, const PageTask& task, bool tokens) {
  std::vector<std::vector<std::string>> rows;
  for (const auto& [condition, group] : task.groups) {
    for (const v1::ReasoningByTurn& turn : group->reasoning()) {
      const v1::Spread& spread = SpreadShown(turn, tokens);
      if (spread.count() == 0) continue;
      const auto number = [](double value) { return fmt::format("{:.0f}", value); };
      rows.push_back({model.conditions[condition].name, absl::StrCat(turn.turn() + 1), absl::StrCat(spread.count()),
                      number(spread.minimum()), number(spread.low_quartile()), number(spread.median()),
                      number(spread.high_quartile()), number(spread.maximum())});
    }
  }
  return PlainTable(task.definition,
                    {"condition", "turn", "answers", "least", "low quartile", "median", "high quartile", "most"}, rows);
}

std::string ReasoningPanel(const PageModel& model, const PageTask& task, bool tokens, size_t index) {
  uint32_t turns = 1;
  for (const auto& [condition, group] : task.groups) {
    for (const v1::ReasoningByTurn& turn : group->reasoning()) turns = std::max(turns, turn.turn() + 1);
  }
  Plot plot(absl::StrCat("re", index), absl::StrCat("Reasoning length by turn, ", task.definition),
            "Median length; the table below has the numbers.", TurnAxis(turns),
            AxisFromZero(LongestOf(task, tokens) / 1000, tokens ? "thousand tokens" : "kB of text"));
  for (const auto& [condition, group] : task.groups)
    AddReasoning(*group, condition, tokens, task.groups.size() == 1, plot);
  return Figure(task.definition, plot.Finish(), ReasoningTable(model, task, tokens));
}

std::string StageRow(const v1::StageTime& stage) {
  const v1::Spread& wall = stage.wall_s();
  const auto time = [&](double seconds) {
    return absl::StrCat("<td class=n>", wall.count() > 0 ? SecondsText(seconds) : "–", "</td>");
  };
  return absl::StrCat("<tr><th scope=row>", stage.stage(), "</th><td class=n>", wall.count(), "</td>",
                      time(wall.low_quartile()), time(wall.median()), time(wall.high_quartile()), time(wall.maximum()),
                      "<td class=n>", SecondsText(stage.wall_total_s()), "</td><td class=n>",
                      stage.device_total_s() > 0 ? SecondsText(stage.device_total_s()) : "–", "</td></tr>");
}

std::string StageTable(const v1::GroupReport& group, const std::string& condition) {
  std::string table = absl::StrCat(
      "<div class=scroll tabindex=0><table><caption>", Escaped(group.group().definition(), 80), " <span class=of>",
      condition,
      "</span></caption><thead><tr><th scope=col>stage</th><th scope=col class=n>turns</th><th scope=col class=n>25 "
      "%</th><th scope=col class=n>median</th><th scope=col class=n>75 %</th><th scope=col class=n>longest</th><th "
      "scope=col class=n>total</th><th scope=col class=n>on device</th></tr></thead><tbody>");
  for (const v1::StageTime& stage : group.stages()) absl::StrAppend(&table, StageRow(stage));
  return table + "</tbody></table></div>";
}

std::string CostRow(const v1::GroupReport& group, const std::string& condition) {
  const v1::ReportCost& cost = group.cost();
  const auto seconds = [](bool has, double value) { return has ? SecondsText(value) : std::string("–"); };
  std::string row = "<tr>";
  for (const std::string& cell : {condition, Escaped(group.group().definition(), 80)})
    absl::StrAppend(&row, "<td>", cell, "</td>");
  for (const std::string& cell :
       {CountText(group.turns()), CountText(group.excluded()), seconds(cost.has_device_s(), cost.device_s()),
        seconds(cost.excluded_device_s() > 0, cost.excluded_device_s()),
        seconds(cost.has_device_s_per_turn(), cost.device_s_per_turn()),
        seconds(cost.has_device_s_per_correct_with_target(), cost.device_s_per_correct_with_target()),
        cost.prompt_tokens() > 0 ? CountText(cost.prompt_tokens()) : "–",
        cost.completion_tokens() > 0 ? CountText(cost.completion_tokens()) : "–",
        cost.has_usd() ? fmt::format("{:.2f}", cost.usd()) : "–"})
    absl::StrAppend(&row, "<td class=n>", cell, "</td>");
  return row + "</tr>";
}

using StageValue = double (v1::StageTime::*)() const;

double TotalOf(const v1::GroupReport& group, StageValue value) {
  double total = 0;
  for (const v1::StageTime& stage : group.stages()) total += (stage.*value)();
  return total;
}

size_t StageIndex(const std::string& stage) {
  for (size_t i = 0; i < kTurnStages; ++i) {
    if (StageName(static_cast<TurnStage>(i)) == stage) return i;
  }
  return 0;
}

std::string StackRow(const PageModel& model, const v1::GroupReport& group, StageValue value, double longest) {
  std::string bars, words;
  for (const v1::StageTime& stage : group.stages()) {
    const double seconds = (stage.*value)();
    if (seconds <= 0) continue;
    const std::string text = absl::StrCat(stage.stage(), " ", SecondsText(seconds));
    absl::StrAppend(&bars, "<i class=k", StageIndex(stage.stage()),
                    " style=\"width:", fmt::format("{:.2f}", 100 * seconds / longest), "%\" title=\"", text, "\"></i>");
    absl::StrAppend(&words, words.empty() ? "" : ", ", text);
  }
  const std::string condition = model.conditions.size() > 1 ? model.conditions[model.condition_of.at(&group)].name : "";
  return absl::StrCat("<tr><th scope=row>", Escaped(group.group().definition(), 80), " <span class=of>", condition,
                      "</span></th><td><div class=stack role=img aria-label=\"", words, "\">", bars,
                      "</div></td><td class=n>", SecondsText(TotalOf(group, value)), "</td></tr>");
}

// One bar for each group, its stages one behind the other; all on one scale.
std::string StackTable(const PageModel& model, const char* caption, StageValue value) {
  double longest = 0;
  for (const v1::GroupReport& group : model.report.groups()) longest = std::max(longest, TotalOf(group, value));
  if (longest == 0) return "";
  std::string table =
      absl::StrCat("<div class=scroll tabindex=0><table class=stacks><caption>", caption, "</caption><tbody>");
  for (int i = 0; i < std::min<int>(kMaxPanels, model.report.groups_size()); ++i)
    absl::StrAppend(&table, StackRow(model, model.report.groups(i), value, longest));
  return table + "</tbody></table></div>";
}

std::string StageLegend(const v1::Report& report) {
  std::set<size_t> seen;
  for (const v1::GroupReport& group : report.groups()) {
    for (const v1::StageTime& stage : group.stages()) seen.insert(StageIndex(stage.stage()));
  }
  std::string legend = "<ul class=legend>";
  for (const size_t i : seen)
    absl::StrAppend(&legend, "<li><span class=\"swatch k", i, "\" aria-hidden=\"true\"></span>",
                    StageName(static_cast<TurnStage>(i)), "</li>");
  return legend + "</ul>";
}

bool KnowsCosts(const v1::GroupReport& group) {
  return group.cost().has_device_s() || group.cost().completion_tokens() > 0 || !group.stages().empty();
}

}  // namespace

std::string ReasoningSection(const PageModel& model) {
  const bool any = std::any_of(model.report.groups().begin(), model.report.groups().end(),
                               [](const v1::GroupReport& group) { return !group.reasoning().empty(); });
  if (!any) return "<p class=note>UNAVAILABLE: no turn of these sources says how much the model reasoned.</p>";
  const bool tokens = CountsTokens(model.report);
  std::string section = absl::StrCat(
      "<p>", tokens ? "Reasoning tokens as the provider counts them" : "Bytes of the reasoning that the provider shows",
      ": median over counted turns, quartiles shaded where a panel has one condition. Answers that do not say are not "
      "among "
      "them.</p>",
      SeriesLegend(model), "<div class=panels>");
  for (size_t i = 0; i < std::min(kMaxPanels, model.tasks.size()); ++i)
    absl::StrAppend(&section, ReasoningPanel(model, model.tasks[i], tokens, i));
  return absl::StrCat(section, "</div>", PanelLimitNote(model.tasks.size()));
}

std::string CostSection(const PageModel& model) {
  std::string costs, stages;
  size_t shown = 0;
  for (const PageCondition& condition : model.conditions) {
    for (const v1::GroupReport* group : condition.groups) {
      if (!KnowsCosts(*group)) continue;
      absl::StrAppend(&costs, CostRow(*group, condition.name));
      if (!group->stages().empty() && ++shown <= kMaxPanels)
        absl::StrAppend(&stages, StageTable(*group, model.conditions.size() > 1 ? condition.name : ""));
    }
  }
  if (costs.empty()) return "<p class=note>UNAVAILABLE: no turn of these sources says what it took.</p>";
  return absl::StrCat(
      "<p>Attempts that do not count cost, too, and are in the totals. Device time is what stages held a device for; "
      "quartiles are over counted turns.</p><div class=scroll tabindex=0><table><caption>Cost</caption><thead><tr><th "
      "scope=col>condition</th><th scope=col>definition</th><th scope=col class=n>turns</th><th scope=col "
      "class=n>excluded</th><th scope=col class=n>device time</th><th scope=col class=n>of it excluded</th><th "
      "scope=col "
      "class=n>a turn</th><th scope=col class=n>a correct turn with target</th><th scope=col class=n>prompt "
      "tokens</th><th "
      "scope=col class=n>completion tokens</th><th scope=col class=n>US$</th></tr></thead><tbody>",
      costs, "</tbody></table></div>", StageLegend(model.report),
      StackTable(model, "Wall time of all turns, by stage", &v1::StageTime::wall_total_s),
      StackTable(model, "Device time of all turns, by stage", &v1::StageTime::device_total_s), "<div class=grids>",
      stages, "</div>", PanelLimitNote(shown));
}

}  // namespace sassay::agent
