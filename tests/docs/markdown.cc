#include "tests/docs/markdown.h"

#include <cctype>
#include <regex>
#include <sstream>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace sassay::testing {
namespace {

std::string Anchor(absl::string_view heading) {
  std::string anchor;
  for (const char c : heading) {
    const auto letter = static_cast<unsigned char>(c);
    if (std::isalnum(letter) != 0 || c == '-' || c == '_' || letter >= 0x80) anchor += absl::ascii_tolower(letter);
    if (c == ' ') anchor += '-';
  }
  return anchor;
}

// Cuts the spans between backticks out of a line.
std::string TakeSpans(const std::string& line, std::vector<std::string>& spans) {
  static const std::regex span("(`+) ?([^`]+?) ?\\1");
  for (std::sregex_iterator found(line.begin(), line.end(), span), end; found != end; ++found)
    spans.push_back((*found)[2]);
  return std::regex_replace(line, span, "");
}

void TakeLinks(const std::string& line, std::vector<std::string>& links) {
  static const std::regex link("\\]\\(([^()\\s]+)\\)");
  for (std::sregex_iterator found(line.begin(), line.end(), link), end; found != end; ++found)
    links.push_back((*found)[1]);
}

void TakeCode(const std::string& line, Document& document, bool& goes_on) {
  std::string text(absl::StripAsciiWhitespace(line));
  const bool continues = absl::EndsWith(text, "\\");
  if (continues) text.pop_back();
  if (goes_on) {
    document.code_lines.back() += " " + text;
  } else {
    document.code_lines.push_back(text);
  }
  goes_on = continues;
}

}  // namespace

Document ParseMarkdown(const std::string& text) {
  Document document;
  std::istringstream lines(text);
  bool fenced = false, goes_on = false, blank_before = true, in_block = false;
  std::vector<std::string> marks;
  const auto begin_block = [&](int number, absl::string_view language) {
    document.blocks.push_back({number, std::string(language), std::exchange(marks, {}), {}});
    in_block = true;
  };
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    const absl::string_view trimmed = absl::StripAsciiWhitespace(line);
    if (absl::StartsWith(trimmed, "```") && !absl::StrContains(trimmed.substr(3), "`")) {
      fenced = !fenced;
      if (fenced) begin_block(number + 1, trimmed.substr(3));
      if (!fenced) in_block = false;
    } else if (fenced || (absl::StartsWith(line, "    ") && blank_before)) {
      if (!in_block) begin_block(number, "");
      document.blocks.back().lines.push_back(fenced ? line : line.substr(4));
      TakeCode(line, document, goes_on);
      continue;
    } else if (absl::StartsWith(trimmed, "<!--") && absl::EndsWith(trimmed, "-->")) {
      marks.emplace_back(absl::StripAsciiWhitespace(trimmed.substr(4, trimmed.size() - 7)));
      in_block = false;
    } else {
      // A blank line inside an indented block belongs to it.
      if (!trimmed.empty()) marks.clear(), in_block = false;
      const std::string prose = TakeSpans(line, document.spans);
      TakeLinks(prose, document.links);
      const size_t level = trimmed.find_first_not_of('#');
      if (level > 0 && level != absl::string_view::npos && trimmed[level] == ' ')
        document.anchors.insert(Anchor(trimmed.substr(level + 1)));
    }
    blank_before = trimmed.empty();
    goes_on = false;
  }
  return document;
}

}  // namespace sassay::testing
