#include "agent/render/diagnosis_sections.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "agent/render/text.h"
#include "common/base/proto_json.h"
#include "common/demangle/demangle.h"
#include "fmt/format.h"

namespace sassay::agent {
namespace {

constexpr int kShownMetrics = 40;
constexpr int kShownHot = 12;
using Rows = std::vector<std::vector<std::string>>;

std::string Title(const Style& style, absl::string_view text) { return absl::StrCat("\n", style.Bold(text), "\n"); }

std::string FindingsText(const v1::SanitizerReport& report) {
  if (report.convicting().empty() && report.advisory().empty()) return "";
  return fmt::format("{} convict, {} advise", report.convicting_size(), report.advisory_size());
}

std::string More(int all, int shown) {
  return all > shown ? absl::StrCat("  and ", all - shown, " more (--json shows all)\n") : "";
}

std::string Metrics(const v1::DiagnosisReport& report) {
  Rows rows;
  std::string section;
  for (int i = 0; i < std::min(kShownMetrics, report.metrics_size()); ++i) {
    const v1::Metric& metric = report.metrics(i);
    const std::string where = absl::StrCat(metric.kernel(), " launch ", metric.launch(), ", ", metric.section());
    rows.push_back({where == section ? "" : PrintableLine(where), PrintableLine(metric.name()),
                    PrintableLine(absl::StrCat(metric.value(), " ", metric.unit()))});
    section = where;
  }
  return absl::StrCat(rows.empty() ? "" : Columns(rows, "  "), More(report.metrics_size(), kShownMetrics));
}

std::string AdviceLines(const v1::DiagnosisReport& report, const Style& style) {
  std::string text;
  for (const v1::Advice& advice : report.advice()) {
    absl::StrAppend(&text, "  ", style.Warn(PrintableLine(advice.rule())), " (", PrintableLine(advice.kernel()),
                    "): ", PrintableLine(advice.text()), "\n");
  }
  return text;
}

std::string Hot(const v1::DiagnosisReport& report) {
  if (report.hot().empty()) return "";
  Rows rows = {{"warps", "threads", "SASS", "source line", "kernel"}};
  for (int i = 0; i < std::min(kShownHot, report.hot_size()); ++i) {
    const v1::HotInstruction& hot = report.hot(i);
    rows.push_back(
        {CountText(hot.warp_count()), CountText(hot.thread_count()), PrintableLine(hot.sass()),
         PrintableLine(absl::StrCat(hot.source_line(), hot.source_text().empty() ? "" : " | ", hot.source_text())),
         PrintableLine(ShortKernelName(hot.kernel()))});
  }
  return absl::StrCat(Columns(rows, "  "), More(report.hot_size(), kShownHot));
}

std::string Files(const v1::DiagnosisReport& report) {
  std::string text;
  for (const v1::Artifact& artifact : report.artifacts()) {
    absl::StrAppend(&text, "  file ", PrintableLine(artifact.name()), ", ", BytesText(artifact.size_bytes()), "\n");
  }
  return text;
}

std::string DiagnosisText(const v1::DiagnosisReport& report, const Style& style) {
  std::string head = absl::StrCat("Diagnosis: ", LowerCase(EnumName(report.kind())));
  std::string text = Title(style, head);
  if (report.outcome() != v1::DiagnosisReport::DONE) {
    return absl::StrCat(text, "  ", style.Warn("UNAVAILABLE"), ": ", PrintableLine(report.reason()), "\n");
  }
  if (!report.reason().empty()) absl::StrAppend(&text, "  ", PrintableLine(report.reason()), "\n");
  for (const std::string& line : report.summary()) absl::StrAppend(&text, "  ", PrintableLine(line), "\n");
  return absl::StrCat(text, Metrics(report), AdviceLines(report, style), Hot(report), Files(report));
}

}  // namespace

std::string SanitizersSection(const v1::Verdict& verdict, const Style& style) {
  if (verdict.sanitizers().empty()) return "";
  Rows rows;
  for (const v1::SanitizerReport& report : verdict.sanitizers()) {
    rows.push_back({PrintableLine(report.tool()), LowerCase(EnumName(report.outcome())), FindingsText(report),
                    report.wall_ns() > 0 ? DurationText(report.wall_ns()) : "-", PrintableLine(report.workload()),
                    PrintableLine(report.reason())});
  }
  return absl::StrCat(Title(style, "Sanitizers"), Columns(rows, "  "));
}

std::string DiagnosesSection(const v1::Verdict& verdict, const Style& style) {
  std::string text;
  for (const v1::DiagnosisReport& report : verdict.diagnoses()) absl::StrAppend(&text, DiagnosisText(report, style));
  return text;
}

}  // namespace sassay::agent
