#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "agent/report/html/markup.h"
#include "agent/report/html/plot.h"
#include "agent/report/html/sections.h"
#include "agent/report/scores/counting.h"

namespace sassay::agent {
namespace {

// More dots than that are a cloud; the lines say it better.
constexpr size_t kMaxDots = 1500;

// "N = 12", or one number for each condition where they are few.
std::string CountsOf(const PageTask& task) {
  std::vector<std::string> counts;
  for (const auto& [condition, group] : task.groups) counts.push_back(absl::StrCat(group->trajectories()));
  if (counts.size() > 6) return absl::StrCat(" <span class=of>", counts.size(), " conditions</span>");
  return absl::StrCat(" <span class=of>N = ", absl::StrJoin(counts, " / "), "</span>");
}

double FastestOf(const PageTask& task) {
  double fastest = 0;
  for (const auto& [condition, group] : task.groups) {
    for (const v1::SpeedupByTurn& turn : group->speedups()) fastest = std::max(fastest, turn.best());
  }
  return fastest;
}

uint32_t TurnsOf(const PageTask& task) {
  uint32_t turns = 1;
  for (const auto& [condition, group] : task.groups) {
    for (const v1::SpeedupByTurn& turn : group->speedups()) turns = std::max(turns, turn.turn() + 1);
  }
  return turns;
}

const TurnGroup& MembersOf(const PageModel& model, const v1::GroupReport& group) {
  return model.members[model.group_index.at(&group)];
}

// Every timed turn, spread a little so that trajectories do not hide each other.
void AddDots(const TurnGroup& members, size_t condition, Plot& plot) {
  size_t dots = 0;
  const double count = std::max<double>(2, members.trajectories.size());
  for (size_t i = 0; i < members.trajectories.size(); ++i) {
    const double shift = 0.5 * (static_cast<double>(i) / (count - 1) - 0.5);
    for (const TurnRow* turn : CountedTurns(*members.trajectories[i])) {
      if (!turn->with_target() || !turn->speedup.has_value() || ++dots > kMaxDots) continue;
      plot.Dot(turn->number + 1 + shift, *turn->speedup, absl::StrCat("d ", SeriesClass(condition)));
    }
  }
}

void AddSpeedupLines(const v1::GroupReport& group, size_t condition, bool alone, Plot& plot) {
  PlotPoints best, median;
  for (const v1::SpeedupByTurn& turn : group.speedups()) {
    if (turn.has_best_so_far()) best.emplace_back(turn.turn() + 0.5, turn.best_so_far());
    median.emplace_back(turn.turn() + 0.5, turn.median_best_so_far());
  }
  if (group.speedups().empty()) return;
  const double end = group.speedups().rbegin()->turn() + 1.5;
  if (!best.empty()) best.emplace_back(end, best.back().second);
  median.emplace_back(end, median.back().second);
  if (alone) plot.Steps(median, absl::StrCat(SeriesClass(condition), " thin"));
  plot.Steps(best, SeriesClass(condition));
}

std::string SpeedupTable(const PageModel& model, const PageTask& task) {
  std::vector<std::vector<std::string>> rows;
  for (const auto& [condition, group] : task.groups) {
    for (const v1::SpeedupByTurn& turn : group->speedups())
      rows.push_back({model.conditions[condition].name, absl::StrCat(turn.turn() + 1), absl::StrCat(turn.measured()),
                      turn.has_best() ? SpeedupText(turn.best()) : "–",
                      turn.has_best_so_far() ? SpeedupText(turn.best_so_far()) : "–",
                      SpeedupText(turn.median_best_so_far())});
  }
  return PlainTable(task.definition, {"condition", "turn", "timed", "best", "best so far", "median best so far"}, rows);
}

std::string SpeedupPanel(const PageModel& model, const PageTask& task, double fastest, size_t index) {
  const bool alone = task.groups.size() == 1;
  Plot plot(absl::StrCat("sp", index), absl::StrCat("Best speed-up by turn, ", task.definition),
            "The fastest correct candidate with target instructions so far; the table below has the numbers.",
            TurnAxis(TurnsOf(task)), AxisFromZero(fastest, "speed-up"));
  if (fastest > 0.8) plot.HorizontalRule(1, "");
  for (const auto& [condition, group] : task.groups) {
    if (alone) AddDots(MembersOf(model, *group), condition, plot);
    AddSpeedupLines(*group, condition, alone, plot);
  }
  return Figure(absl::StrCat(task.definition, CountsOf(task)), plot.Finish(), SpeedupTable(model, task));
}

double FastestP(const PageModel& model) {
  double fastest = 0;
  for (const v1::GroupReport& group : model.report.groups()) {
    for (const v1::FastP& fast_p : group.fast_p()) {
      if (!fast_p.steps().empty()) fastest = std::max(fastest, fast_p.steps().rbegin()->p());
    }
  }
  return fastest;
}

void AddFastP(const v1::FastP& fast_p, const std::string& classes, double until, Plot& plot) {
  PlotPoints points;
  for (const v1::FastPStep& step : fast_p.steps()) points.emplace_back(step.p(), step.with_target());
  if (points.empty()) return;
  points.emplace_back(until, points.back().second);
  plot.Steps(points, classes);
}

// The largest turn limit is drawn strongest.
const char* LimitClass(int index, int limits) { return index == limits - 1 ? "" : index == limits - 2 ? " t1" : " t0"; }

std::string FastPTable(const PageModel& model, const PageTask& task) {
  std::vector<std::vector<std::string>> rows;
  for (const auto& [condition, group] : task.groups) {
    for (const v1::FastP& fast_p : group->fast_p()) {
      for (const v1::FastPStep& step : fast_p.steps())
        rows.push_back({model.conditions[condition].name, absl::StrCat(fast_p.turn_limit()), SpeedupText(step.p()),
                        PercentText(step.with_target()), PercentText(step.unrestricted())});
    }
  }
  return PlainTable(task.definition, {"condition", "turns", "p from", "with target, %", "any, %"}, rows);
}

std::string FastPPanel(const PageModel& model, const PageTask& task, double fastest, size_t index) {
  const PlotAxis x = AxisFromZero(std::max(1.0, fastest), "p: faster than p times the library");
  const double until = x.high;
  Plot plot(absl::StrCat("fp", index), absl::StrCat("Fast_p, ", task.definition),
            "Share of trajectories with a turn that is correct, has the target instructions and is faster than p.", x,
            PercentAxis("trajectories, %"));
  if (until > 1) plot.VerticalRule(1, "");
  for (const auto& [condition, group] : task.groups) {
    const int limits = group->fast_p_size();
    for (int i = task.groups.size() == 1 ? 0 : limits - 1; i < limits; ++i) {
      AddFastP(group->fast_p(i), absl::StrCat(SeriesClass(condition), LimitClass(i, limits)), until, plot);
    }
  }
  return Figure(absl::StrCat(task.definition, CountsOf(task)), plot.Finish(), FastPTable(model, task));
}

std::string TaskTable(const PageModel& model) {
  std::vector<std::vector<std::string>> rows;
  for (int i = 0; i < model.report.tasks_size(); ++i) {
    for (const v1::FastP& fast_p : model.report.tasks(i).fast_p()) {
      for (const v1::FastPStep& step : fast_p.steps())
        rows.push_back({model.conditions[i].name, absl::StrCat(fast_p.turn_limit()), SpeedupText(step.p()),
                        PercentText(step.with_target()), PercentText(step.unrestricted())});
    }
  }
  return PlainTable("tasks", {"condition", "turns", "p from", "with target, %", "any, %"}, rows);
}

// The share of tasks, each with the best of its trajectories. Conditions come in the same order as report.tasks().
std::string TaskPanel(const PageModel& model, double fastest) {
  const PlotAxis x = AxisFromZero(std::max(1.0, fastest), "p: faster than p times the library");
  Plot plot("fpt", "Fast_p over tasks", "Share of tasks of which one trajectory has such a turn.", x,
            PercentAxis("tasks, %"));
  if (x.high > 1) plot.VerticalRule(1, "");
  for (int i = 0; i < model.report.tasks_size(); ++i) {
    const auto& limits = model.report.tasks(i).fast_p();
    for (int at = model.report.tasks_size() == 1 ? 0 : limits.size() - 1; at < limits.size(); ++at)
      AddFastP(limits[at], absl::StrCat(SeriesClass(i), LimitClass(at, limits.size())), x.high, plot);
  }
  const int tasks = model.report.tasks(0).fast_p().rbegin()->units();
  return Figure(absl::StrCat("all definitions: share of tasks <span class=of>",
                             model.report.tasks_size() == 1 ? absl::StrCat("N = ", tasks) : "", "</span>"),
                plot.Finish(), TaskTable(model));
}

// One line for each turn limit, the largest last and strongest.
std::string TurnLimitLegend(const v1::Report& report) {
  std::string legend = "<ul class=legend>";
  const int limits = report.turn_limits_size();
  for (int i = 0; i < limits; ++i) {
    absl::StrAppend(&legend, "<li><svg class=key viewBox=\"0 0 24 8\" aria-hidden=\"true\"><path class=\"l s0",
                    LimitClass(i, limits), "\" d=\"M0 4H24\"/></svg>within ", report.turn_limits(i),
                    report.turn_limits(i) == 1 ? " turn" : " turns", "</li>");
  }
  return legend + "</ul>";
}

}  // namespace

std::string SpeedupSection(const PageModel& model) {
  double fastest = 0;
  for (const PageTask& task : model.tasks) fastest = std::max(fastest, FastestOf(task));
  if (fastest == 0) return "<p class=note>UNAVAILABLE: no turn that is correct with target instructions was timed.</p>";
  const bool alone = model.conditions.size() == 1;
  std::string section = absl::StrCat(
      "<p>Turns that are correct with target instructions. Strong line: the fastest of all trajectories so far",
      alone
          ? "; thin line: the median over trajectories of each one’s fastest so far (0 without any); dots: single turns"
          : "",
      ". The ruled line at 1 is the vendor library.</p>", SeriesLegend(model), "<div class=panels>");
  for (size_t i = 0; i < std::min(kMaxPanels, model.tasks.size()); ++i)
    absl::StrAppend(&section, SpeedupPanel(model, model.tasks[i], fastest, i));
  return absl::StrCat(section, "</div>", PanelLimitNote(model.tasks.size()));
}

std::string FastPSection(const PageModel& model) {
  const double fastest = FastestP(model);
  const bool alone = model.conditions.size() == 1;
  std::string section = absl::StrCat(
      "<p>Fast<sub>p</sub><sup>Inst</sup>: the share of trajectories that have a turn which is correct, has the target "
      "instructions, and is more than <i>p</i> times as fast as the library. One step down is one trajectory",
      alone ? "." : "; all at the largest turn limit.",
      model.tasks.size() > 1
          ? " The last panel: the share of definitions and workloads of which any trajectory has one."
          : "",
      "</p>", alone ? TurnLimitLegend(model.report) : SeriesLegend(model), "<div class=panels>");
  for (size_t i = 0; i < std::min(kMaxPanels, model.tasks.size()); ++i)
    absl::StrAppend(&section, FastPPanel(model, model.tasks[i], fastest, i));
  if (model.tasks.size() > 1) absl::StrAppend(&section, TaskPanel(model, fastest));
  return absl::StrCat(section, "</div>", PanelLimitNote(model.tasks.size()));
}

}  // namespace sassay::agent
