#include "agent/rollout/view/live_view.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"

namespace sassay::agent {
namespace {

constexpr absl::Duration kLeastPause = absl::Milliseconds(100);
constexpr char kEraseToEnd[] = "\033[J";

}  // namespace

LiveView::LiveView(Board& board, std::ostream& out, Style style, std::function<ScreenSize()> size)
    : board_(board), out_(out), style_(style), size_(std::move(size)), thread_([this] { Run(); }) {}

LiveView::~LiveView() {
  stop_.Notify();
  board_.Close();
  thread_.join();
  Draw();
}

void LiveView::Run() {
  while (board_.AwaitChange()) {
    Draw();
    stop_.WaitForNotificationWithTimeout(kLeastPause);
  }
}

void LiveView::Draw() {
  const std::vector<std::string> lines = RenderBoard(board_.state(), style_, size_());
  std::string text = drawn_lines_ > 0 ? absl::StrCat("\033[", drawn_lines_, "F", kEraseToEnd) : "";
  for (const std::string& line : lines) absl::StrAppend(&text, line, "\n");
  out_ << text << std::flush;
  drawn_lines_ = lines.size();
}

ScreenSize StandardErrorSize() {
  winsize size = {};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0) return {};
  return {size.ws_col, size.ws_row};
}

}  // namespace sassay::agent
