#include "common/terminal/text.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "common/base/utf8.h"
#include "fmt/format.h"

namespace sassay {
namespace {

// Bytes of the character at the beginning of `text` that a terminal shows; 0 if it obeys it instead (C1 controls,
// U+0080..U+009F, and the older ones but newline and tab) or there is none.
size_t ShownLength(absl::string_view text) {
  const size_t length = Utf8Length(text);
  if (length == 1) return (text[0] >= 0x20 && text[0] < 0x7F) || text[0] == '\n' || text[0] == '\t' ? 1 : 0;
  const bool c1 =
      length == 2 && static_cast<unsigned char>(text[0]) == 0xC2 && static_cast<unsigned char>(text[1]) < 0xA0;
  return c1 ? 0 : length;
}

size_t Width(absl::string_view text) {
  return std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; });
}

}  // namespace

std::string Printable(absl::string_view text) {
  std::string printable;
  while (!text.empty()) {
    const size_t length = ShownLength(text);
    if (length > 0) {
      absl::StrAppend(&printable, text.substr(0, length));
    } else {
      printable += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[0]));
    }
    text.remove_prefix(std::max<size_t>(length, 1));
  }
  return printable;
}

std::string PrintableLine(absl::string_view text) {
  return absl::StrReplaceAll(absl::StripAsciiWhitespace(Printable(text)), {{"\n", " / "}, {"\t", " "}});
}

std::string DurationText(double nanoseconds) {
  if (nanoseconds < 1e3) return fmt::format("{:.0f} ns", nanoseconds);
  if (nanoseconds < 1e6) return fmt::format("{:.2f} us", nanoseconds / 1e3);
  if (nanoseconds < 1e9) return fmt::format("{:.2f} ms", nanoseconds / 1e6);
  if (nanoseconds < 120e9) return fmt::format("{:.2f} s", nanoseconds / 1e9);
  const int64_t seconds = std::llround(nanoseconds / 1e9);
  return fmt::format("{} min {} s", seconds / 60, seconds % 60);
}

std::string BytesText(uint64_t bytes) {
  constexpr const char* kUnits[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes < 1024) return fmt::format("{} B", bytes);
  double value = static_cast<double>(bytes) / 1024;
  size_t unit = 0;
  for (; value >= 1024 && unit + 1 < std::size(kUnits); ++unit) value /= 1024;
  return fmt::format("{:.1f} {}", value, kUnits[unit]);
}

std::string CountText(uint64_t count) {
  std::string text = absl::StrCat(count);
  for (int64_t at = static_cast<int64_t>(text.size()) - 3; at > 0; at -= 3) text.insert(at, ",");
  return text;
}

std::string NumberText(double value) { return fmt::format("{:.6g}", value); }

std::string Columns(const std::vector<std::vector<std::string>>& rows, absl::string_view indent) {
  std::vector<size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], Width(row[i]));
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line(indent);
    for (size_t i = 0; i < row.size(); ++i)
      absl::StrAppend(&line, row[i], std::string(widths[i] - Width(row[i]) + 2, ' '));
    absl::StrAppend(&text, absl::StripTrailingAsciiWhitespace(line), "\n");
  }
  return text;
}

std::string Indented(absl::string_view text, absl::string_view indent) {
  std::string indented;
  for (absl::string_view line : absl::StrSplit(absl::StripTrailingAsciiWhitespace(text), '\n')) {
    absl::StrAppend(&indented, indent, line, "\n");
  }
  return indented;
}

std::string LowerCase(absl::string_view text) { return absl::AsciiStrToLower(text); }

}  // namespace sassay
