#include "agent/rollout/view/render_board.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/utf8.h"
#include "common/terminal/text.h"
#include "fmt/format.h"

namespace sassay::agent {
namespace {

constexpr size_t kFixedLines = 3;  // summary, legend, and the one where the cursor rests
constexpr std::pair<char, const char*> kMeanings[] = {
    {'+', "correct"}, {'c', "compile"}, {'h', "capture"}, {'r', "rejected"}, {'z', "sanitizer"},
    {'x', "crash"},   {'t', "hang"},    {'n', "numbers"}, {'!', "cheating"}, {'-', "no code"},
};

// The first `columns` characters of printable text.
std::string Cut(const std::string& text, size_t columns) {
  size_t at = 0;
  for (; at < text.size() && columns > 0; --columns) at += std::max<size_t>(1, Utf8Length(text.substr(at, 4)));
  return text.substr(0, at);
}

std::string Colour(char glyph, const Style& style) {
  const std::string text(1, glyph);
  if (glyph == '+') return style.Good(text);
  return glyph == '.' || glyph == '-' ? style.Dim(text) : style.Bad(text);
}

std::string Glyphs(const BoardRow& row, uint32_t turn_limit, const Style& style) {
  std::string glyphs;
  for (const char glyph : row.glyphs) absl::StrAppend(&glyphs, Colour(glyph, style));
  for (size_t i = row.glyphs.size(); i < turn_limit; ++i) absl::StrAppend(&glyphs, Colour('.', style));
  return glyphs;
}

// What those on the board mean; a screen may be narrow.
std::string Legend(const std::vector<BoardRow>& rows) {
  std::string legend;
  for (const auto& [glyph, meaning] : kMeanings) {
    const auto has = [glyph = glyph](const BoardRow& row) { return row.glyphs.find(glyph) != std::string::npos; };
    if (std::any_of(rows.begin(), rows.end(), has))
      absl::StrAppend(&legend, legend.empty() ? "" : "  ", std::string(1, glyph), " ", meaning);
  }
  return legend;
}

// Columns that would be empty or the same everywhere are left out.
struct Shown {
  bool best = false;
  bool workload = false;
};

Shown ColumnsOf(const std::vector<BoardRow>& rows) {
  Shown shown;
  for (const BoardRow& row : rows) {
    shown.best |= row.best_speedup > 0;
    shown.workload |= row.workload != rows.front().workload;
  }
  return shown;
}

std::string RowText(const BoardRow& row, uint32_t turn_limit, Shown shown, const Style& style, size_t columns) {
  const std::string best = row.best_speedup > 0 ? fmt::format("{:>7.3f}x", row.best_speedup) : std::string(8, ' ');
  const std::string doing = shown.workload ? fmt::format("{:<28}  {}", Cut(row.doing, 28), row.workload) : row.doing;
  const std::string rest = absl::StrCat(shown.best ? absl::StrCat("  ", best) : "", "  ", doing);
  const size_t used = row.id.size() + 2 + std::max<size_t>(turn_limit, row.glyphs.size());
  return absl::StrCat(row.id, "  ", Glyphs(row, turn_limit, style), Cut(rest, columns > used ? columns - used : 0));
}

// Those that move come first; the order among equals stays.
std::vector<const BoardRow*> InOrder(const std::vector<BoardRow>& rows) {
  std::vector<const BoardRow*> order;
  for (const BoardRow& row : rows) order.push_back(&row);
  std::stable_sort(order.begin(), order.end(),
                   [](const BoardRow* a, const BoardRow* b) { return !a->ended && b->ended; });
  return order;
}

}  // namespace

std::string BoardLine(const BoardState& state) {
  size_t ended = 0, asking = 0, turns = 0, correct = 0;
  double best = 0;
  for (const BoardRow& row : state.rows) {
    ended += row.ended;
    asking += row.asking;
    turns += row.glyphs.size();
    correct += static_cast<size_t>(std::count(row.glyphs.begin(), row.glyphs.end(), '+'));
    best = std::max(best, row.best_speedup);
  }
  std::string line = fmt::format("{} of {} ended, {} answering, {} turns, {} correct", ended, state.rows.size(), asking,
                                 turns, correct);
  if (best > 0) absl::StrAppend(&line, fmt::format(", best {:.3f}x", best));
  absl::StrAppend(&line, ", ", CountText(state.spent.prompt_tokens() + state.spent.completion_tokens()),
                  state.spent.estimated() ? " tokens (about)" : " tokens");
  if (state.spent.cost_usd() > 0) absl::StrAppend(&line, fmt::format(", ${:.2f}", state.spent.cost_usd()));
  return line;
}

std::vector<std::string> RenderBoard(const BoardState& state, const Style& style, ScreenSize size) {
  std::vector<std::string> lines = {style.Bold(Cut(BoardLine(state), size.columns))};
  const size_t room = size.rows > kFixedLines + state.notes.size() ? size.rows - kFixedLines - state.notes.size() : 1;
  const std::vector<const BoardRow*> rows = InOrder(state.rows);
  // The last line of the room says what does not fit.
  const size_t shown = rows.size() <= room ? rows.size() : room - 1;
  const Shown columns = ColumnsOf(state.rows);
  for (size_t i = 0; i < shown; ++i) lines.push_back(RowText(*rows[i], state.turn_limit, columns, style, size.columns));
  if (shown < rows.size())
    lines.push_back(style.Dim(Cut(absl::StrCat("… and ", rows.size() - shown, " more"), size.columns)));
  lines.push_back(style.Dim(Cut(Legend(state.rows), size.columns)));
  for (const std::string& note : state.notes) lines.push_back(Cut(note, size.columns));
  return lines;
}

}  // namespace sassay::agent
