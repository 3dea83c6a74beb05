// Hostile tables of turns: bounds of the reader, and that whatever it takes can be scored and drawn.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "agent/report/html/page.h"
#include "agent/report/make_report.h"
#include "agent/report/read/csv.h"
#include "agent/report/read/published_turns.h"
#include "agent/report/render/csv_text.h"

namespace {

using sassay::agent::CsvField;
using sassay::agent::CsvRow;

constexpr char kHeader[] = "model,arch,definition,workload,trajectory_id,turn,correctness,speedup,correct_with_arch\n";

void CheckBounds(absl::string_view text) {
  const sassay::agent::CsvLimits limits = {100, 12, 200};
  size_t width = 0;
  sassay::agent::ReadCsv(text, limits, [&](const CsvRow& row) {
    if (row.size() > limits.max_fields || (width != 0 && row.size() != width)) std::abort();
    width = row.size();
    for (const CsvField& field : row) {
      if (field.text.size() > limits.max_field_bytes || field.line == 0 || field.column == 0) std::abort();
    }
    return absl::OkStatus();
  }).IgnoreError();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view text(reinterpret_cast<const char*>(data), size);
  CheckBounds(text);
  sassay::agent::TurnTable table;
  if (!sassay::agent::ReadPublishedTurns(absl::StrCat(kHeader, text), "fuzz", 8, table).ok()) return 0;
  const auto report = sassay::agent::MakeReport(table, {});
  if (!report.ok()) std::abort();
  if (sassay::agent::HtmlPage(*report, table).find("<script") != std::string::npos) std::abort();
  sassay::agent::CsvText(sassay::agent::SectionTable(sassay::agent::ReportSection::kScores, *report, table));
  return 0;
}
