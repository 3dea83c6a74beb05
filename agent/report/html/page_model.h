// What the parts of a page share: which groups are drawn together, under which names and colours.
#ifndef SASSAY_AGENT_REPORT_HTML_PAGE_MODEL_H_
#define SASSAY_AGENT_REPORT_HTML_PAGE_MODEL_H_

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "agent/report/groups.h"
#include "sassay/v1/report.pb.h"

namespace sassay::agent {

// Groups that differ in their definition alone: one colour.
struct PageCondition {
  // What tells it from the others ("label with-notes"), or of a single one all of it ("Claude Opus 4.8 · hopper");
  // escaped.
  std::string name;
  std::vector<const v1::GroupReport*> groups;
};

// Groups that differ in anything but their definition: one panel.
struct PageTask {
  // Escaped.
  std::string definition;
  // By condition, in the conditions' order.
  std::vector<std::pair<size_t, const v1::GroupReport*>> groups;
};

// Points into the report and the table.
struct PageModel {
  const v1::Report& report;
  // What all conditions share ("Claude Opus 4.8 · hopper"), escaped; may be empty.
  std::string shared_name;
  std::vector<PageCondition> conditions;
  std::vector<PageTask> tasks;
  // The trajectories of report.groups(i).
  std::vector<TurnGroup> members;
  // Of each group, its i and its condition.
  std::map<const v1::GroupReport*, size_t> group_index;
  std::map<const v1::GroupReport*, size_t> condition_of;
};

PageModel MakePageModel(const v1::Report& report, const TurnTable& turns);

// "s0" … "s7" by condition; later conditions begin again, with another dash.
std::string SeriesClass(size_t condition);

// What the conditions' colours mean; empty for a single one.
std::string SeriesLegend(const PageModel& model);

// "c0" … for an outcome's name, and the sign that stands for it where colours do not.
std::string OutcomeClass(const std::string& outcome);
std::string OutcomeGlyph(const std::string& outcome);
// "correct with target" for "CORRECT_WITH_TARGET".
std::string OutcomeWords(const std::string& outcome);
// What colours and signs of outcomes mean, of those that occur in the report.
std::string OutcomeLegend(const v1::Report& report);

// A plot, its caption and the table it was drawn from, which opens on demand. Everything must be escaped.
std::string Figure(const std::string& caption, const std::string& plot, const std::string& table);

// <table> from a header and rows; all escaped. Cells that look like numbers stand at the right.
std::string PlainTable(const std::string& caption, const std::vector<std::string>& header,
                       const std::vector<std::vector<std::string>>& rows);

// Panels drawn at most in one section; more say so and are in the tables and CSV.
inline constexpr size_t kMaxPanels = 120;
// "Only the first 120 of 400 are drawn…", or nothing.
std::string PanelLimitNote(size_t panels);

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_REPORT_HTML_PAGE_MODEL_H_
