// The board on a terminal, redrawn when something changes.
#ifndef SASSAY_AGENT_ROLLOUT_VIEW_LIVE_VIEW_H_
#define SASSAY_AGENT_ROLLOUT_VIEW_LIVE_VIEW_H_

#include <functional>
#include <ostream>
#include <thread>

#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "agent/rollout/view/render_board.h"

namespace sassay::agent {

// Draws in place from a thread of its own, ten times a second at most: hundreds of answers that grow at once must not
// keep the terminal busy.
//
// Life cycle: draws until it is destroyed, and once more then; what was drawn last stays. `board`, `out` outlive it.
class LiveView {
 public:
  LiveView(Board& board, std::ostream& out, Style style, std::function<ScreenSize()> size);
  ~LiveView();
  LiveView(const LiveView&) = delete;
  LiveView& operator=(const LiveView&) = delete;

 private:
  void Run();
  void Draw();

  Board& board_;
  std::ostream& out_;
  const Style style_;
  const std::function<ScreenSize()> size_;
  size_t drawn_lines_ = 0;
  absl::Notification stop_;
  std::thread thread_;
};

// The size of the terminal on standard error; 80 × 24 where there is none.
ScreenSize StandardErrorSize();

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_ROLLOUT_VIEW_LIVE_VIEW_H_
