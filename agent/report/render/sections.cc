#include "agent/report/render/sections.h"

#include <array>
#include <charconv>
#include <cmath>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/suggest.h"
#include "fmt/format.h"

namespace sassay::agent {
namespace {

using Cell = ReportCell;
using Row = std::vector<ReportCell>;

constexpr std::pair<const char*, ReportSection> kSections[] = {
    {"scores", ReportSection::kScores},           {"fastp", ReportSection::kFastP},
    {"transitions", ReportSection::kTransitions}, {"errors", ReportSection::kErrors},
    {"speedups", ReportSection::kSpeedups},       {"reasoning", ReportSection::kReasoning},
    {"stages", ReportSection::kStages},           {"turns", ReportSection::kTurns}};

std::vector<std::string> GroupHeader(const v1::Report& report) {
  std::vector<std::string> header = {"model", "arch", "definition"};
  if (report.groups().empty()) return header;
  for (const v1::ReportKey& key : report.groups(0).group().keys()) header.push_back(key.name());
  return header;
}

Row GroupCells(const v1::ReportGroup& group) {
  Row cells = {Cell::Text(group.model()), Cell::Text(group.arch()), Cell::Text(group.definition())};
  for (const v1::ReportKey& key : group.keys()) cells.push_back(Cell::Text(key.value()));
  return cells;
}

// Adds a row that begins with a group's keys.
void Add(const v1::ReportGroup& group, Row cells, ReportTable& table) {
  Row row = GroupCells(group);
  row.insert(row.end(), cells.begin(), cells.end());
  table.rows.push_back(std::move(row));
}

ReportTable NewTable(const v1::Report& report, std::initializer_list<const char*> columns) {
  ReportTable table{GroupHeader(report), {}};
  table.header.insert(table.header.end(), columns.begin(), columns.end());
  return table;
}

std::optional<double> If(bool has, double value) { return has ? std::optional<double>(value) : std::nullopt; }

ReportTable Scores(const v1::Report& report) {
  ReportTable table =
      NewTable(report, {"trajectories", "turn_limit", "turn_correct_with_target", "turn_correct",
                        "trajectory_rate_with_target", "trajectory_rate", "best_speedup_with_target", "best_speedup"});
  for (const v1::GroupReport& group : report.groups()) {
    for (const v1::TurnLimitScore& s : group.scores()) {
      Add(group.group(),
          {Cell::Count(s.trajectories()), Cell::Count(s.turn_limit()),
           Cell::Share(If(s.has_turn_correct_with_target(), s.turn_correct_with_target())),
           Cell::Share(If(s.has_turn_correct(), s.turn_correct())),
           Cell::Share(If(s.has_trajectory_rate_with_target(), s.trajectory_rate_with_target())),
           Cell::Share(If(s.has_trajectory_rate(), s.trajectory_rate())),
           Cell::Number(If(s.has_best_speedup_with_target(), s.best_speedup_with_target())),
           Cell::Number(If(s.has_best_speedup(), s.best_speedup()))},
          table);
    }
  }
  return table;
}

void AddFastP(const v1::ReportGroup& group, const char* unit, const v1::FastP& fast_p, ReportTable& table) {
  for (const v1::FastPStep& step : fast_p.steps()) {
    Add(group,
        {Cell::Text(unit), Cell::Count(fast_p.units()), Cell::Count(fast_p.turn_limit()), Cell::Number(step.p()),
         Cell::Share(step.with_target()), Cell::Share(step.unrestricted())},
        table);
  }
}

ReportTable FastP(const v1::Report& report) {
  ReportTable table = NewTable(report, {"unit", "units", "turn_limit", "p", "fast_p_with_target", "fast_p"});
  for (const v1::GroupReport& group : report.groups()) {
    for (const v1::FastP& fast_p : group.fast_p()) AddFastP(group.group(), "trajectory", fast_p, table);
  }
  for (const v1::TaskFastP& tasks : report.tasks()) {
    for (const v1::FastP& fast_p : tasks.fast_p()) AddFastP(tasks.condition(), "task", fast_p, table);
  }
  return table;
}

ReportTable Transitions(const v1::Report& report) {
  ReportTable table = NewTable(report, {"from", "to", "count", "share"});
  for (const v1::GroupReport& group : report.groups()) {
    for (const v1::OutcomeTransition& t : group.transitions())
      Add(group.group(), {Cell::Text(t.from()), Cell::Text(t.to()), Cell::Count(t.count()), Cell::Share(t.share())},
          table);
  }
  return table;
}

ReportTable Errors(const v1::Report& report) {
  ReportTable table = NewTable(report, {"turn", "outcome", "count", "share"});
  for (const v1::GroupReport& group : report.groups()) {
    for (const v1::OutcomeCount& o : group.outcomes())
      Add(group.group(),
          {Cell::Count(o.turn()), Cell::Text(o.outcome()), Cell::Count(o.count()), Cell::Share(o.share())}, table);
  }
  return table;
}

ReportTable Speedups(const v1::Report& report) {
  ReportTable table = NewTable(report, {"turn", "measured", "best", "best_so_far", "median_best_so_far"});
  for (const v1::GroupReport& group : report.groups()) {
    for (const v1::SpeedupByTurn& s : group.speedups())
      Add(group.group(),
          {Cell::Count(s.turn()), Cell::Count(s.measured()), Cell::Number(If(s.has_best(), s.best())),
           Cell::Number(If(s.has_best_so_far(), s.best_so_far())), Cell::Number(s.median_best_so_far())},
          table);
  }
  return table;
}

void AddSpread(const v1::Spread& spread, Row& cells) {
  const bool any = spread.count() > 0;
  cells.push_back(Cell::Count(spread.count()));
  for (const double value :
       {spread.minimum(), spread.low_quartile(), spread.median(), spread.high_quartile(), spread.maximum()})
    cells.push_back(Cell::Number(If(any, value)));
}

ReportTable Reasoning(const v1::Report& report) {
  ReportTable table =
      NewTable(report, {"turn", "unit", "turns", "minimum", "low_quartile", "median", "high_quartile", "maximum"});
  for (const v1::GroupReport& group : report.groups()) {
    for (const v1::ReasoningByTurn& r : group.reasoning()) {
      const auto add = [&](const char* unit, const v1::Spread& spread) {
        Row cells = {Cell::Count(r.turn()), Cell::Text(unit)};
        AddSpread(spread, cells);
        Add(group.group(), std::move(cells), table);
      };
      if (r.has_tokens()) add(r.estimated() ? "tokens (estimated)" : "tokens", r.tokens());
      if (r.has_text_bytes()) add("bytes", r.text_bytes());
    }
  }
  return table;
}

ReportTable Stages(const v1::Report& report) {
  ReportTable table = NewTable(report, {"stage", "turns", "minimum_s", "low_quartile_s", "median_s", "high_quartile_s",
                                        "maximum_s", "total_s", "device_s"});
  for (const v1::GroupReport& group : report.groups()) {
    for (const v1::StageTime& stage : group.stages()) {
      Row cells = {Cell::Text(stage.stage())};
      AddSpread(stage.wall_s(), cells);
      cells.push_back(Cell::Number(stage.wall_total_s()));
      cells.push_back(Cell::Number(stage.device_total_s()));
      Add(group.group(), std::move(cells), table);
    }
  }
  return table;
}

template <typename Number>
Cell MaybeCount(const std::optional<Number>& count) {
  return count.has_value() ? Cell::Count(*count) : Cell::Text("");
}

Row TurnCells(const TrajectoryRows& t, const TurnRow& turn) {
  Row row;
  for (const std::string* text :
       {&t.model, &t.label, &t.language, &t.arch, &t.definition, &t.workload, &t.run, &t.prompt, &t.trajectory})
    row.push_back(Cell::Text(*text));
  row.push_back(Cell::Count(turn.number));
  row.push_back(Cell::Text(std::string(OutcomeName(turn.outcome))));
  row.push_back(Cell::Text(turn.code));
  row.push_back(Cell::Count(turn.correct()));
  row.push_back(Cell::Count(turn.with_target()));
  row.push_back(Cell::Number(turn.speedup));
  row.push_back(Cell::Count(!turn.counts()));
  row.push_back(Cell::Text(turn.rules));
  row.push_back(Cell::Text(turn.device));
  row.push_back(MaybeCount(turn.prompt_tokens));
  row.push_back(MaybeCount(turn.completion_tokens));
  row.push_back(MaybeCount(turn.reasoning_tokens));
  row.push_back(MaybeCount(turn.reasoning_bytes));
  row.push_back(Cell::Number(turn.cost_usd));
  for (const std::optional<double>& seconds : turn.stage_s) row.push_back(Cell::Number(seconds));
  row.push_back(Cell::Number(turn.device_s));
  return row;
}

ReportTable Turns(const TurnTable& turns) {
  ReportTable table;
  table.header = {
      "model",           "label",      "language", "arch",    "definition",    "workload",          "run",
      "prompt",          "trajectory", "turn",     "outcome", "code",          "correct",           "with_target",
      "speedup",         "excluded",   "rules",    "device",  "prompt_tokens", "completion_tokens", "reasoning_tokens",
      "reasoning_bytes", "cost_usd"};
  for (size_t i = 0; i < kTurnStages; ++i)
    table.header.push_back(absl::StrCat(StageName(static_cast<TurnStage>(i)), "_s"));
  table.header.push_back("device_s");
  for (const TrajectoryRows& trajectory : turns.trajectories) {
    for (const TurnRow& turn : trajectory.turns) table.rows.push_back(TurnCells(trajectory, turn));
  }
  return table;
}

}  // namespace

std::vector<std::string> SectionNames() {
  std::vector<std::string> names;
  for (const auto& [name, section] : kSections) names.push_back(name);
  return names;
}

absl::StatusOr<ReportSection> ParseSection(const std::string& name) {
  for (const auto& [own, section] : kSections) {
    if (own == name) return section;
  }
  return absl::InvalidArgumentError(absl::StrCat("--section: \"", name, "\" is no section.",
                                                 DidYouMean(name, SectionNames()),
                                                 " Sections: ", absl::StrJoin(SectionNames(), ", ")));
}

ReportCell ReportCell::Count(uint64_t count) {
  ReportCell cell = Text(absl::StrCat(count));
  cell.count_ = true;
  return cell;
}

std::string ReportCell::Exact() const { return number_.has_value() ? ShortestNumber(*number_) : text_; }

std::string ReportCell::Short() const {
  if (!number_.has_value()) return text_.empty() ? "–" : text_;
  if (share_) return fmt::format("{:.1f} %", 100 * *number_);
  return std::abs(*number_) < 1000 ? fmt::format("{:.3f}", *number_) : fmt::format("{:.0f}", *number_);
}

ReportTable SectionTable(ReportSection section, const v1::Report& report, const TurnTable& turns) {
  switch (section) {
    case ReportSection::kScores:
      return Scores(report);
    case ReportSection::kFastP:
      return FastP(report);
    case ReportSection::kTransitions:
      return Transitions(report);
    case ReportSection::kErrors:
      return Errors(report);
    case ReportSection::kSpeedups:
      return Speedups(report);
    case ReportSection::kReasoning:
      return Reasoning(report);
    case ReportSection::kStages:
      return Stages(report);
    case ReportSection::kTurns:
      return Turns(turns);
  }
  return {};
}

std::string ShortestNumber(double value) {
  std::array<char, 32> text;
  const auto [end, error] = std::to_chars(text.data(), text.data() + text.size(), value);
  return std::string(text.data(), end);
}

}  // namespace sassay::agent
