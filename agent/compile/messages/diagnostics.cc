#include "agent/compile/messages/diagnostics.h"

#include <algorithm>
#include <optional>
#include <regex>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "agent/compile/messages/ptx_lines.h"
#include "common/base/utf8.h"
#include "common/demangle/demangle.h"

namespace sassay {
namespace {

using sassay::v1::Diagnostic;

// std::regex recurses per character: longer lines are cut before matching.
constexpr size_t kLineLimit = 2000;

// kernel.cu(10): error #20-D: message
const std::regex& EdgLine() {
  static const auto* pattern =
      new std::regex(R"(^([^\s():][^():]*)\((\d+)\): (catastrophic error|error|warning|remark)( #[\w-]+)?: (.*)$)");
  return *pattern;
}

// At end of source: error: expected a "}"
const std::regex& EdgEndOfSource() {
  static const auto* pattern =
      new std::regex(R"(^At end of source: (catastrophic error|error|warning|remark)( #[\w-]+)?: (.*)$)");
  return *pattern;
}

// kernel.cu(1): note #3196-D: to match this "{"
const std::regex& EdgOpened() {
  static const auto* pattern = new std::regex(R"(^([^\s():][^():]*)\((\d+)\): note(?: #[\w-]+)?: (to match this .*)$)");
  return *pattern;
}

// kernel.cu:10:4: fatal error: message; the assembler says "kernel.cu:10: Error: message"
const std::regex& GccLine() {
  static const auto* pattern =
      new std::regex(R"(^([^\s:][^:]*):(\d+):(?:(\d+):)? (fatal error|error|warning|note|Error|Warning): (.*)$)");
  return *pattern;
}

// ptxas kernel.ptx, line 310; error   : message
const std::regex& PtxasLine() {
  static const auto* pattern = new std::regex(R"(^ptxas [^,]*, line (\d+); (error|fatal|warning)\s*: (.*)$)");
  return *pattern;
}

// ptxas error   : message
const std::regex& PtxasGeneral() {
  static const auto* pattern = new std::regex(R"(^ptxas (error|fatal|warning)\s*: (.*)$)");
  return *pattern;
}

// nvcc fatal   : message; cicc and fatbinary speak alike
const std::regex& ToolGeneral() {
  static const auto* pattern = new std::regex(
      R"(^(?:\S*/)?(?:nvcc|cicc|fatbinary|cudafe\+\+|cc1plus|gcc|g\+\+|collect2|as|ld|nvlink)\s*(fatal|error|warning|fatal error)?\s*: (.*)$)");
  return *pattern;
}

// kernel.cu:2: undefined reference to `f'; or ld: a.o:kernel.cu:2: …; or kernel.cu:(.text+0x5): …
const std::regex& LinkerLine() {
  static const auto* pattern = new std::regex(
      R"(^(?:\S*/?ld: )?(?:[^\s:]+\.o:)?([^\s:]+):(?:(\d+)|\([^)]*\)): ((?:undefined reference to|multiple definition of) .*)$)");
  return *pattern;
}

std::string Severity(absl::string_view word) {
  if (absl::EqualsIgnoreCase(word, "warning")) return "warning";
  return word == "note" || word == "remark" ? "note" : "error";
}

uint32_t Number(const std::string& text) {
  uint32_t number = 0;
  return absl::SimpleAtoi(text, &number) ? number : 0;
}

absl::string_view Indent(absl::string_view line) {
  size_t end = line.find_first_not_of(" \t");
  return line.substr(0, end == absl::string_view::npos ? line.size() : end);
}

bool IsCaretLine(absl::string_view line) { return absl::StripAsciiWhitespace(line) == "^"; }

class Parser {
 public:
  Parser(NvccTool tool, const DiagnosticContext& context) : tool_(tool), context_(context), ptx_lines_(context.ptx) {}

  void Read(absl::string_view line) {
    std::string text(line.substr(0, kLineLimit));
    if (!Begin(text)) Continue(text);
    previous_ = std::move(text);
  }

  // Headers of other people may be in any encoding, and a cut may go through a character.
  std::vector<Diagnostic> Take() {
    for (Diagnostic& diagnostic : diagnostics_) {
      diagnostic.set_message(ToUtf8(diagnostic.message()));
      diagnostic.set_source_text(ToUtf8(diagnostic.source_text()));
      diagnostic.set_file(ToUtf8(diagnostic.file()));
    }
    return std::move(diagnostics_);
  }

