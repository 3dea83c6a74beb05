// What a baseline took before on the same GPU. The ratio of two neighbouring programs is blind to whatever slows the
// baseline alone, and a slowed baseline is a speed-up for nothing; its own history shows it.
#ifndef SASSAY_PROFILER_SERVICE_TIMING_BASELINE_HISTORY_H_
#define SASSAY_PROFILER_SERVICE_TIMING_BASELINE_HISTORY_H_

#include <cstddef>
#include <deque>
#include <filesystem>
#include <list>
#include <map>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "sassay/v1/timing.pb.h"
#include "sassay/v1/workload.pb.h"

namespace sassay::timing {

// How a sample is taken (device/sampler.h); raise it where the same call would give another number.
inline constexpr int kSampledAs = 1;

// Whose history it is: what must be the same for two times to be comparable. One line of text.
std::string HistoryKey(absl::string_view gpu_uuid, absl::string_view driver, const sassay::v1::Workload& workload,
                       absl::string_view distribution, const sassay::v1::BaselineProgram& program);

// How a baseline's median compares with what is remembered of it.
//
// A clock moves by a fifth under the power cap, so that time alone would call a hot GPU slow; cycles alone would call
// a fast clock slow where the memory is what a program waits for. So it is slower only by both: of 198 baselines on
// five H200s none was by both more than 2.1 % slower than the median of its session (calls of 7 µs; 0.1 % for 0.74 ms).
// Where a clock is not known, time alone decides, and has to be off by what a clock may move, too.
inline constexpr double kSlowerByBoth = 1.10;
inline constexpr double kSlowerByTime = 1.30;
// With fewer earlier measurements nothing is said.
inline constexpr int kFewestRemembered = 5;

// Why the baseline cannot be what it was, in a line; empty if it can.
std::string SlowerThanBefore(const sassay::v1::BaselineHistory& compared);

// Thread-safe. Kept in a file, one JSON object a line, so that a restart forgets nothing; the file is rewritten when it
// holds many more lines than are remembered. What cannot be read of it is forgotten; what cannot be written is logged.
// An operator whose GPU has really become slower deletes its lines while the service is stopped.
class BaselineHistory {
 public:
  // Measurements of a key, and keys, that are remembered; the oldest go first.
  static constexpr size_t kRemembered = 20;
  static constexpr size_t kKeys = 4096;

  // An empty path keeps nothing on disk. A missing file is no history.
  explicit BaselineHistory(std::filesystem::path path = {});

  // A median in nanoseconds at an SM clock in MHz (0: unknown) beside what is remembered; without measurements if that
  // is nothing.
  sassay::v1::BaselineHistory Compare(const std::string& key, double median_ns, double clock_mhz) const
      ABSL_LOCKS_EXCLUDED(mutex_);
  // One that was believed.
  void Add(const std::string& key, double median_ns, double clock_mhz) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Measured {
    double median_ns = 0;
    double clock_mhz = 0;
  };
  struct Known {
    std::deque<Measured> measured;
    std::list<std::string>::iterator place;
  };

  void ReadLine(absl::string_view line) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Remember(const std::string& key, const Measured& measured) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Append(const std::string& key, const Measured& measured) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Rewrite() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::filesystem::path path_;
  mutable absl::Mutex mutex_;
  std::map<std::string, Known> known_ ABSL_GUARDED_BY(mutex_);
  std::list<std::string> order_ ABSL_GUARDED_BY(mutex_);  // keys, added to last first
  size_t lines_ ABSL_GUARDED_BY(mutex_) = 0;              // of the file
};

}  // namespace sassay::timing

#endif  // SASSAY_PROFILER_SERVICE_TIMING_BASELINE_HISTORY_H_
