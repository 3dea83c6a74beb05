// What launches cost, so that a plan of many launches can be refused when those that are left cannot end in time.
#ifndef SASSAY_PROFILER_SERVICE_EMULATOR_PACE_LEDGER_H_
#define SASSAY_PROFILER_SERVICE_EMULATOR_PACE_LEDGER_H_

#include <algorithm>
#include <cstdint>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/time/time.h"

namespace sassay::emulator {

// Launches by shape (kernel, grid, block, dynamic shared memory; not arguments: a launch of the same shape may do less,
// as the steps of a factorisation do). A launch to come is taken to cost half of what its shape cost at least, on
// average or lately.
//
// Life cycle: Expect every queued launch, then Begin and End each in turn; Clear before the next queue. What was
// measured stays. Thread-compatible. Units: wall time, as if all of the CPU time had been spread over the workers.
class LaunchLedger {
 public:
  static constexpr double kLikeness = 0.5;

  void Expect(const std::string& shape);
  void Begin(const std::string& shape);
  void End(const std::string& shape, absl::Duration cost);
  void Clear();

  // Launches expected and not begun whose shape has no measure yet, weighed by their likeness: as many times the launch
  // of that shape now under way.
  double Repeats(const std::string& shape) const;
  // What the launches expected and not begun take at least, as far as their shapes were measured.
  absl::Duration LeastLater() const { return std::max(later_, absl::ZeroDuration()); }
  // Whether a launch that has run for `elapsed` is no longer under way than others of its shape took.
  bool IsUsual(const std::string& shape, absl::Duration elapsed) const;
  uint64_t ended() const { return ended_; }
  uint64_t expected() const { return expected_; }

 private:
  struct Shape {
    uint64_t waiting = 0, measured = 0;
    absl::Duration sum, last, longest;
    absl::Duration Least() const {
      return measured == 0 ? absl::ZeroDuration() : std::min(sum / static_cast<double>(measured), last) * kLikeness;
    }
  };
  absl::flat_hash_map<std::string, Shape> shapes_;
  absl::Duration later_;
  uint64_t expected_ = 0, ended_ = 0;
};

}  // namespace sassay::emulator

#endif  // SASSAY_PROFILER_SERVICE_EMULATOR_PACE_LEDGER_H_
