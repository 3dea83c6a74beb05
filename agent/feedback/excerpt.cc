#include "agent/feedback/excerpt.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "agent/feedback/quote.h"
#include "fmt/format.h"

namespace sassay::agent {
namespace {

constexpr size_t kTextSearched = 4096;

bool IsNameCharacter(char c) { return absl::ascii_isalnum(c) || c == '_' || c == '-' || c == '.' || c == '/'; }

bool IsSourceName(absl::string_view name) {
  for (const char* suffix : {".cu", ".cuh", ".h", ".hpp", ".py"}) {
    if (absl::EndsWith(name, suffix) && name.size() > absl::string_view(suffix).size()) return true;
  }
  return false;
}

// The place whose colon is at `colon`; line 0 if there is none.
SourcePlace PlaceAt(absl::string_view text, size_t colon) {
  size_t begin = colon;
  while (begin > 0 && IsNameCharacter(text[begin - 1])) --begin;
  size_t end = colon + 1;
  while (end < text.size() && absl::ascii_isdigit(text[end])) ++end;
  SourcePlace place = {std::string(text.substr(begin, colon - begin)), 0};
  const bool valid = IsSourceName(place.file) && absl::SimpleAtoi(text.substr(colon + 1, end - colon - 1), &place.line);
  if (!valid) place.line = 0;
  return place;
}

}  // namespace

std::vector<SourcePlace> PlacesIn(absl::string_view text, size_t limit) {
  text = text.substr(0, kTextSearched);
  std::vector<SourcePlace> places;
  for (size_t colon = text.find(':'); colon != absl::string_view::npos; colon = text.find(':', colon + 1)) {
    SourcePlace place = PlaceAt(text, colon);
    const auto same = [&](const SourcePlace& other) { return other.file == place.file && other.line == place.line; };
    if (place.line == 0 || std::any_of(places.begin(), places.end(), same)) continue;
    places.push_back(std::move(place));
    if (places.size() == limit) break;
  }
  return places;
}

SourceExcerpts::SourceExcerpts(absl::string_view source) {
  if (!source.empty()) lines_ = absl::StrSplit(source, '\n');
}

bool SourceExcerpts::Holds(const SourcePlace& place, absl::string_view expected_text) const {
  if (place.line == 0 || place.line > lines_.size()) return false;
  if (absl::StrContains(place.file, '/') || absl::EndsWith(place.file, "h") || absl::EndsWith(place.file, ".hpp"))
    return false;
  return expected_text.empty() ||
         absl::StripAsciiWhitespace(expected_text) == absl::StripAsciiWhitespace(lines_[place.line - 1]);
}

std::string SourceExcerpts::Around(const SourcePlace& place, absl::string_view expected_text, uint32_t context) const {
  if (!Holds(place, expected_text))
    return expected_text.empty() ? "" : absl::StrCat("  | ", InertSource(expected_text), "\n");
  const uint32_t first = place.line > context ? place.line - context : 1;
  const uint32_t last = std::min<uint32_t>(static_cast<uint32_t>(lines_.size()), place.line + context);
  std::string text;
  for (uint32_t line = first; line <= last; ++line) {
    absl::StrAppend(
        &text, fmt::format("  {} {:>4} | {}\n", line == place.line ? '>' : ' ', line, InertSource(lines_[line - 1])));
  }
  return text;
}

std::string SourceExcerpts::AroundPlacesIn(absl::string_view text, uint32_t context) const {
  std::string excerpts;
  for (const SourcePlace& place : PlacesIn(text)) {
    const std::string excerpt = Around(place, "", context);
    if (!excerpts.empty() && !excerpt.empty()) absl::StrAppend(&excerpts, "  ...\n");
    absl::StrAppend(&excerpts, excerpt);
  }
  return excerpts;
}

}  // namespace sassay::agent
