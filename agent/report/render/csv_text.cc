#include "agent/report/render/csv_text.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/terminal/text.h"

namespace sassay::agent {
namespace {

// What makes a spreadsheet take a cell for a formula (OWASP, CSV injection); the wide forms count in some locales.
bool LooksLikeFormula(absl::string_view text) {
  constexpr const char* kBeginnings[] = {"=", "+", "-", "@", "\t", "＝", "＋", "－", "＠"};
  return std::any_of(std::begin(kBeginnings), std::end(kBeginnings),
                     [&](const char* beginning) { return absl::StartsWith(text, beginning); });
}

std::string Quoted(std::string text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  return absl::StrCat("\"", absl::StrReplaceAll(text, {{"\"", "\"\""}}), "\"");
}

std::string FieldOf(const ReportCell& cell) {
  if (cell.is_number()) return cell.Exact();
  const std::string text = Printable(cell.Exact());
  return Quoted(LooksLikeFormula(text) ? absl::StrCat("'", text) : text);
}

}  // namespace

std::string CsvText(const ReportTable& table) {
  std::string text;
  const auto end_row = [&] { text.back() = '\n'; };
  for (const std::string& name : table.header) absl::StrAppend(&text, Quoted(name), ",");
  end_row();
  for (const auto& row : table.rows) {
    for (const ReportCell& cell : row) absl::StrAppend(&text, FieldOf(cell), ",");
    end_row();
  }
  return text;
}

}  // namespace sassay::agent
