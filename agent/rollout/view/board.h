// How far every trajectory is, for who looks on.
#ifndef SASSAY_AGENT_ROLLOUT_VIEW_BOARD_H_
#define SASSAY_AGENT_ROLLOUT_VIEW_BOARD_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "agent/trajectory/trajectory.h"

namespace sassay::agent {

// One trajectory as it is shown.
struct BoardRow {
  std::string id;
  std::string workload;
  // One character per turn that is decided (GlyphOf).
  std::string glyphs;
  // What it does now: "waiting to ask", "answer 12.3 KiB", "compile", "queued", "timing", "ended: TURN_LIMIT".
  std::string doing;
  bool ended = false;
  bool asking = false;
  double best_speedup = 0;
};

// Everything that is shown. Plain data.
struct BoardState {
  std::vector<BoardRow> rows;
  uint32_t turn_limit = 0;
  v1::Usage spent;
  // The last notes, newest last; a few.
  std::vector<std::string> notes;
};

// Collects what trajectories tell.
//
// Threads: safe. Lines (a turn decided, a trajectory ended, trouble) go to `say`, one each, as they happen; AwaitChange
// is for who redraws. Where `say` blocks (a pipe that nobody reads), so do the calls that have a line; the others, such
// as Arriving from the thread of all answers, never do.
class Board {
 public:
  Board(uint32_t turn_limit, std::function<void(absl::string_view)> say) : say_(std::move(say)) {
    state_.turn_limit = turn_limit;
  }

  // Rows are numbered in the order in which they are added, before anything else is said of them.
  void Add(std::string id, std::string workload) ABSL_LOCKS_EXCLUDED(mutex_);
  // Replaces what the row says about decided turns: the trajectory begins, goes on or was rewound.
  void Show(size_t row, const std::vector<Turn>& turns) ABSL_LOCKS_EXCLUDED(mutex_);
  void Doing(size_t row, absl::string_view what) ABSL_LOCKS_EXCLUDED(mutex_);
  // An answer grows.
  void Arriving(size_t row, uint64_t text_bytes, uint64_t reasoning_bytes) ABSL_LOCKS_EXCLUDED(mutex_);
  void Decided(size_t row, const Turn& turn) ABSL_LOCKS_EXCLUDED(mutex_, saying_);
  void Ended(size_t row, const v1::TrajectoryEnded& ended) ABSL_LOCKS_EXCLUDED(mutex_, saying_);
  void Spent(const v1::Usage& total) ABSL_LOCKS_EXCLUDED(mutex_);
  void Note(size_t row, absl::string_view text) ABSL_LOCKS_EXCLUDED(mutex_, saying_);
  void Note(absl::string_view text) ABSL_LOCKS_EXCLUDED(mutex_, saying_);

  BoardState state() const ABSL_LOCKS_EXCLUDED(mutex_);
  // Waits until something has changed since the last call, or Close. False after Close.
  bool AwaitChange() ABSL_LOCKS_EXCLUDED(mutex_);
  void Close() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  std::string IdOf(size_t row) const ABSL_LOCKS_EXCLUDED(mutex_);
  void Keep(const std::string& note) ABSL_LOCKS_EXCLUDED(mutex_);
  void Say(const std::string& line) ABSL_LOCKS_EXCLUDED(mutex_, saying_);

  absl::Mutex saying_;  // lines do not mix
  const std::function<void(absl::string_view)> say_;
  mutable absl::Mutex mutex_;
  BoardState state_ ABSL_GUARDED_BY(mutex_);
  bool changed_ ABSL_GUARDED_BY(mutex_) = false;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
};

// A turn's outcome as one character: '+' correct, 'c' compile error, 'h' capture error, 'r' rejected, 'z' sanitizer,
// 'x' runtime error, 't' time-out, 'n' wrong numbers, '!' cheating, '-' no candidate, '?' anything else.
char GlyphOf(const Turn& turn);

// One line about a decided turn: "exp_003 turn 2: CORRECT, 0.83x".
std::string LineOf(absl::string_view id, const Turn& turn);

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_ROLLOUT_VIEW_BOARD_H_
