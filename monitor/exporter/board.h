// What the monitor knows at this moment, for whoever wants to see it.
//
// Why: Prometheus must be answered also while a driver call, a disk or the monitor's own loop hangs. Whoever learns
// something notes it here, which waits for nothing; a scrape reads what is noted, with its age.
#ifndef SASSAY_MONITOR_EXPORTER_BOARD_H_
#define SASSAY_MONITOR_EXPORTER_BOARD_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "common/base/steady_time.h"
#include "monitor/rules/engine.h"
#include "monitor/sources/source.h"
#include "sassay/v1/control.pb.h"

namespace sassay::monitor {

// How a GPU is called, as dcgm-exporter's labels have it. What is not known is empty.
struct GpuName {
  std::string uuid;      // NVML's, or the service's id of an emulated one
  std::string index{};   // "0"
  std::string device{};  // "nvidia0"
  std::string model{};   // "NVIDIA H200"
};

// Counted by the two labels that the metric has.
using Counts = std::map<std::pair<std::string, std::string>, uint64_t>;

// Everything that is noted.
struct Snapshot {
  struct Source {
    absl::Duration silent;
    uint64_t readings = 0;
    uint64_t failures = 0;
  };
  std::map<std::string, GpuName> names;                          // by uuid
  std::vector<SubjectView> subjects;                             // as Engine::View
  std::map<std::pair<std::string, std::string>, Sample> latest;  // by (gpu, signal)
  std::map<std::string, Source> sources;                         // by name
  Counts incidents;                                              // (rule, severity)
  Counts actions;                                                // (kind, outcome)
  std::map<std::pair<std::string, int>, uint64_t> xids;          // by (gpu, code)
  std::map<std::string, uint64_t> canary_failures;               // by gpu
  uint64_t samples_dropped = 0;
  bool service_up = false;
  absl::optional<absl::Time> decided;  // when the rules last looked, by the steady clock
};

// Thread-safe; no call waits for anything but another call here. Memory: bounded by GPUs, signals and rules. The loop
// of the monitor calls, after each Engine::Step: Saw, Show, and ShowSource for each source; and Acted after each
// decision that it carried out.
class Board {
 public:
  explicit Board(std::function<absl::Time()> steady_now = SteadyNow) : steady_now_(std::move(steady_now)) {}

  // How GPUs are called. One that was never named is shown by its uuid alone.
  void Name(const std::vector<GpuName>& gpus) ABSL_LOCKS_EXCLUDED(mutex_);
  // What the sampler gave.
  void Saw(const std::vector<Sample>& samples) ABSL_LOCKS_EXCLUDED(mutex_);
  // What the rules think now. An incident that is open there for the first time is counted.
  void Show(std::vector<SubjectView> subjects) ABSL_LOCKS_EXCLUDED(mutex_);
  // An incident that may have been over before Show could see it; counted once, however often it comes.
  void Record(const sassay::v1::Incident& incident) ABSL_LOCKS_EXCLUDED(mutex_);
  // A decision was carried out, or could not be. `kind`: DecisionKindName.
  void Acted(absl::string_view kind, bool ok) ABSL_LOCKS_EXCLUDED(mutex_);
  // How a source is: Sampler::View.
  void ShowSource(absl::string_view name, const Snapshot::Source& source) ABSL_LOCKS_EXCLUDED(mutex_);
  // Samples that the sampler dropped so far.
  void ShowDropped(uint64_t samples) ABSL_LOCKS_EXCLUDED(mutex_);
  // Whether the service's telemetry is heard.
  void SetServiceUp(bool up) ABSL_LOCKS_EXCLUDED(mutex_);

  Snapshot snapshot() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  void Count(const sassay::v1::Incident& incident) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::function<absl::Time()> steady_now_;
  mutable absl::Mutex mutex_;
  Snapshot snapshot_ ABSL_GUARDED_BY(mutex_);
  // Ids of the latest incidents that were counted.
  std::set<std::string> counted_ ABSL_GUARDED_BY(mutex_);
  std::deque<std::string> counted_in_order_ ABSL_GUARDED_BY(mutex_);
};

// "warning".
absl::string_view SeverityLabel(sassay::v1::Severity severity);

}  // namespace sassay::monitor

#endif  // SASSAY_MONITOR_EXPORTER_BOARD_H_
