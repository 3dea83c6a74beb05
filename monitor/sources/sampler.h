// Every source on a thread of its own, and what they say in one bounded queue.
//
// Why: a source may hang for ever in the driver. Then its thread is left behind (that one, no more), everybody is told
// that it is silent, and the others, the rules and the end of the process do not wait for it.
#ifndef SASSAY_MONITOR_SOURCES_SAMPLER_H_
#define SASSAY_MONITOR_SOURCES_SAMPLER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "monitor/sources/source.h"

namespace sassay::monitor {

// How one source is, for people and metrics.
struct SourceView {
  std::string name;
  bool seen = false;       // it has answered at least once
  bool reading = false;    // a reading is under way
  absl::Duration silent;   // since the begin of its last good reading, if that is longer than its deadline; else 0
  uint64_t readings = 0;   // good ones
  uint64_t failures = 0;   // readings that answered with an error
  std::string last_error;  // of the last reading; empty if that was good
};

// Takes samples of all sources, and adds `source.silent_seconds` (text: the source) for each of them: 0 at the begin of
// each good reading, which has seen everything before that; and twice a second, as long as it hangs or fails past its
// deadline, the time since then. A source that has answered UNAVAILABLE from the beginning is not there, and silent
// about it.
//
// Life cycle: the constructor starts the threads. The destructor waits for those that are not in a reading, and for the
// others as long as their deadline; one that hangs is left behind with its source.
// Threads: one taker; Wake from anywhere.
// Memory: when nobody takes, the oldest samples go; dropped() counts them.
class Sampler {
 public:
  explicit Sampler(std::vector<std::unique_ptr<Source>> sources, size_t capacity = 65536);
  ~Sampler();
  Sampler(const Sampler&) = delete;
  Sampler& operator=(const Sampler&) = delete;

  // Waits until there are samples (that a source has nothing to say and is well is none) and, from then on, `gather`
  // for others of the same beat; until Wake was called; or until `patience` has passed. Gives all there are, in the
  // order in which they came.
  std::vector<Sample> Take(absl::Duration patience, absl::Duration gather = absl::ZeroDuration());
  // Ends one Take that waits now or comes next.
  void Wake();

  // In the order of the constructor.
  std::vector<SourceView> View() const;
  uint64_t dropped() const;

 private:
  struct Shared;
  struct Slot;
  static void Run(std::shared_ptr<Shared> shared, std::shared_ptr<Slot> slot);

  const std::shared_ptr<Shared> shared_;
  std::vector<std::shared_ptr<Slot>> slots_;
};

}  // namespace sassay::monitor

#endif  // SASSAY_MONITOR_SOURCES_SAMPLER_H_
