// The monitor at work: samples to the rules, the rules' decisions to the service, and everything to the board.
#ifndef SASSAY_MONITOR_PROGRAM_WATCH_H_
#define SASSAY_MONITOR_PROGRAM_WATCH_H_

#include <atomic>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "monitor/actions/executor.h"
#include "monitor/actions/health_reporter.h"
#include "monitor/exporter/board.h"
#include "monitor/journal/journal.h"
#include "monitor/rules/engine.h"
#include "monitor/sources/nvml/gpus.h"
#include "monitor/sources/sampler.h"

namespace sassay::monitor {

// What the loop works with; made by run.cc, or by a test with fakes.
struct WatchParts {
  v1::MonitorConfig config;
  std::string host;
  std::vector<std::unique_ptr<Source>> sources;
  CarryOutFunction carry_out;
  ReportHealth report_health;
  std::unique_ptr<Journal> journal;
  std::vector<v1::JournalEntry> remembered;    // what the journal held
  Board* board = nullptr;                      // may be null
  std::shared_ptr<nvml::Directory> directory;  // how GPUs are called on the board; may be null
};

// Life cycle: construct, Run until Stop. Samples that come by another way than a source (a supervised process' end) are
// Added.
// Order, each round: samples and outcomes into the engine; its journal to disk; its decisions to the executor; its
// report to the service. A journal that cannot be written is no reason to leave a hot GPU working: decisions are
// carried out all the same, and everything is written again when there is room. Threads: Run on one thread; Stop and
// Add from any, Stop also from a signal's thread.
class Watch {
 public:
  explicit Watch(WatchParts parts);
  void Run();
  void Stop();
  void Add(Sample sample) ABSL_LOCKS_EXCLUDED(mutex_);
  // Whether a source's thread hangs, so that an orderly end of the process would wait for it.
  bool AnyHangs() const;

 private:
  void Round();
  std::vector<Sample> TakeAdded() ABSL_LOCKS_EXCLUDED(mutex_);
  void WriteJournal();
  // Each decision and each failure is one line, however often it is tried.
  void LogDue(const std::vector<Decision>& due);
  void LogOutcome(const Outcome& outcome);
  void ShowOnBoard(const std::vector<Sample>& samples, const std::vector<Outcome>& outcomes);

  void ShowStates();

  const std::unique_ptr<Journal> journal_;
  Board* const board_;
  const std::shared_ptr<nvml::Directory> directory_;
  Engine engine_;
  uint64_t logged_ = 0;              // highest id of a decision
  std::set<uint64_t> failing_ = {};  // decisions whose failure was told
  absl::Time shown_ = absl::InfinitePast();
  bool journal_behind_ = false;
  absl::Time journal_retry_ = absl::InfinitePast();
  std::atomic<bool> stop_ = false;
  absl::Mutex mutex_;
  std::vector<Sample> added_ ABSL_GUARDED_BY(mutex_);
  Sampler sampler_;
  HealthReporter reporter_;
  Executor executor_;
};

}  // namespace sassay::monitor

#endif  // SASSAY_MONITOR_PROGRAM_WATCH_H_
