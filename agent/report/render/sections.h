// A report's sections as plain tables: one form for CSV, for terminals and for pages.
#ifndef SASSAY_AGENT_REPORT_RENDER_SECTIONS_H_
#define SASSAY_AGENT_REPORT_RENDER_SECTIONS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "agent/report/turn_table.h"
#include "sassay/v1/report.pb.h"

namespace sassay::agent {

// What a report can be asked for.
enum class ReportSection { kScores, kFastP, kTransitions, kErrors, kSpeedups, kReasoning, kStages, kTurns };

// "scores", "fastp", "transitions", "errors", "speedups", "reasoning", "stages", "turns".
std::vector<std::string> SectionNames();
// INVALID_ARGUMENT names what is not known.
absl::StatusOr<ReportSection> ParseSection(const std::string& name);

// One value. What is absent is an empty field, never a number.
class ReportCell {
 public:
  static ReportCell Text(std::string text) { return ReportCell(std::move(text), std::nullopt, false); }
  static ReportCell Count(uint64_t count);
  static ReportCell Number(std::optional<double> number) { return ReportCell("", number, false); }
  // A share of 1, which people read in per cent.
  static ReportCell Share(std::optional<double> share) { return ReportCell("", share, true); }

  // Stands at the right of its column.
  bool is_number() const { return number_.has_value() || count_; }
  // Numbers in full: the shortest text that reads back as the same value.
  std::string Exact() const;
  // Numbers for people: three decimals, shares as "91.7 %", "–" for what is absent.
  std::string Short() const;

 private:
  ReportCell(std::string text, std::optional<double> number, bool share)
      : text_(std::move(text)), number_(number), share_(share) {}
  std::string text_;
  std::optional<double> number_;
  bool share_;
  bool count_ = false;
};

// A header and rows of its width.
struct ReportTable {
  std::vector<std::string> header;
  std::vector<std::vector<ReportCell>> rows;
};

// One section; kTurns needs the turns themselves. The first columns are model, arch, definition and the keys of
// --group-by.
ReportTable SectionTable(ReportSection section, const v1::Report& report, const TurnTable& turns);

// The shortest text that reads back as the same value.
std::string ShortestNumber(double value);

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_REPORT_RENDER_SECTIONS_H_
