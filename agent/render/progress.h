// What is happening, while it happens.
#ifndef SASSAY_AGENT_RENDER_PROGRESS_H_
#define SASSAY_AGENT_RENDER_PROGRESS_H_

#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <thread>

#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "common/terminal/style.h"
#include "sassay/v1/events.pb.h"

namespace sassay::agent {

// Writes progress by step: on a terminal one line that is redrawn with a spinner and the elapsed time until the step
// ends; elsewhere one plain line per fact.
//
// Life cycle: Begin and End steps of one's own (compile, capture, upload), hand over the service's events, and Finish
// (or destroy) so that no half line stays behind. Beginning a step ends an unfinished one silently. Threads:
// thread-safe.
class Progress {
 public:
  // `out` must outlive this. `now` is the clock (absl::Now).
  Progress(std::ostream& out, Style style, bool interactive, std::function<absl::Time()> now);
  ~Progress() { Finish(); }

  void Begin(absl::string_view step, absl::string_view detail = "");
  // Other words behind the running step.
  void Detail(absl::string_view detail);
  // `outcome` is a StageReport::Outcome in words ("passed", "failed", "skipped", "unavailable").
  void End(absl::string_view outcome, absl::string_view detail = "");
  // A line of its own, above the running step.
  void Note(absl::string_view text);
  void OnEvent(const v1::Event& event);
  // Redraws the running step; nothing if not interactive.
  void Tick();
  void Finish();

 private:
  void Line(absl::string_view text) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Redraw() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void EraseLine() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void BeginLocked(absl::string_view step, absl::string_view detail) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void ExcludedLine(const v1::Excluded& excluded) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void StageLine(const v1::StageReport& report) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::string OutcomeText(absl::string_view outcome) const;

  const Style style_;
  const bool interactive_;
  const std::function<absl::Time()> now_;
  absl::Mutex mutex_;
  std::ostream& out_ ABSL_GUARDED_BY(mutex_);
  std::string step_ ABSL_GUARDED_BY(mutex_);
  std::string detail_ ABSL_GUARDED_BY(mutex_);
  absl::Time began_ ABSL_GUARDED_BY(mutex_);
  size_t ticks_ ABSL_GUARDED_BY(mutex_) = 0;
  bool line_drawn_ ABSL_GUARDED_BY(mutex_) = false;
};

// Calls Progress::Tick ten times a second from a thread of its own until it is destroyed.
class Spinner {
 public:
  explicit Spinner(Progress& progress);
  ~Spinner();
  Spinner(const Spinner&) = delete;
  Spinner& operator=(const Spinner&) = delete;

 private:
  absl::Notification stop_;
  std::thread thread_;
};

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_RENDER_PROGRESS_H_
