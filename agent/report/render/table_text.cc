#include "agent/report/render/table_text.h"

#include <algorithm>
#include <functional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "agent/report/scores/statistics.h"
#include "common/terminal/text.h"
#include "fmt/format.h"

namespace sassay::agent {
namespace {

constexpr size_t kMaxCell = 60;

size_t Width(absl::string_view text) {
  return std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; });
}

// Text with its colour, so that columns are aligned by what is seen.
struct Shown {
  std::string text;
  std::function<std::string(absl::string_view)> paint = [](absl::string_view text) { return std::string(text); };
};

using Line = std::vector<Shown>;

// Columns two blanks apart, those in `right` at their right edge. No blanks at a line's end.
std::string Aligned(const std::vector<Line>& lines, const std::set<size_t>& right) {
  std::vector<size_t> widths;
  for (const Line& line : lines) {
    widths.resize(std::max(widths.size(), line.size()));
    for (size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], Width(line[i].text));
  }
  std::string text;
  for (const Line& line : lines) {
    std::string pending;
    for (size_t i = 0; i < line.size(); ++i) {
      const std::string blanks(widths[i] - Width(line[i].text), ' ');
      const std::string painted = line[i].text.empty() ? "" : line[i].paint(line[i].text);
      if (right.count(i) != 0) absl::StrAppend(&pending, blanks);
      if (!painted.empty()) absl::StrAppend(&text, std::exchange(pending, ""), painted);
      if (right.count(i) == 0) absl::StrAppend(&pending, blanks);
      absl::StrAppend(&pending, "  ");
    }
    text += '\n';
  }
  return text;
}

std::string Bounded(const std::string& foreign) {
  std::string text = PrintableLine(foreign);
  if (Width(text) <= kMaxCell) return text;
  size_t end = 0;
  for (size_t seen = 0; end < text.size(); ++end) {
    if ((static_cast<unsigned char>(text[end]) & 0xC0) != 0x80 && ++seen >= kMaxCell) break;
  }
  return text.substr(0, end) + "…";
}

std::string Heading(const v1::ReportGroup& group) {
  std::string heading = absl::StrCat(Bounded(group.model()), " on ", Bounded(group.arch()));
  for (const v1::ReportKey& key : group.keys())
    absl::StrAppend(&heading, ", ", key.name(), " ", key.value().empty() ? "(none)" : Bounded(key.value()));
  return heading;
}

std::string Percent(bool has, double share) { return has ? fmt::format("{:.1f}", 100 * share) : "–"; }
std::string Of(uint32_t part, uint32_t whole) { return whole == 0 ? "" : fmt::format("{}/{}", part, whole); }

Shown Speedup(bool has, double speedup, const Style& style) {
  if (!has) return {"–"};
  Shown shown{fmt::format("{:.3f}", speedup)};
  if (speedup >= 1) shown.paint = [&style](absl::string_view text) { return style.Good(text); };
  if (speedup == 0) shown.paint = [&style](absl::string_view text) { return style.Dim(text); };
  return shown;
}

std::string IntervalText(uint32_t part, uint32_t whole) {
  if (whole == 0) return "";
  const Interval interval = WilsonInterval(part, whole);
  return fmt::format("{:.0f}–{:.0f}", 100 * interval.low, 100 * interval.high);
}

Line ScoreLine(const std::string& definition, const v1::TurnLimitScore& s, const Style& style) {
  const auto dim = [&style](absl::string_view text) { return style.Dim(text); };
  return {{definition, [&style](absl::string_view text) { return style.Name(text); }},
          {absl::StrCat(s.turn_limit())},
          {Percent(s.has_turn_correct_with_target(), s.turn_correct_with_target()),
           [&style](absl::string_view text) { return style.Bold(text); }},
          {Of(s.correct_with_target(), s.turns()), dim},
          {IntervalText(s.correct_with_target(), s.turns()), dim},
          {Percent(s.has_turn_correct(), s.turn_correct())},
          {Percent(s.has_trajectory_rate_with_target(), s.trajectory_rate_with_target())},
          {Of(s.trajectories_with_target(), s.trajectories()), dim},
          {IntervalText(s.trajectories_with_target(), s.trajectories()), dim},
          {Percent(s.has_trajectory_rate(), s.trajectory_rate())},
          Speedup(s.has_best_speedup_with_target(), s.best_speedup_with_target(), style),
          Speedup(s.has_best_speedup(), s.best_speedup(), style)};
}

