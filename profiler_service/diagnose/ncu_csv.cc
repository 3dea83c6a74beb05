#include "profiler_service/diagnose/ncu_csv.h"

#include <csv.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "common/base/status_macros.h"
#include "common/demangle/demangle.h"

namespace sassay::diagnose {
namespace {

using sassay::v1::Advice;
using sassay::v1::DiagnosisReport;
using sassay::v1::Metric;

using Row = std::vector<std::string>;

constexpr size_t kMaxRows = 20'000;
constexpr size_t kMaxTextBytes = 1'000;
// A name must be whole to be demangled; what is shown of it is not long.
constexpr size_t kMaxFieldBytes = 64 << 10;
constexpr size_t kMaxNameBytes = 200;

// What tells most about a launch, with the words for a summary.
constexpr std::pair<const char*, const char*> kHeadlines[] = {{"Duration", "takes"},
                                                              {"Compute (SM) Throughput", "compute"},
                                                              {"Memory Throughput", "memory"},
                                                              {"Achieved Occupancy", "occupancy"},
                                                              {"No Eligible", "no eligible warp"}};

struct Reader {
  std::vector<Row> rows = {{}};

  static void OnField(void* text, size_t size, void* self) {
    absl::string_view field(static_cast<const char*>(text), text == nullptr ? 0 : size);
    static_cast<Reader*>(self)->rows.back().emplace_back(field.substr(0, kMaxFieldBytes));
  }
  static void OnRow(int, void* self) {
    auto& rows = static_cast<Reader*>(self)->rows;
    if (rows.size() < kMaxRows) rows.emplace_back();
    rows.back().clear();
  }
};

std::vector<Row> ReadRows(absl::string_view text) {
  Reader reader;
  csv_parser parser;
  if (csv_init(&parser, 0) != 0) return {};
  csv_parse(&parser, text.data(), text.size(), Reader::OnField, Reader::OnRow, &reader);
  csv_fini(&parser, Reader::OnField, Reader::OnRow, &reader);
  csv_free(&parser);
  return std::move(reader.rows);
}

// The tool's own messages come first.
absl::string_view FromHeader(absl::string_view text) {
  const size_t at = text.find("\"ID\",");
  return at == text.npos ? absl::string_view() : text.substr(at);
}

class Page {
 public:
  Page(const Row& header, DiagnosisReport& report) : report_(report) {
    for (size_t i = 0; i < header.size(); ++i) columns_.emplace(header[i], i);
  }

  void Take(const Row& row) {
    uint32_t id = 0;
    if (!absl::SimpleAtoi(Cell(row, "ID"), &id)) return;
    const uint32_t launch = ordinals_.emplace(id, static_cast<uint32_t>(ordinals_.size())).first->second;
    if (!Cell(row, "Metric Name").empty()) TakeMetric(row, launch);
    // Others tell that a metric was not collected.
    if (Cell(row, "Rule Type") == "OPT") TakeAdvice(row, launch);
  }

  void Summarise() {
    std::map<uint32_t, std::pair<std::string, std::vector<std::string>>> launches;
    for (const Metric& metric : report_.metrics()) {
      auto& [kernel, parts] = launches[metric.launch()];
      kernel = metric.kernel();
      for (const auto& [name, word] : kHeadlines) {
        if (metric.name() == name) AddOnce(parts, absl::StrCat(word, " ", metric.value(), " ", metric.unit()));
      }
    }
    for (const auto& [launch, line] : launches) {
      report_.add_summary(absl::StrCat(line.first, ", launch ", launch, ": ", absl::StrJoin(line.second, ", ")));
    }
  }

  bool empty() const { return ordinals_.empty(); }

 private:
  // "Memory Throughput" is a share in one section and bytes per second in another: the first one counts.
  static void AddOnce(std::vector<std::string>& parts, const std::string& part) {
    const std::string word = part.substr(0, part.find(' '));
    for (const std::string& known : parts) {
      if (absl::StartsWith(known, absl::StrCat(word, " "))) return;
    }
    parts.push_back(part);
  }

  const std::string& Cell(const Row& row, const char* column) const {
    static const std::string* const none = new std::string();
    const auto found = columns_.find(column);
    return found == columns_.end() || found->second >= row.size() ? *none : row[found->second];
  }

  std::string Text(const Row& row, const char* column) const { return Cell(row, column).substr(0, kMaxTextBytes); }

  std::string Kernel(const Row& row) const {
    const std::string& symbol = Cell(row, "Kernel Name");
    const std::string name = ShortKernelName(symbol);
    return (name.empty() ? symbol : name).substr(0, kMaxNameBytes);
  }

  void TakeMetric(const Row& row, uint32_t launch) {
    if (report_.metrics_size() == kMaxMetrics) return;
    Metric& metric = *report_.add_metrics();
    metric.set_kernel(Kernel(row));
    metric.set_launch(launch);
    metric.set_section(Text(row, "Section Name"));
    metric.set_name(Text(row, "Metric Name"));
    metric.set_unit(Text(row, "Metric Unit"));
    metric.set_value(absl::StrReplaceAll(Text(row, "Metric Value"), {{",", ""}}));
  }

  void TakeAdvice(const Row& row, uint32_t launch) {
    if (report_.advice_size() == kMaxAdvice) return;
    Advice& advice = *report_.add_advice();
    advice.set_kernel(Kernel(row));
    advice.set_launch(launch);
    advice.set_rule(Text(row, "Rule Name"));
    advice.set_text(Text(row, "Rule Description"));
  }

  DiagnosisReport& report_;
  std::map<std::string, size_t> columns_;
  std::map<uint32_t, uint32_t> ordinals_;  // the tool's number of a launch, ours
};

}  // namespace

absl::Status ReadNcuCsv(absl::string_view untrusted_csv, DiagnosisReport& report) {
  const std::vector<Row> rows = ReadRows(FromHeader(untrusted_csv));
  if (rows.empty() || rows.front().size() < 2) {
    return absl::DataLossError(absl::StrCat("expected Nsight Compute's details page as CSV, got ", untrusted_csv.size(),
                                            " bytes without a header that begins with \"ID\""));
  }
  Page page(rows.front(), report);
  for (size_t i = 1; i < rows.size(); ++i) page.Take(rows[i]);
  if (page.empty()) return absl::NotFoundError("Nsight Compute profiled no launch");
  page.Summarise();
  return absl::OkStatus();
}

}  // namespace sassay::diagnose