 private:
  bool Begin(const std::string& line) {
    std::smatch m;
    if (std::regex_match(line, m, EdgLine())) return Add(m[3], m[1], Number(m[2]), 0, m[5]);
    if (std::regex_match(line, m, EdgEndOfSource())) return AddAtEndOfSource(m[1], m[3]);
    if (at_end_of_source_ && std::regex_match(line, m, EdgOpened())) return PlaceWhatIsOpen(m[1], Number(m[2]), m[3]);
    if (std::regex_match(line, m, GccLine())) return Add(m[4], m[1], Number(m[2]), Number(m[3]), m[5]);
    if (std::regex_match(line, m, PtxasLine())) return AddAtPtxLine(m[2], Number(m[1]), m[3]);
    if (std::regex_match(line, m, PtxasGeneral())) return AddFromPtxas(m[1], m[2]);
    if (tool_ == NvccTool::kLinker && std::regex_match(line, m, LinkerLine()))
      return Add("error", m[1], Number(m[2]), 0, m[3]);
    if (std::regex_match(line, m, ToolGeneral())) return AddFromTool(m[1], m[2]);
    return false;
  }

  // A source that was cut off: no line, but mostly a note of the bracket that is still open follows.
  bool AddAtEndOfSource(const std::string& severity, const std::string& message) {
    New(severity, absl::StrCat("at the end of the source: ", message));
    at_end_of_source_ = true;
    return true;
  }

  bool PlaceWhatIsOpen(const std::string& path, uint32_t line, const std::string& message) {
    Diagnostic& diagnostic = diagnostics_.back();
    diagnostic.set_message(absl::StrCat(diagnostic.message(), " ", Clean(message)));
    Place(diagnostic, {path, line});
    at_end_of_source_ = false;
    return true;
  }

  Diagnostic& New(const std::string& severity, const std::string& message) {
    at_end_of_source_ = false;
    Diagnostic& diagnostic = diagnostics_.emplace_back();
    diagnostic.set_severity(Severity(severity));
    diagnostic.set_tool(ToolName(tool_));
    diagnostic.set_message(Clean(message));
    return diagnostic;
  }

  bool Add(const std::string& severity, const std::string& path, uint32_t line, uint32_t column,
           const std::string& message) {
    Diagnostic& diagnostic = New(severity, message);
    diagnostic.set_column(column);
    Place(diagnostic, {path, line});
    return true;
  }

  bool AddAtPtxLine(const std::string& severity, uint32_t ptx_line, const std::string& message) {
    Diagnostic& diagnostic = New(severity, absl::StrCat(message, " (PTX line ", ptx_line, PtxText(ptx_line), ")"));
    Place(diagnostic, ptx_lines_.At(ptx_line));
    return true;
  }

  // "Entry function '_Z1kPf' uses too much shared data (…)".
  bool AddFromPtxas(const std::string& severity, const std::string& message) {
    if (absl::StartsWith(message, "Ptx assembly aborted due to errors")) return true;
    size_t open = message.find('\''), close = message.find('\'', open + 1);
    if (open == std::string::npos || close == std::string::npos) {
      New(severity, message);
      return true;
    }
    std::string symbol = message.substr(open + 1, close - open - 1);
    Diagnostic& diagnostic =
        New(severity, absl::StrCat(message.substr(0, open + 1), ShortKernelName(symbol), message.substr(close)));
    Place(diagnostic, ptx_lines_.OfFunction(symbol));
    return true;
  }

  // gcc's drivers put the severity behind the colon.
  bool AddFromTool(std::string severity, std::string message) {
    for (const char* word : {"fatal error", "error", "warning"}) {
      absl::string_view rest = message;
      if (!severity.empty() || !absl::ConsumePrefix(&rest, absl::StrCat(word, ": "))) continue;
      severity = word;
      message = std::string(rest);
    }
    if (absl::StartsWith(message, "ld returned")) return true;
    // Where the next line's reference stands; and what follows from it.
    if (absl::EndsWith(message, "':") || absl::StartsWith(message, "final link failed")) return true;
    if (severity.empty() && tool_ != NvccTool::kLinker) return false;
    New(severity.empty() ? "error" : severity, message);
    return true;
  }

