// Conducts a measurement: warms up, lets blocks of candidate and baseline follow one another, reads clocks and walls
// around each, has outputs checked, and says what came of it. No process, no device and no clock of its own: everything
// that moves is handed in, so that every rule is tested without a GPU.
#ifndef SASSAY_PROFILER_SERVICE_TIMING_CONDUCT_H_
#define SASSAY_PROFILER_SERVICE_TIMING_CONDUCT_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "profiler_service/timing/measurement.h"
#include "profiler_service/timing/nvml.h"
#include "profiler_service/timing/reconcile.h"

namespace sassay::timing {

// What a program says about one block.
struct BlockReport {
  // Every sample, those to be dropped first.
  std::vector<double> samples_ns;
  // SM clock measured on the GPU across the block; 0 if unknown.
  double clock_mhz = 0;
  // Why the block is worth nothing by the program's own account ("launches came late"); empty if it is not.
  std::string trouble;
};

struct WarmUpReport {
  int calls = 0;
  double clock_mhz = 0;
  // Host time to launch one small kernel, where the program is to be believed; 0 if unknown.
  double enqueue_ns = 0;
};

// Candidate or baseline. A Status ends the measurement: what it means is known to whoever made the program.
class TimedProgram {
 public:
  virtual ~TimedProgram() = default;
  // At least `calls` calls and at least so long, back to back; fewer calls where they would take longer than `at_most`.
  virtual absl::StatusOr<WarmUpReport> WarmUp(int calls, absl::Duration at_least, absl::Duration at_most) = 0;
  virtual absl::StatusOr<BlockReport> RunBlock(const BlockSize& size) = 0;
};

// The candidate's inputs and outputs, between rounds. A Status ends the measurement.
class Interludes {
 public:
  virtual ~Interludes() = default;
  // New inputs and poisoned outputs for every set of tensors. No call is made between this and a block's first one.
  virtual absl::Status Refresh() = 0;
  // Sets of tensors that the candidate's calls go round. Valid after Refresh.
  virtual int ring() const = 0;
  // Perhaps compares outputs of the round that has just ended, as a secret seed decides; `last`: nothing comes after.
  virtual absl::Status Check(bool last) = 0;
};

// How the measurement ended.
struct Conducted {
  Conducted(const Rules& rules, bool paired) : measurement(rules, paired) {}

  Stop stop = Stop::kGoOn;
  Measurement measurement;
  // What device times and wall times say together, that a few slow calls hold the time of many fast ones, or that the
  // baseline is slower than it was; empty if nothing is wrong with them.
  std::string implausible;
  // Union over all blocks, void ones included.
  uint64_t clock_event_reasons = 0;
  uint32_t sm_clock_min_mhz = 0;
  uint32_t sm_clock_max_mhz = 0;
  // Whether NVML counts how long each void reason was in force, so that nothing between two readings is missed.
  bool counted_reasons = true;
  BlockSize size;
  WallRecord candidate_wall, baseline_wall;
  // Measurements that were void, or at odds with the wall, before this one.
  int void_measurements = 0;
  absl::Duration took;
};

// What a conductor works with. Everything must outlive the call.
struct Ensemble {
  TimedProgram* candidate = nullptr;
  // Null: the candidate alone.
  TimedProgram* baseline = nullptr;
  Interludes* interludes = nullptr;
  std::function<absl::StatusOr<ClockReading>()> clock;
  // SteadyNow.
  std::function<absl::Time()> now;
  Rules rules;
  Surroundings around;
  // Why the baseline's median, at its SM clock in MHz, cannot be believed; empty if it can. May be null.
  std::function<std::string(double median_ns, double clock_mhz)> doubt_baseline;
};

// Warm-up before the first sample, per side, in stretches of so many calls and so long: at least two of them, until two
// in a row differ in their clock by less than kSteadyClock. Under the power cap a clock never comes to rest (1349,
// 1368, 1355 MHz in stretches of 50 ms, H200), so there is an end to it: what moves on moves under both sides. And what
// the warm-up of a slow program may take.
inline constexpr int kWarmUpCalls = 5;
inline constexpr absl::Duration kWarmUpTime = absl::Milliseconds(25);
inline constexpr absl::Duration kLongestWarmUp = absl::Seconds(1);
inline constexpr int kMostWarmUps = 4;
inline constexpr double kSteadyClock = 0.01;
// The mean of all samples of a block, dropped ones included, over the median of those that count: of the candidate at
// most so many times the baseline's. A kernel that does the work of many calls in one of them, and rests in the
// others, has a fast median and a mean that tells.
inline constexpr double kMostUneven = 1.1;
// A measurement that was void, at odds with the wall (a host that was busy) or with the baseline's past is tried so
// often in all.
inline constexpr int kMeasurements = 3;

// A Status is a program's, an interlude's, or the clock's (UNAVAILABLE, beginning "clocks are not known"). A void
// measurement is none: `stop` is kVoid then.
absl::StatusOr<Conducted> Conduct(const Ensemble& ensemble);

}  // namespace sassay::timing

#endif  // SASSAY_PROFILER_SERVICE_TIMING_CONDUCT_H_
