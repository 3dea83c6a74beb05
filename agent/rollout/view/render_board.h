// The board as text.
#ifndef SASSAY_AGENT_ROLLOUT_VIEW_RENDER_BOARD_H_
#define SASSAY_AGENT_ROLLOUT_VIEW_RENDER_BOARD_H_

#include <cstddef>
#include <string>
#include <vector>

#include "agent/rollout/view/board.h"
#include "common/terminal/style.h"

namespace sassay::agent {

// A terminal's size in characters.
struct ScreenSize {
  size_t columns = 80;
  size_t rows = 24;
};

// One line for the whole, one for each trajectory (those that are worked on first, as many as fit), one for the
// glyphs, and the last notes. No line is longer than the screen is wide, colours apart.
std::vector<std::string> RenderBoard(const BoardState& state, const Style& style, ScreenSize size);

// The whole in one line: "3 of 12 ended, 4 answering, 31 turns, …".
std::string BoardLine(const BoardState& state);

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_ROLLOUT_VIEW_RENDER_BOARD_H_
