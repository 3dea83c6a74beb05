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

uint32_t CodePoint(absl::string_view character) {
  const auto byte = [&](size_t i) { return static_cast<uint32_t>(static_cast<unsigned char>(character[i])); };
  if (character.size() == 2) return (byte(0) & 0x1F) << 6 | (byte(1) & 0x3F);
  if (character.size() == 3) return (byte(0) & 0x0F) << 12 | (byte(1) & 0x3F) << 6 | (byte(2) & 0x3F);
  if (character.size() == 4) {
    return (byte(0) & 0x07) << 18 | (byte(1) & 0x3F) << 12 | (byte(2) & 0x3F) << 6 | (byte(3) & 0x3F);
  }
  return byte(0);
}

struct Range {
  uint32_t first;
  uint32_t last;
};

// Unicode's Default_Ignorable_Code_Point (DerivedCoreProperties.txt), the two separators that break a line, and the
// marks of interlinear annotations. The bidirectional controls of Trojan Source (CVE-2021-42574) are among them.
constexpr Range kHidden[] = {
    {0xAD, 0xAD},     {0x34F, 0x34F},   {0x61C, 0x61C},     {0x115F, 0x1160},   {0x17B4, 0x17B5},  {0x180B, 0x180F},
    {0x200B, 0x200F}, {0x2028, 0x202E}, {0x2060, 0x206F},   {0x3164, 0x3164},   {0xFE00, 0xFE0F},  {0xFEFF, 0xFEFF},
    {0xFFA0, 0xFFA0}, {0xFFF0, 0xFFFB}, {0x1BCA0, 0x1BCA3}, {0x1D173, 0x1D17A}, {0xE0000, 0xE0FFF}};

bool IsHidden(uint32_t code_point) {
  return std::any_of(std::begin(kHidden), std::end(kHidden),
                     [&](const Range& range) { return code_point >= range.first && code_point <= range.last; });
}

// Control characters but newline and tab; C1, too, which some terminals obey like an escape sequence.
bool IsControl(uint32_t code_point) {
  return (code_point < 0x20 && code_point != '\n' && code_point != '\t') || (code_point >= 0x7F && code_point < 0xA0);
}

std::string Spelled(absl::string_view character, size_t length) {
  if (length > 1) return fmt::format("\\u{{{:x}}}", CodePoint(character));
  return fmt::format("\\x{:02x}", static_cast<unsigned char>(character[0]));
}

size_t Width(absl::string_view text) {
  return std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; });
}

}  // namespace

std::string Printable(absl::string_view text) {
  std::string printable;
  while (!text.empty()) {
    const size_t length = Utf8Length(text);
    const absl::string_view character = text.substr(0, std::max<size_t>(length, 1));
    const uint32_t code_point = CodePoint(character);
    const bool shown = length > 0 && !IsControl(code_point) && !IsHidden(code_point);
    if (shown) {
      absl::StrAppend(&printable, character);
    } else {
      printable += Spelled(character, length);
    }
    text.remove_prefix(character.size());
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
