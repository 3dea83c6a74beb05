#include "agent/report/render/csv_text.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace sassay::agent {
namespace {

std::string CsvFieldText(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  return absl::StrCat("\"", absl::StrReplaceAll(text, {{"\"", "\"\""}}), "\"");
}

}  // namespace

std::string CsvText(const ReportTable& table) {
  std::string text;
  const auto end_row = [&] { text.back() = '\n'; };
  for (const std::string& name : table.header) absl::StrAppend(&text, CsvFieldText(name), ",");
  end_row();
  for (const auto& row : table.rows) {
    for (const ReportCell& cell : row) absl::StrAppend(&text, CsvFieldText(cell.Exact()), ",");
    end_row();
  }
  return text;
}

}  // namespace sassay::agent
