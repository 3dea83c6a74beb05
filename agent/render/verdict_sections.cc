#include "agent/render/verdict_sections.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "agent/render/text.h"
#include "common/base/proto_json.h"
#include "common/demangle/demangle.h"
#include "fmt/format.h"

namespace sassay::agent {
namespace {

constexpr int kShownOpcodes = 6;
constexpr int kShownLaunches = 8;
using Rows = std::vector<std::vector<std::string>>;

std::string Title(const Style& style, absl::string_view text) { return absl::StrCat("\n", style.Bold(text), "\n"); }

std::string SourceLine(absl::string_view place, absl::string_view text) {
  if (text.empty()) return "";
  return absl::StrCat("      ", place, " | ", PrintableLine(text), "\n");
}

std::string LocationLines(const v1::ThreadLocation& where, const Style& style, absl::string_view label) {
  std::string lines = absl::StrCat("    ", label, style.Name(PrintableLine(ShortKernelName(where.kernel()))), " block ",
                                   Dim3Text(where.block()), " thread ", Dim3Text(where.thread()));
  if (!where.source_line().empty()) absl::StrAppend(&lines, " at ", PrintableLine(where.source_line()));
  absl::StrAppend(&lines, "\n", SourceLine(PrintableLine(where.source_line()), where.source_text()));
  return absl::StrCat(lines, SourceLine(absl::StrCat("PTX line ", where.ptx_line()), where.ptx_text()));
}

// PTX from the emulator, SASS with its place out of a core dump.
std::string InstructionText(const v1::WarpState& warp) {
  if (warp.sass().empty()) return PrintableLine(warp.where().ptx_text());
  const std::string& symbol = warp.function().empty() ? warp.where().kernel() : warp.function();
  return fmt::format("{}+0x{:x}: {}", PrintableLine(ShortKernelName(symbol)), warp.pc(), PrintableLine(warp.sass()));
}

std::string DiagnosticLines(const v1::Diagnostic& diagnostic, const Style& style) {
  std::string place = PrintableLine(diagnostic.file());
  if (diagnostic.line() > 0) absl::StrAppend(&place, ":", diagnostic.line());
  if (diagnostic.column() > 0) absl::StrAppend(&place, ":", diagnostic.column());
  const std::string severity = PrintableLine(diagnostic.severity());
  std::string text = absl::StrCat("  ", place.empty() ? "" : place + ": ",
                                  severity == "error" ? style.Bad(severity) : style.Warn(severity), ": ",
                                  PrintableLine(diagnostic.message()));
  if (!diagnostic.tool().empty())
    absl::StrAppend(&text, " ", style.Dim(absl::StrCat("[", PrintableLine(diagnostic.tool()), "]")));
  return absl::StrCat(
      text, "\n",
      diagnostic.source_text().empty() ? "" : absl::StrCat("      | ", PrintableLine(diagnostic.source_text()), "\n"));
}

std::string FindingLines(const v1::Finding& finding, int number, const Style& style) {
  std::string text =
      fmt::format("  {}. {}: {}", number, style.Bad(EnumName(finding.code())), PrintableLine(finding.message()));
  if (finding.count() > 1) absl::StrAppend(&text, " (", CountText(finding.count()), " times)");
  absl::StrAppend(&text, "\n");
  if (finding.has_where()) absl::StrAppend(&text, LocationLines(finding.where(), style, ""));
  if (finding.has_other()) absl::StrAppend(&text, LocationLines(finding.other(), style, "other side: "));
  return text;
}

std::string SeriesCell(const v1::TimingSeries& series) {
  return fmt::format("{} [{} .. {}], {} samples", DurationText(series.median_ns()),
                     DurationText(series.median_low_ns()), DurationText(series.median_high_ns()),
                     series.samples_ns_size());
}

std::string ClockText(const v1::Timing& timing) {
  if (timing.sm_clock_max_mhz() == 0) return "";
  std::string text = fmt::format("{}-{} MHz", timing.sm_clock_min_mhz(), timing.sm_clock_max_mhz());
  if (timing.clock_event_reasons() != 0)
    absl::StrAppend(&text, fmt::format(", clock event reasons 0x{:x}", timing.clock_event_reasons()));
  return text;
}

std::string BaselineText(const v1::Timing& timing) {
  const v1::BaselineProgram& program = timing.baseline_program();
  std::vector<std::string> parts;
  for (const std::string* text : {&program.library(), &program.version(), &program.algorithm()}) {
    if (!text->empty()) parts.push_back(PrintableLine(*text));
  }
  return absl::StrJoin(parts, ", ");
}

// Why there is a time and no speedup.
std::string NoSpeedupText(const v1::Timing& timing) {
  if (timing.status() == v1::Timing::UNAVAILABLE || timing.no_speedup_reason().empty()) return "";
  return absl::StrCat("none: ", PrintableLine(timing.no_speedup_reason()));
}

std::string BlocksText(const v1::Timing& timing) {
  if (timing.blocks() == 0) return "";
  return fmt::format("{}, {} void; {} timed outputs checked; {} sets of tensors", timing.blocks(), timing.void_blocks(),
                     timing.checked_calls(), timing.tensor_sets());
}

std::string FloorText(const v1::Timing& timing) {
  return timing.floor().floor_ns() > 0 ? absl::StrCat(DurationText(timing.floor().floor_ns()), " on this GPU") : "";
}

std::string HistoryText(const v1::Timing& timing) {
  const v1::BaselineHistory& history = timing.baseline_history();
  if (history.measurements() == 0) return "";
  return fmt::format("{} in {} earlier measurements on this GPU, {} now", DurationText(history.median_ns()),
                     history.measurements(), DurationText(history.measured_ns()));
}

std::string VoidedText(const v1::Timing& timing) {
  std::vector<std::string> parts;
  for (const auto& [reason, count] : timing.voided_samples())
    parts.push_back(fmt::format("{} {}", count, PrintableLine(reason)));
  std::sort(parts.begin(), parts.end());
  return absl::StrJoin(parts, ", ");
}

std::string ShareLine(const v1::Evidence& evidence) {
  if (evidence.has_tensor_core_flop_share()) {
    return fmt::format("  tensor cores did {:.1f} % of the workload's FLOPs\n",
                       100 * evidence.tensor_core_flop_share());
  }
  if (evidence.tensor_core_flop_share_reason().empty()) return "";
  return absl::StrCat("  tensor cores' share of the workload's FLOPs: unknown (",
                      PrintableLine(evidence.tensor_core_flop_share_reason()), ")\n");
}

std::string OpcodeLines(const v1::Evidence& evidence) {
  if (evidence.opcodes().empty()) return "";
  Rows rows = {{"opcode", "family", "warp executions", "thread executions", "kernel"}};
  for (int i = 0; i < std::min(kShownOpcodes, evidence.opcodes_size()); ++i) {
    const v1::OpcodeCount& opcode = evidence.opcodes(i);
    rows.push_back({PrintableLine(opcode.opcode()), PrintableLine(opcode.family()), CountText(opcode.warp_count()),
                    CountText(opcode.thread_count()), PrintableLine(ShortKernelName(opcode.kernel()))});
  }
  const int hidden = evidence.opcodes_size() - kShownOpcodes;
  return absl::StrCat(Columns(rows, "  "),
                      hidden > 0 ? absl::StrCat("  and ", hidden, " more opcodes (--json shows all)\n") : "");
}

std::string FamilyText(const v1::LaunchEvidence& launch) {
  std::map<std::string, uint64_t> sorted(launch.family_thread_counts().begin(), launch.family_thread_counts().end());
  std::vector<std::string> parts;
  for (const auto& [family, threads] : sorted)
    parts.push_back(absl::StrCat(PrintableLine(family), " ", CountText(threads)));
  return parts.empty() ? "none" : absl::StrJoin(parts, ", ");
}

// One launch says nothing that the opcodes do not.
std::string LaunchLines(const v1::Evidence& evidence) {
  if (evidence.launches_size() < 2) return "";
  Rows rows = {{"launch", "kernel", "warp instructions", "thread executions by family"}};
  for (int i = 0; i < std::min(kShownLaunches, evidence.launches_size()); ++i) {
    const v1::LaunchEvidence& launch = evidence.launches(i);
    rows.push_back({launch.launches() > 1 ? fmt::format("{} and {} later", launch.launch(), launch.launches() - 1)
                                          : absl::StrCat(launch.launch()),
                    PrintableLine(ShortKernelName(launch.kernel())), CountText(launch.warp_instructions()),
                    FamilyText(launch)});
  }
  const int hidden = evidence.launches_size() - kShownLaunches;
  return absl::StrCat(Columns(rows, "  "),
                      hidden > 0 ? absl::StrCat("  and ", hidden, " more launches (--json shows all)\n") : "");
}

void AddRow(Rows& rows, const std::string& name, const std::string& text) {
  if (!text.empty()) rows.push_back({name, text});
}

}  // namespace

std::string DiagnosticsSection(const v1::VerdictDetails& details, const Style& style) {
  if (details.diagnostics().empty()) return "";
  std::string text = Title(style, "Diagnostics");
  for (const v1::Diagnostic& diagnostic : details.diagnostics())
    absl::StrAppend(&text, DiagnosticLines(diagnostic, style));
  return text;
}

std::string FindingsSection(const v1::VerdictDetails& details, const Style& style) {
  if (details.findings().empty()) return "";
  std::string text = Title(style, "Findings");
  int number = 0;
  for (const v1::Finding& finding : details.findings()) absl::StrAppend(&text, FindingLines(finding, ++number, style));
  return text;
}

std::string WarpsSection(const v1::VerdictDetails& details, const Style& style) {
  if (details.warps().empty()) return "";
  Rows rows = {{"warps", "state", "source line", "first one", "instruction"}};
  for (const v1::WarpState& warp : details.warps()) {
    rows.push_back({CountText(warp.count()), PrintableLine(warp.state()), PrintableLine(warp.where().source_line()),
                    fmt::format("block {} warp {}", Dim3Text(warp.where().block()), warp.warp()),
                    InstructionText(warp)});
  }
  return absl::StrCat(Title(style, "Where the warps stand"), Columns(rows, "  "));
}

std::string NumericsSection(const v1::Numerics& numerics, const Style& style) {
  if (numerics.outputs().empty()) return "";
  Rows rows = {{"output", "wrong", "of", "not finite", "unwritten", "worst element", "expected", "actual", "rel. RMS",
                "allowed"}};
  std::string patterns;
  for (const v1::OutputComparison& output : numerics.outputs()) {
    const std::string name = PrintableLine(output.output());
    rows.push_back({name, CountText(output.wrong()), CountText(output.elements()), CountText(output.non_finite()),
                    CountText(output.unwritten()), absl::StrCat("[", absl::StrJoin(output.worst_index(), ", "), "]"),
                    NumberText(output.worst_expected()), NumberText(output.worst_actual()),
                    fmt::format("{:.2e}", output.relative_rms_error()),
                    fmt::format("{:.2e}", output.allowed_relative_rms_error())});
    if (!output.pattern().empty())
      absl::StrAppend(&patterns, "  ", name, ": ", style.Warn(PrintableLine(output.pattern())), "\n");
  }
  const std::string inputs = PrintableLine(absl::StrJoin(numerics.distributions(), ", "));
  std::string text = absl::StrCat(Title(style, "Numerics"), Columns(rows, "  "), patterns);
  if (!inputs.empty()) {
    absl::StrAppend(&text, "  inputs tried: ", inputs, "; shown: ", PrintableLine(numerics.worst_distribution()), "\n");
  }
  return absl::StrCat(text, "  PTXBench's rule: ", numerics.peer_rule_passed() ? "passed" : "failed", "\n");
}

std::string EvidenceSection(const v1::Evidence& evidence, const Style& style) {
  if (evidence.status() == v1::Evidence::STATUS_UNSPECIFIED) return "";
  std::string head = EnumName(evidence.status());
  if (!evidence.reason().empty()) absl::StrAppend(&head, " (", PrintableLine(evidence.reason()), ")");
  return absl::StrCat(Title(style, "Evidence"), "  ", head, "\n", ShareLine(evidence), OpcodeLines(evidence),
                      LaunchLines(evidence));
}

std::string TimingSection(const v1::Timing& timing, const Style& style) {
  if (timing.status() == v1::Timing::STATUS_UNSPECIFIED) return "";
  std::string head = EnumName(timing.status());
  if (!timing.reason().empty()) absl::StrAppend(&head, " (", PrintableLine(timing.reason()), ")");
  Rows rows;
  if (timing.has_candidate()) AddRow(rows, "candidate", SeriesCell(timing.candidate()));
  if (timing.has_baseline()) AddRow(rows, "baseline", SeriesCell(timing.baseline()));
  if (timing.speedup() > 0) {
    AddRow(rows, "speedup",
           fmt::format("{:.3f}x [{:.3f} .. {:.3f}]", timing.speedup(), timing.speedup_low(), timing.speedup_high()));
  }
  AddRow(rows, "speedup", NoSpeedupText(timing));
  AddRow(rows, "against", BaselineText(timing));
  AddRow(rows, "history", HistoryText(timing));
  AddRow(rows, "at least", FloorText(timing));
  AddRow(rows, "SM clock", ClockText(timing));
  AddRow(rows, "blocks", BlocksText(timing));
  AddRow(rows, "voided", VoidedText(timing));
  AddRow(rows, "method", PrintableLine(timing.method()));
  for (const std::string& warning : timing.warnings()) AddRow(rows, "mind", PrintableLine(warning));
  return absl::StrCat(Title(style, "Timing"), "  ", head, "\n", Columns(rows, "  "));
}

std::string StagesSection(const v1::Verdict& verdict, const Style& style) {
  if (verdict.stages().empty()) return "";
  Rows rows;
  for (const v1::StageReport& report : verdict.stages()) {
    const std::string device = report.device_ns() > 0 ? absl::StrCat("device ", DurationText(report.device_ns())) : "";
    rows.push_back({LowerCase(EnumName(report.stage())),
                    absl::StrCat(LowerCase(EnumName(report.outcome())), report.cached() ? ", cached" : ""),
                    report.wall_ns() > 0 ? DurationText(report.wall_ns()) : "-", device,
                    report.reason() == verdict.reason() ? "" : PrintableLine(report.reason())});
  }
  const auto no_device = [](const auto& row) { return row[3].empty(); };
  if (std::all_of(rows.begin(), rows.end(), no_device)) {
    for (auto& row : rows) row.erase(row.begin() + 3);
  }
  return absl::StrCat(Title(style, "Stages"), Columns(rows, "  "));
}

std::string NotesSection(const v1::VerdictDetails& details, const Style& style) {
  std::string text;
  if (!details.notes().empty() || !details.warnings().empty()) absl::StrAppend(&text, Title(style, "Notes"));
  for (const std::string& note : details.notes()) absl::StrAppend(&text, "  ", PrintableLine(note), "\n");
  for (const std::string& warning : details.warnings())
    absl::StrAppend(&text, "  ", style.Warn("warning"), ": ", PrintableLine(warning), "\n");
  if (details.device_output().empty()) return text;
  return absl::StrCat(text, Title(style, "The candidate printed"),
                      Indented(Printable(details.device_output()), "  | "));
}

}  // namespace sassay::agent
