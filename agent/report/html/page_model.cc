#include "agent/report/html/page_model.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "agent/report/html/markup.h"

namespace sassay::agent {
namespace {

constexpr size_t kColours = 8;
constexpr size_t kNameBytes = 80;
constexpr size_t kMaxTableRows = 400;
constexpr size_t kMaxLegend = 60;

// Signs in the order of TurnOutcome; all of them are in common fonts.
constexpr std::array<const char*, kTurnOutcomes> kGlyphs = {"●", "○", "≠", "!", "×", "∞", "C",
                                                            "H", "R", "§", "–", "?", "·"};

size_t OutcomeIndex(const std::string& outcome) {
  for (size_t i = 0; i < kTurnOutcomes; ++i) {
    if (OutcomeName(static_cast<TurnOutcome>(i)) == outcome) return i;
  }
  return static_cast<size_t>(TurnOutcome::kOther);
}

// What tells a group from others of another definition, part by part.
std::vector<std::string> ConditionParts(const v1::ReportGroup& group) {
  std::vector<std::string> parts = {Escaped(group.model(), kNameBytes), Escaped(group.arch(), kNameBytes)};
  for (const v1::ReportKey& key : group.keys())
    parts.push_back(
        absl::StrCat(key.name(), " ", key.value().empty() ? std::string("(none)") : Escaped(key.value(), kNameBytes)));
  return parts;
}

// Splits every condition's name into what all of them share, which is the page's name, and its own.
void NameConditions(PageModel& model) {
  if (model.conditions.empty()) return;
  std::vector<std::vector<std::string>> all;
  for (const PageCondition& condition : model.conditions) all.push_back(ConditionParts(condition.groups[0]->group()));
  std::vector<std::string> shared;
  for (size_t part = 0; part < all[0].size(); ++part) {
    const bool same =
        std::all_of(all.begin(), all.end(), [&](const auto& parts) { return parts[part] == all[0][part]; });
    if (same) shared.push_back(all[0][part]);
    for (size_t i = 0; i < all.size() && !same; ++i)
      absl::StrAppend(&model.conditions[i].name, model.conditions[i].name.empty() ? "" : " · ", all[i][part]);
  }
  model.shared_name = absl::StrJoin(shared, " · ");
  if (model.conditions.size() == 1) model.conditions[0].name = model.shared_name;
}

std::string KeyWithoutDefinition(v1::ReportGroup group) {
  group.clear_definition();
  return group.SerializeAsString();
}

bool LooksLikeNumber(const std::string& cell) {
  return !cell.empty() && (absl::ascii_isdigit(cell[0]) || cell[0] == '-' || cell == "–");
}

std::string TableCell(const std::string& text) {
  return absl::StrCat("<td", LooksLikeNumber(text) ? " class=n" : "", ">", text, "</td>");
}

// What a task's trajectories have in common across conditions: its definition.
std::vector<std::string> DefinitionsOf(const v1::Report& report) {
  std::vector<std::string> definitions;
  for (const v1::GroupReport& group : report.groups()) {
    const std::string& own = group.group().definition();
    if (std::find(definitions.begin(), definitions.end(), own) == definitions.end()) definitions.push_back(own);
  }
  std::sort(definitions.begin(), definitions.end());
  return definitions;
}

}  // namespace

PageModel MakePageModel(const v1::Report& report, const TurnTable& turns) {
  PageModel model{report, "", {}, {}, {}, {}, {}};
  std::map<std::string, size_t> conditions;
  std::map<std::string, size_t> tasks;
  for (const std::string& definition : DefinitionsOf(report)) {
    tasks[definition] = model.tasks.size();
    model.tasks.push_back({Escaped(definition, kNameBytes), {}});
  }
  std::vector<std::string> keys;
  for (const v1::GroupReport& group : report.groups()) {
    const auto [found, is_new] = conditions.emplace(KeyWithoutDefinition(group.group()), model.conditions.size());
    if (is_new) model.conditions.emplace_back();
    model.condition_of[&group] = found->second;
    model.group_index[&group] = model.group_index.size();
    model.conditions[found->second].groups.push_back(&group);
    model.tasks[tasks[group.group().definition()]].groups.emplace_back(found->second, &group);
  }
  if (!report.groups().empty()) {
    for (const v1::ReportKey& key : report.groups(0).group().keys()) keys.push_back(key.name());
  }
  model.members = MakeGroups(turns, keys);
  NameConditions(model);
  return model;
}

std::string SeriesClass(size_t condition) {
  const size_t round = condition / kColours;
  return absl::StrCat("s", condition % kColours, round == 0 ? "" : absl::StrCat(" h", std::min<size_t>(round, 3)));
}

std::string SeriesLegend(const PageModel& model) {
  if (model.conditions.size() < 2) return "";
  std::string legend = "<ul class=legend>";
  for (size_t i = 0; i < std::min(kMaxLegend, model.conditions.size()); ++i)
    absl::StrAppend(&legend, "<li><svg class=key viewBox=\"0 0 24 8\" aria-hidden=\"true\"><path class=\"l ",
                    SeriesClass(i), "\" d=\"M0 4H24\"/></svg>", model.conditions[i].name, "</li>");
  if (model.conditions.size() > kMaxLegend)
    absl::StrAppend(&legend, "<li>and ", model.conditions.size() - kMaxLegend, " more</li>");
  return legend + "</ul>";
}

std::string OutcomeClass(const std::string& outcome) { return absl::StrCat("c", OutcomeIndex(outcome)); }

std::string OutcomeGlyph(const std::string& outcome) { return kGlyphs[OutcomeIndex(outcome)]; }

std::string OutcomeWords(const std::string& outcome) {
  return absl::AsciiStrToLower(absl::StrReplaceAll(outcome, {{"_", " "}}));
}

std::string OutcomeLegend(const v1::Report& report) {
  std::set<size_t> seen;
  for (const v1::GroupReport& group : report.groups()) {
    for (const v1::OutcomeCount& outcome : group.outcomes()) seen.insert(OutcomeIndex(outcome.outcome()));
  }
  std::string legend = "<ul class=legend>";
  for (const size_t i : seen) {
    const std::string name(OutcomeName(static_cast<TurnOutcome>(i)));
    absl::StrAppend(&legend, "<li><span class=\"chip c", i, "\" aria-hidden=\"true\">", kGlyphs[i], "</span>",
                    OutcomeWords(name), "</li>");
  }
  return legend + "</ul>";
}

std::string Figure(const std::string& caption, const std::string& plot, const std::string& table) {
  return absl::StrCat("<figure><figcaption>", caption, "</figcaption>", plot,
                      "<details><summary>as a table</summary><div class=scroll tabindex=0>", table,
                      "</div></details></figure>");
}

std::string PlainTable(const std::string& caption, const std::vector<std::string>& header,
                       const std::vector<std::vector<std::string>>& rows) {
  std::string table = absl::StrCat("<table><caption>", caption, "</caption><thead><tr>");
  for (size_t i = 0; i < header.size(); ++i) {
    const bool number = !rows.empty() && i < rows[0].size() && LooksLikeNumber(rows[0][i]);
    absl::StrAppend(&table, "<th scope=col", number ? " class=n" : "", ">", header[i], "</th>");
  }
  absl::StrAppend(&table, "</tr></thead><tbody>");
  for (size_t i = 0; i < std::min(kMaxTableRows, rows.size()); ++i) {
    absl::StrAppend(&table, "<tr>");
    for (const std::string& cell : rows[i]) absl::StrAppend(&table, TableCell(cell));
    absl::StrAppend(&table, "</tr>");
  }
  absl::StrAppend(&table, "</tbody></table>");
  if (rows.size() > kMaxTableRows)
    absl::StrAppend(&table, "<p class=note>The first ", kMaxTableRows, " of ", rows.size(),
                    " rows; <code>--section</code> with <code>--format csv</code> has them all.</p>");
  return table;
}

std::string PanelLimitNote(size_t panels) {
  if (panels <= kMaxPanels) return "";
  return absl::StrCat("<p class=note>Only the first ", kMaxPanels, " of ", panels,
                      " are drawn; <code>--section</code> with <code>--format csv</code> has them all.</p>");
}

}  // namespace sassay::agent
