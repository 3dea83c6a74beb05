#include "agent/compile/messages/ptx_lines.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace sassay {
namespace {

std::vector<absl::string_view> Words(absl::string_view line) {
  return absl::StrSplit(line, absl::ByAnyChar(" \t,"), absl::SkipEmpty());
}

// The file and line of `.loc FILE LINE COLUMN[, function_name …, inlined_at FILE LINE COLUMN]`, the caller's if
// inlined.
bool ParseLoc(absl::string_view line, uint32_t& file, uint32_t& number) {
  std::vector<absl::string_view> words = Words(line);
  size_t at = 1;
  for (size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "inlined_at") at = i + 1;
  }
  return words.size() > at + 1 && absl::SimpleAtoi(words[at], &file) && absl::SimpleAtoi(words[at + 1], &number);
}

// The name in `.visible .entry NAME(` or `.func (…) NAME(`.
std::string FunctionName(absl::string_view line) {
  for (absl::string_view keyword : {".entry ", ".func "}) {
    size_t at = line.find(keyword);
    if (at == absl::string_view::npos) continue;
    absl::string_view rest = absl::StripLeadingAsciiWhitespace(line.substr(at + keyword.size()));
    if (absl::StartsWith(rest, "(")) rest = rest.substr(std::min(rest.size(), rest.find(')') + 1));
    rest = absl::StripLeadingAsciiWhitespace(rest);
    return std::string(absl::StripTrailingAsciiWhitespace(rest.substr(0, rest.find_first_of("( \t\r"))));
  }
  return "";
}

}  // namespace

PtxLines::PtxLines(absl::string_view ptx) {
  uint32_t number = 0;
  for (absl::string_view line : absl::StrSplit(ptx, '\n')) {
    ++number;
    line = absl::StripLeadingAsciiWhitespace(line);
    if (!absl::StartsWith(line, ".")) continue;
    Location location{number, 0, 0};
    if (absl::StartsWith(line, ".loc") && ParseLoc(line, location.file, location.line)) locations_.push_back(location);
    if (absl::StartsWith(line, ".file")) {
      std::vector<absl::string_view> words = Words(line);
      uint32_t index = 0;
      size_t quote = line.find('"');
      if (words.size() > 2 && absl::SimpleAtoi(words[1], &index) && quote != absl::string_view::npos) {
        absl::string_view name = line.substr(quote + 1);
        files_[index] = std::string(name.substr(0, name.find('"')));
      }
    }
    if (std::string name = FunctionName(line); !name.empty()) {
      functions_[name] = number;
      locations_.push_back({number, 0, 0});
    }
  }
}

SourcePlace PtxLines::Resolve(const Location& location) const {
  auto file = files_.find(location.file);
  return file == files_.end() ? SourcePlace() : SourcePlace{file->second, location.line};
}

SourcePlace PtxLines::At(uint32_t ptx_line) const {
  auto after = std::upper_bound(locations_.begin(), locations_.end(), ptx_line,
                                [](uint32_t line, const Location& l) { return line < l.ptx_line; });
  return after == locations_.begin() ? SourcePlace() : Resolve(*std::prev(after));
}

SourcePlace PtxLines::OfFunction(absl::string_view symbol) const {
  auto found = functions_.find(std::string(symbol));
  if (found == functions_.end()) return {};
  auto next = std::upper_bound(locations_.begin(), locations_.end(), found->second,
                               [](uint32_t line, const Location& l) { return line < l.ptx_line; });
  return next == locations_.end() ? SourcePlace() : Resolve(*next);
}

}  // namespace sassay
