#include "agent/feedback/quote.h"

#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "common/base/foreign/chat_marks.h"
#include "common/terminal/text.h"

namespace sassay::agent {
namespace {

std::string WithoutMarks(absl::string_view text) {
  return absl::StrReplaceAll(WithoutChatMarks(text), {{"```", "` ` `"}, {"~~~", "~ ~ ~"}});
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
  return Shortened(WithoutMarks(printable), max_bytes);
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
