#include "agent/feedback/fault_sections.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "agent/feedback/quote.h"
#include "agent/render/text.h"
#include "common/base/proto_json.h"
#include "common/demangle/demangle.h"
#include "fmt/format.h"

namespace sassay::agent {
namespace {

constexpr int kMostErrors = 20;
constexpr int kMostWarnings = 10;
constexpr int kMostFindings = 10;
constexpr int kMostWarps = 12;
constexpr size_t kOutputLines = 16;
constexpr uint32_t kNearby = 2;

Rank RankOf(int index) {
  if (index == 0) return Rank::kCause;
  return index < 4 ? Rank::kHelp : Rank::kContext;
}

std::string DiagnosticText(const v1::Diagnostic& diagnostic, const SourceExcerpts& excerpts, uint32_t context) {
  std::string place = InertLine(diagnostic.file(), 120);
  if (diagnostic.line() > 0) absl::StrAppend(&place, ":", diagnostic.line());
  if (diagnostic.column() > 0) absl::StrAppend(&place, ":", diagnostic.column());
  return absl::StrCat(place, place.empty() ? "" : ": ", InertLine(diagnostic.severity(), 20), ": ",
                      InertLine(diagnostic.message()),
                      diagnostic.tool().empty() ? "" : absl::StrCat(" [", InertLine(diagnostic.tool(), 20), "]"), "\n",
                      excerpts.Around({diagnostic.file(), diagnostic.line()}, diagnostic.source_text(), context));
}

std::string PlaceText(const v1::ThreadLocation& where) {
  std::string text = absl::StrCat("block ", Dim3Text(where.block()), ", thread ", Dim3Text(where.thread()), " of ",
                                  InertLine(ShortKernelName(where.kernel()), 120));
  if (!where.source_line().empty()) absl::StrAppend(&text, " at ", InertLine(where.source_line(), 120));
  return text;
}

std::string LocationText(const v1::ThreadLocation& where, const SourceExcerpts& excerpts, absl::string_view label) {
  const std::vector<SourcePlace> places = PlacesIn(where.source_line(), 1);
  std::string text =
      absl::StrCat("  ", label, PlaceText(where), "\n",
                   excerpts.Around(places.empty() ? SourcePlace() : places[0], where.source_text(), kNearby));
  if (where.ptx_text().empty()) return text;
  return absl::StrCat(text, "  PTX: ", InertLine(where.ptx_text(), 160), "\n");
}

std::string FindingText(const v1::Finding& finding, const SourceExcerpts& excerpts) {
  std::string text = absl::StrCat(EnumName(finding.code()), ": ", InertLine(finding.message()));
  if (finding.count() > 1) absl::StrAppend(&text, " (seen ", CountText(finding.count()), " times or more)");
  absl::StrAppend(&text, "\n");
  if (finding.has_where()) absl::StrAppend(&text, LocationText(finding.where(), excerpts, "by "));
  if (finding.has_other()) absl::StrAppend(&text, LocationText(finding.other(), excerpts, "other side: "));
  return text;
}

// Of findings at the same lines the first says it all.
using FindingKey = std::tuple<int, std::string, std::string, std::string>;
FindingKey KeyOf(const v1::Finding& finding) {
  const auto [first, second] = std::minmax(finding.where().source_line(), finding.other().source_line());
  return {finding.code(), first, second, finding.where().source_line().empty() ? finding.message() : finding.buffer()};
}

std::vector<const v1::Finding*> Distinct(const google::protobuf::RepeatedPtrField<v1::Finding>& findings) {
  std::set<FindingKey> seen;
  std::vector<const v1::Finding*> distinct;
  for (const v1::Finding& finding : findings)
    if (seen.insert(KeyOf(finding)).second) distinct.push_back(&finding);
  return distinct;
}

std::string WarpText(const v1::WarpState& warp, const SourceExcerpts& excerpts) {
  std::string text =
      fmt::format("{} warp{} {} (first: block {}, warp {})", CountText(warp.count()), warp.count() == 1 ? "" : "s",
                  InertLine(warp.state(), 300), Dim3Text(warp.where().block()), warp.warp());
  if (!warp.where().source_line().empty()) absl::StrAppend(&text, " at ", InertLine(warp.where().source_line(), 120));
  absl::StrAppend(&text, "\n");
  const std::vector<SourcePlace> places = PlacesIn(warp.where().source_line(), 1);
  absl::StrAppend(&text, excerpts.Around(places.empty() ? SourcePlace() : places[0], warp.where().source_text(), 1));
  const std::string& instruction = warp.sass().empty() ? warp.where().ptx_text() : warp.sass();
  if (!instruction.empty())
    absl::StrAppend(&text, warp.sass().empty() ? "  PTX: " : "  SASS: ", InertLine(instruction, 160), "\n");
  return text;
}

std::string TensorText(const char* role, const v1::TensorSpec& tensor) {
  if (tensor.scalar()) return "";
  return fmt::format("  {} {}: {} [{}]\n", role, InertLine(tensor.name(), 80), LowerCase(EnumName(tensor.dtype())),
                     absl::StrJoin(tensor.shape(), ", "));
}

std::string More(int all, int shown, const char* what) {
  return all > shown ? absl::StrCat("and ", all - shown, " more ", what, "\n") : "";
}

}  // namespace

void AddDiagnostics(const v1::VerdictDetails& details, const SourceExcerpts& excerpts, Composer& composer) {
  composer.Section("Compiler messages");
  int errors = 0;
  int others = 0;
  for (const v1::Diagnostic& diagnostic : details.diagnostics()) {
    const bool error = diagnostic.severity() == "error";
    int& count = error ? errors : others;
    if (++count > (error ? kMostErrors : kMostWarnings)) continue;
    composer.Add(error ? RankOf(count - 1) : Rank::kDetail,
                 DiagnosticText(diagnostic, excerpts, error && count == 1 ? kNearby : 0));
  }
  composer.Add(Rank::kDetail, More(errors, kMostErrors, "errors") + More(others, kMostWarnings, "warnings and notes"));
}

void AddFindings(const v1::VerdictDetails& details, const SourceExcerpts& excerpts, Composer& composer) {
  composer.Section("Findings");
  const std::vector<const v1::Finding*> findings = Distinct(details.findings());
  const int count = static_cast<int>(findings.size());
  for (int i = 0; i < std::min(kMostFindings, count); ++i)
    composer.Add(RankOf(i), FindingText(*findings[static_cast<size_t>(i)], excerpts));
  composer.Add(Rank::kDetail, More(count, kMostFindings, "findings"));
}

void AddWarps(const v1::VerdictDetails& details, const SourceExcerpts& excerpts, Composer& composer) {
  composer.Section("Where the warps stand");
  for (int i = 0; i < std::min(kMostWarps, details.warps_size()); ++i)
    composer.Add(i < 4 ? Rank::kCause : Rank::kHelp, WarpText(details.warps(i), excerpts));
  composer.Add(Rank::kDetail, More(details.warps_size(), kMostWarps, "groups of warps"));
}

void AddAdvisoryFindings(const v1::Verdict& verdict, const SourceExcerpts& excerpts, Composer& composer) {
  composer.Section("Tools that may be right or wrong also say");
  int count = 0;
  for (const v1::SanitizerReport& report : verdict.sanitizers()) {
    for (const v1::Finding* finding : Distinct(report.advisory())) {
      if (++count > kMostFindings) return;
      composer.Add(Rank::kContext,
                   absl::StrCat("[", InertLine(report.tool(), 30), "] ", FindingText(*finding, excerpts)));
    }
  }
}

void AddDeviceOutput(const v1::VerdictDetails& details, Composer& composer) {
  if (details.device_output().empty()) return;
  composer.Section("Your kernels printed (quoted)");
  composer.Add(Rank::kHelp, QuotedBlock(details.device_output(), kOutputLines));
}

void AddTensors(const v1::Workload& workload, Composer& composer) {
  composer.Section("Tensors, row-major and contiguous");
  std::string text;
  for (const v1::TensorSpec& tensor : workload.inputs()) absl::StrAppend(&text, TensorText("input ", tensor));
  for (const v1::TensorSpec& tensor : workload.outputs()) absl::StrAppend(&text, TensorText("output", tensor));
  composer.Add(Rank::kContext, std::move(text));
}

}  // namespace sassay::agent
