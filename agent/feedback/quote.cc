#include "agent/feedback/quote.h"

#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "common/base/utf8.h"
#include "common/terminal/text.h"
#include "fmt/format.h"

namespace sassay::agent {
namespace {

// Code points that are invisible or turn the order of others around: zero-width, bidirectional controls, BOM, tags.
bool IsHidden(uint32_t code_point) {
  return code_point == 0xAD || (code_point >= 0x200B && code_point <= 0x200F) ||
         (code_point >= 0x2028 && code_point <= 0x202E) || (code_point >= 0x2060 && code_point <= 0x206F) ||
         code_point == 0xFEFF || (code_point >= 0xE0000 && code_point <= 0xE007F);
}

uint32_t CodePoint(absl::string_view character) {
  const auto byte = [&](size_t i) { return static_cast<uint32_t>(static_cast<unsigned char>(character[i])); };
  if (character.size() == 2) return (byte(0) & 0x1F) << 6 | (byte(1) & 0x3F);
  if (character.size() == 3) return (byte(0) & 0x0F) << 12 | (byte(1) & 0x3F) << 6 | (byte(2) & 0x3F);
  if (character.size() == 4) {
    return (byte(0) & 0x07) << 18 | (byte(1) & 0x3F) << 12 | (byte(2) & 0x3F) << 6 | (byte(3) & 0x3F);
  }
  return byte(0);
}

std::string WithoutHidden(absl::string_view text) {
  std::string shown;
  for (size_t at = 0; at < text.size();) {
    const absl::string_view character = text.substr(at, std::max<size_t>(1, Utf8Length(text.substr(at))));
    const uint32_t code_point = CodePoint(character);
    absl::StrAppend(&shown, IsHidden(code_point) ? fmt::format("\\u{{{:x}}}", code_point) : std::string(character));
    at += character.size();
  }
  return shown;
}

// Fences, and what templates of common models put between messages.
std::string WithoutMarks(absl::string_view text) {
  return absl::StrReplaceAll(text, {{"```", "` ` `"},
                                    {"~~~", "~ ~ ~"},
                                    {"<|", "< |"},
                                    {"|>", "| >"},
                                    {"<｜", "< ｜"},
                                    {"｜>", "｜ >"},
                                    {"[INST]", "[ INST]"},
                                    {"[/INST]", "[ /INST]"},
                                    {"<<SYS>>", "< <SYS> >"},
                                    {"</s>", "< /s>"},
                                    {"<start_of_turn>", "< start_of_turn>"},
                                    {"<end_of_turn>", "< end_of_turn>"},
                                    {"</think>", "< /think>"}});
}

std::string Shortened(std::string text, size_t max_bytes) {
  if (text.size() <= max_bytes) return text;
  size_t end = max_bytes;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return absl::StrCat(text.substr(0, end), " ... (", text.size() - end, " more bytes)");
}

// Work is bounded before it is done; what is cut off here would not be shown anyway.
absl::string_view Head(absl::string_view foreign, size_t max_bytes) { return foreign.substr(0, 4 * max_bytes + 64); }

std::string Inert(const std::string& printable, size_t max_bytes) {
  return Shortened(WithoutMarks(WithoutHidden(printable)), max_bytes);
}

}  // namespace

std::string InertLine(absl::string_view foreign, size_t max_bytes) {
  return Inert(PrintableLine(Head(foreign, max_bytes)), max_bytes);
}

std::string InertSource(absl::string_view foreign, size_t max_bytes) {
  const std::string printable = Printable(absl::StripTrailingAsciiWhitespace(Head(foreign, max_bytes)));
  return Inert(absl::StrReplaceAll(printable, {{"\n", " / "}, {"\t", "    "}}), max_bytes);
}

std::string QuotedBlock(absl::string_view foreign, size_t max_lines, size_t max_line_bytes) {
  const std::vector<absl::string_view> lines = absl::StrSplit(absl::StripTrailingAsciiWhitespace(foreign), '\n');
  const size_t hidden = lines.size() > max_lines ? lines.size() - max_lines : 0;
  const size_t head = hidden > 0 ? (max_lines + 1) / 2 : lines.size();
  std::string text;
  for (size_t i = 0; i < lines.size(); ++i) {
    if (i >= head && i < head + hidden) {
      if (i == head) absl::StrAppend(&text, "  (", hidden, " lines left out)\n");
      continue;
    }
    absl::StrAppend(&text, "  | ", InertSource(lines[i], max_line_bytes), "\n");
  }
  return text;
}

}  // namespace sassay::agent