  // Source line and caret, which EDG and gcc print below a message; "detected during …", which EDG adds.
  void Continue(const std::string& line) {
    if (diagnostics_.empty()) return;
    Diagnostic& diagnostic = diagnostics_.back();
    absl::string_view text = absl::StripAsciiWhitespace(line);
    if (IsCaretLine(line) && diagnostic.column() == 0) return SetColumn(diagnostic, Indent(line).size());
    if (absl::StartsWith(text, "detected during"))
      diagnostic.set_message(absl::StrCat(diagnostic.message(), " (", Clean(text), ")"));
  }

  // EDG prints the source line indented by two.
  void SetColumn(Diagnostic& diagnostic, size_t caret) {
    if (diagnostic.source_text().empty())
      diagnostic.set_source_text(std::string(absl::StripAsciiWhitespace(previous_)));
    size_t printed_indent = Indent(previous_).size();
    size_t real_indent = printed_indent >= 2 ? printed_indent - 2 : 0;
    if (caret >= printed_indent) diagnostic.set_column(static_cast<uint32_t>(real_indent + caret - printed_indent + 1));
  }

  void Place(Diagnostic& diagnostic, const SourcePlace& place) {
    if (place.line == 0 && place.file.empty()) return;
    diagnostic.set_file(ShownPath(context_, place.file));
    diagnostic.set_line(place.line);
    for (const auto& source : *context_.sources) {
      if (source.path() == diagnostic.file()) diagnostic.set_source_text(LineOf(source.content(), place.line));
    }
  }

  static std::string LineOf(absl::string_view content, uint32_t number) {
    for (absl::string_view line : absl::StrSplit(content, '\n')) {
      if (--number == 0) return std::string(absl::StripTrailingAsciiWhitespace(line));
      if (number > (1U << 31)) break;
    }
    return "";
  }

  std::string PtxText(uint32_t number) const {
    std::string text(absl::StripAsciiWhitespace(LineOf(context_.ptx, number)));
    return text.empty() ? "" : absl::StrCat(": ", text.substr(0, 120));
  }

  // Paths inside messages, where they begin a path: "./" is no part of "../common.h".
  std::string Clean(absl::string_view message) const {
    std::string clean(absl::StripAsciiWhitespace(message));
    for (const auto& [path, name] : context_.path_names) {
      for (size_t at = clean.find(path); at != std::string::npos; at = clean.find(path, at)) {
        if (at > 0 && IsOfPath(clean[at - 1])) {
          at += path.size();
        } else {
          clean.replace(at, path.size(), name);
          at += name.size();
        }
      }
    }
    return clean;
  }

  static bool IsOfPath(unsigned char c) {
    return absl::ascii_isalnum(c) || c == '_' || c == '.' || c == '/' || c == '-';
  }

  NvccTool tool_;
  const DiagnosticContext& context_;
  PtxLines ptx_lines_;
  std::vector<Diagnostic> diagnostics_;
  std::string previous_;
  bool at_end_of_source_ = false;  // the last diagnostic is one that has no line yet
};

}  // namespace

std::string ShownPath(const DiagnosticContext& context, absl::string_view path) {
  for (const auto& [folder, name] : context.path_names) {
    absl::string_view rest = path;
    if (absl::ConsumePrefix(&rest, folder)) return absl::StrCat(name, rest);
  }
  size_t slash = path.rfind('/');
  return std::string(slash == absl::string_view::npos ? path : path.substr(slash + 1));
}

std::vector<Diagnostic> ParseDiagnostics(NvccTool tool, absl::string_view output, const DiagnosticContext& context) {
  Parser parser(tool, context);
  for (absl::string_view line : absl::StrSplit(output, '\n')) parser.Read(line);
  return parser.Take();
}

std::vector<Diagnostic> OrderDiagnostics(std::vector<Diagnostic> diagnostics, size_t limit) {
  std::stable_sort(diagnostics.begin(), diagnostics.end(), [](const Diagnostic& a, const Diagnostic& b) {
    return (a.severity() == "error") > (b.severity() == "error");
  });
  std::set<std::string> seen;
  std::vector<Diagnostic> kept;
  for (auto& diagnostic : diagnostics) {
    if (kept.size() < limit && seen.insert(DiagnosticLine(diagnostic)).second) kept.push_back(std::move(diagnostic));
  }
  return kept;
}

std::string DiagnosticLine(const Diagnostic& diagnostic) {
  std::string place = diagnostic.file();
  if (diagnostic.line() != 0) absl::StrAppend(&place, ":", diagnostic.line());
  return absl::StrCat(place, place.empty() ? "" : ": ", diagnostic.severity(), ": ", diagnostic.message());
}

}  // namespace sassay
