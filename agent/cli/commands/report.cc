#include <algorithm>
#include <filesystem>
#include <memory>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "agent/cli/commands/commands.h"
#include "agent/cli/flag_checks.h"
#include "agent/cli/session.h"
#include "agent/report/groups.h"
#include "agent/report/html/page.h"
#include "agent/report/make_report.h"
#include "agent/report/read/sources.h"
#include "agent/report/render/csv_text.h"
#include "agent/report/render/sections.h"
#include "agent/report/render/table_text.h"
#include "agent/submit/rpc_error.h"
#include "common/base/files.h"
#include "common/base/status_macros.h"
#include "common/terminal/text.h"

namespace sassay::agent {
namespace {

constexpr uint32_t kMaxTurnLimit = 10'000;

// The command line, as it was given.
struct ReportFlags {
  std::vector<std::string> sources;
  std::string format;
  std::string output;
  std::string section = "scores";
  std::vector<std::string> group_by;
  std::vector<std::string> turn_limits = {"1", "4", "8"};
  uint32_t table_turn_limit = 8;
  bool mix = false;
};

// The format that was asked for, or that the file's name asks for.
std::string FormatOf(const ReportFlags& flags) {
  if (!flags.format.empty()) return flags.format;
  if (absl::EndsWith(flags.output, ".html")) return "html";
  return absl::EndsWith(flags.output, ".csv") ? "csv" : "table";
}

absl::StatusOr<std::vector<uint32_t>> TurnLimitsOf(const ReportFlags& flags) {
  std::set<uint32_t> limits;
  for (const std::string& text : flags.turn_limits) {
    uint32_t limit = 0;
    if (!absl::SimpleAtoi(text, &limit) || limit < 1 || limit > kMaxTurnLimit) {
      return absl::InvalidArgumentError(
          absl::StrCat("--turns: expected whole numbers from 1 to ", kMaxTurnLimit, ", not \"", text, "\""));
    }
    limits.insert(limit);
  }
  return std::vector<uint32_t>(limits.begin(), limits.end());
}

absl::StatusOr<ReportOptions> OptionsOf(const ReportFlags& flags) {
  ReportOptions options;
  ASSIGN_OR_RETURN(options.group_by, ParseGroupBy(flags.group_by));
  ASSIGN_OR_RETURN(options.turn_limits, TurnLimitsOf(flags));
  options.mix_rules = flags.mix;
  return options;
}

absl::StatusOr<std::string> TextOf(const ReportFlags& flags, const v1::Report& report, const TurnTable& turns,
                                   const Style& style) {
  const std::string format = FormatOf(flags);
  if (format == "html") return HtmlPage(report, turns);
  ASSIGN_OR_RETURN(const ReportSection section, ParseSection(flags.section));
  if (format == "csv") return CsvText(SectionTable(section, report, turns));
  if (section == ReportSection::kScores) return ScoresText(report, style);
  return SectionText(SectionTable(section, report, turns), report, style);
}

// A table in a file that is called otherwise would surprise whoever opens it.
absl::Status CheckEnding(const ReportFlags& flags) {
  const std::string ending = std::filesystem::path(flags.output).extension();
  if (!flags.format.empty() || ending.empty() || ending == ".html" || ending == ".csv" || ending == ".txt")
    return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("-o ", flags.output,
                                                 ": expected a name that ends in .html, .csv or .txt, not in ", ending,
                                                 "; with --format table, csv or html the name is free"));
}

absl::Status CheckFlags(const ReportFlags& flags) {
  RETURN_IF_ERROR(CheckEnding(flags));
  RETURN_IF_ERROR(ParseSection(flags.section).status());
  if (FormatOf(flags) != "html" || flags.section == "scores") return absl::OkStatus();
  return absl::InvalidArgumentError("--section belongs to --format table and csv; a page holds every section.");
}

absl::Status WriteReport(Session& session, const ReportFlags& flags, const v1::Report& report, const TurnTable& turns) {
  const bool to_file = !flags.output.empty();
  ASSIGN_OR_RETURN(const std::string text, TextOf(flags, report, turns, to_file ? Style(false) : session.style()));
  if (!to_file) {
    session.Answer(report, text);
    return absl::OkStatus();
  }
  const std::filesystem::path path = std::filesystem::path(session.terminal().working_directory) / flags.output;
  RETURN_IF_ERROR(WriteNamedFile(path, text));
  if (session.json()) session.Answer(report, "");
  *session.terminal().err << "wrote " << PrintableLine(flags.output) << " (" << BytesText(text.size()) << ")\n"
                          << std::flush;
  return absl::OkStatus();
}

absl::Status Report(Session& session, const ReportFlags& flags) {
  RETURN_IF_ERROR(CheckFlags(flags));
  RETURN_IF_ERROR(CheckOutputFile("--output", flags.output, session.terminal().working_directory));
  ASSIGN_OR_RETURN(const ReportOptions options, OptionsOf(flags));
  ASSIGN_OR_RETURN(const TurnTable turns,
                   ReadSources(flags.sources, session.terminal().working_directory, flags.table_turn_limit));
  ASSIGN_OR_RETURN(const v1::Report report, MakeReport(turns, options));
  return WriteReport(session, flags, report, turns);
}

// A list, by commas or by repetition. One word each time, so that a source may follow.
void AddList(CLI::App& command, const char* name, const std::string& help, const char* type,
             std::vector<std::string>& list) {
  const auto add = [&list](const std::vector<std::string>& words) {
    list.clear();
    for (const std::string& word : words) {
      for (absl::string_view item : absl::StrSplit(word, ',')) list.emplace_back(absl::StripAsciiWhitespace(item));
    }
  };
  command.add_option_function<std::vector<std::string>>(name, add, help)
      ->type_name(type)
      ->type_size(1)
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

void AddFlags(CLI::App& command, ReportFlags& flags) {
  command.add_option("SOURCE", flags.sources, "folders of runs, folders of such folders, and tables of turns")
      ->required()
      ->type_name("");
  command.add_option("--format", flags.format, "table, csv or html [by the name of -o, else table]")
      ->check(OneOf({"table", "csv", "html"}))
      ->type_name("CHOICE");
  command.add_option("-o,--output", flags.output, "file to write instead of standard output")->type_name("FILE");
  command
      .add_option("--section", flags.section,
                  "what table and csv show: scores, fastp, transitions, errors, speedups, reasoning, stages, turns "
                  "[scores]")
      ->type_name("CHOICE");
  AddList(command, "--group-by",
          absl::StrCat("keys that are kept apart, besides model, arch and definition: ", GroupKeyNames()),
          "KEY[,KEY...]", flags.group_by);
  AddList(command, "--turns", "turn limits to score at [1,4,8]", "N[,N...]", flags.turn_limits);
  command
      .add_option("--table-turns", flags.table_turn_limit,
                  "turns that the trajectories of a table were allowed, which it does not say [8]")
      ->check(CLI::Range(uint32_t{1}, kMaxTurnLimit))
      ->type_name("N");
  command.add_flag("--mix", flags.mix, "let turns that were judged by different versions of the rules stand together");
}

}  // namespace

void AddReportCommand(CLI::App& root, Invocation& invocation) {
  CLI::App* command = root.add_subcommand("report", "Scores runs: correctness, speed-ups, errors, time and cost");
  const auto flags = std::make_shared<ReportFlags>();
  AddFlags(*command, *flags);
  command->footer(
      "Formulas: docs/report.md. Turns that were excluded count nowhere. Several runs are counted together unless "
      "--group-by keeps them apart.\n\nExamples:\n"
      "  mini-ptx-agent report runs/first\n"
      "  mini-ptx-agent report runs/with-notes runs/without --group-by label --format csv -o scores.csv\n"
      "  mini-ptx-agent report runs/* -o report.html\n"
      "  mini-ptx-agent report turns.csv --section transitions --format csv\n"
      "  mini-ptx-agent report runs/first published_turns.csv --mix --group-by rules");
  AddCommonFlags(*command, invocation);
  command->callback([&invocation, flags] {
    invocation.action = [flags](Session& session) {
      const absl::Status status = Report(session, *flags);
      return status.ok() ? kExitCorrect : session.Fail(status);
    };
  });
}

}  // namespace sassay::agent