std::vector<Line> ScoreHeader(const Style& style) {
  std::vector<Line> lines(2);
  const auto add = [&](const char* above, const char* below) {
    const auto dim = [&style](absl::string_view text) { return style.Dim(text); };
    lines[0].push_back({above, dim});
    lines[1].push_back({below, dim});
  };
  add("", "definition");
  add("", "turns");
  add("turns", "correct %");
  add("", "");
  add("", "95 %");
  add("", "(any) %");
  add("traject.", "correct %");
  add("", "");
  add("", "95 %");
  add("", "(any) %");
  add("best", "speed-up");
  add("", "(any)");
  return lines;
}

std::string ConditionText(const std::vector<const v1::GroupReport*>& groups, const Style& style) {
  std::vector<Line> lines = ScoreHeader(style);
  for (const v1::GroupReport* group : groups) {
    bool first = true;
    for (const v1::TurnLimitScore& score : group->scores())
      lines.push_back(ScoreLine(std::exchange(first, false) ? Bounded(group->group().definition()) : "", score, style));
  }
  return absl::StrCat(style.Bold(Heading(groups[0]->group())), "\n",
                      Aligned(lines, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}));
}

std::string Counted(uint64_t count, const char* one, const char* many) {
  return absl::StrCat(CountText(count), " ", count == 1 ? one : many);
}

std::string NotesText(const v1::Report& report, const Style& style) {
  std::string text;
  if (!report.rules().empty()) {
    std::vector<std::string> rules;
    for (const std::string& version : report.rules()) rules.push_back(Bounded(version));
    absl::StrAppend(&text, "Rules: ", absl::StrJoin(rules, ", "), ". ");
  }
  absl::StrAppend(&text, Counted(report.trajectories(), "trajectory", "trajectories"), ", ",
                  Counted(report.turns(), "turn", "turns"), ".\n");
  for (const std::string& note : report.notes())
    absl::StrAppend(&text, style.Warn("note:"), " ", PrintableLine(note), "\n");
  return text;
}

// Groups that differ in their definition alone stand under one heading.
std::vector<std::vector<const v1::GroupReport*>> ByCondition(const v1::Report& report) {
  std::vector<std::vector<const v1::GroupReport*>> conditions;
  std::vector<std::string> keys;
  for (const v1::GroupReport& group : report.groups()) {
    v1::ReportGroup condition = group.group();
    condition.clear_definition();
    const std::string key = condition.SerializeAsString();
    const size_t at = std::find(keys.begin(), keys.end(), key) - keys.begin();
    if (at == keys.size()) {
      keys.push_back(key);
      conditions.emplace_back();
    }
    conditions[at].push_back(&group);
  }
  return conditions;
}

}  // namespace

std::string ScoresText(const v1::Report& report, const Style& style) {
  std::string text;
  for (const auto& groups : ByCondition(report)) absl::StrAppend(&text, ConditionText(groups, style), "\n");
  if (!report.groups().empty()) {
    absl::StrAppend(
        &text,
        style.Dim("correct: with the target instructions seen executing; (any): without asking for "
                  "them. Speed-up over the vendor library; 0: no such turn."),
        "\n",
        style.Dim("95 %: Wilson's interval. Turns of one trajectory depend on each other, so that of turns is too "
                  "narrow; the one over trajectories holds."),
        "\n");
  }
  return absl::StrCat(text, NotesText(report, style));
}

std::string SectionText(const ReportTable& table, const v1::Report& report, const Style& style) {
  std::vector<Line> lines(1);
  std::set<size_t> right;
  for (const std::string& name : table.header)
    lines[0].push_back({name, [&style](absl::string_view text) { return style.Dim(text); }});
  for (const auto& row : table.rows) {
    Line& line = lines.emplace_back();
    for (const ReportCell& cell : row) line.push_back({Bounded(cell.Short())});
    for (size_t i = 0; i < row.size(); ++i) {
      if (row[i].is_number()) right.insert(i);
    }
  }
  return absl::StrCat(Aligned(lines, right), "\n", NotesText(report, style));
}

}  // namespace sassay::agent
