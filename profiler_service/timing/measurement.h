// What a measurement consists of, which block comes next, when to stop, and what is void. Pure: no clock, no device.
//
// Why blocks and not one long run of each program: a GPU changes its clock within milliseconds for reasons of its own
// (one and the same GEMM: 0.173 to 0.210 ms within a second of one process, H200). What two neighbouring blocks have in
// common cancels in their ratio; what drifts slowly cancels in the order A-B-B-A. docs/timing_method.md has the
// measurements behind the constants.
#ifndef SASSAY_PROFILER_SERVICE_TIMING_MEASUREMENT_H_
#define SASSAY_PROFILER_SERVICE_TIMING_MEASUREMENT_H_

#include <map>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "profiler_service/timing/statistics.h"

namespace sassay::timing {

enum class Side { kCandidate, kBaseline };

// When to stop, and how long a block is.
struct Rules {
  // Half of the 95 % interval's width, relative to the ratio; of the candidate's median where there is no baseline. A
  // measurement stops where it is as narrow as this.
  double half_width = 0.01;
  // Kept samples of each side, at least; and how many are enough once the budget is used up.
  int samples = 50;
  int budget_samples = 16;
  // At least, once the ratio is clearly below `slow_ratio`: nobody needs three digits of it.
  int slow_samples = 5;
  double slow_ratio = 0.2;
  // A measurement that has its samples and is not precise after this time ends all the same: a wider interval is still
  // true, and a turn has an end.
  absl::Duration budget = absl::Milliseconds(800);
  // What a measurement may take at all; it ends with what it has.
  absl::Duration time_cap = absl::Seconds(15);
  // Of one block: samples that count, and those before them that do not. The first sample after a switch was 4 to 43 %
  // slow.
  int block_samples = 8;
  int dropped_samples = 2;
  // A block gets fewer samples rather than take longer, and a call that takes this long needs none dropped.
  absl::Duration long_block = absl::Milliseconds(50);
  // Share of void blocks above which nothing is believed.
  double most_void = 0.1;
  // Host time to enqueue one operation in a sandboxed process, at most, beside every load of the host.
  double enqueue_ns = 20e3;
};

// For an A/A anchor, whose ratio must be 1.000 ± 0.003, that is, twice the interval, and whose time is its own.
Rules AnchorRules();

struct BlockSize {
  int dropped = 0;
  int kept = 0;
};

// The size of blocks for calls of this duration, with `sets` sets of tensors: each call, also one that is dropped, has
// a set of its own, so that none sees inputs that an earlier one has seen, and each output is still there when the
// block is over. At least one sample.
BlockSize SizeFor(const Rules& rules, absl::Duration call, int sets);

// One block as it was measured.
struct Block {
  Side side = Side::kCandidate;
  // Those that count.
  std::vector<double> samples_ns;
  // Mean of all, dropped ones included.
  double mean_ns = 0;
  // Measured on the GPU across the block; 0 if unknown.
  double clock_mhz = 0;
  // Why it does not count ("clock slowdown"); empty if it does.
  std::string void_reason;
};

enum class Stop {
  kGoOn,
  // The interval is narrow enough.
  kPrecise,
  // The candidate is clearly slower than a fifth of the baseline.
  kSlow,
  // Either limit of time.
  kTimeCap,
  // Too large a share of the blocks is void.
  kVoid,
};

// A measurement in the making.
//
// Rounds are pairs of neighbouring blocks, A-B and B-A in turn (or single blocks where there is no baseline). A round
// with a void block does not count and is repeated in the same order. Thread-compatible.
class Measurement {
 public:
  Measurement(const Rules& rules, bool paired) : rules_(rules), paired_(paired) {}

  // The sides of the next round, in order.
  std::vector<Side> NextRound() const;
  void Add(std::vector<Block> round);
  // Whether there is enough, `elapsed` after the beginning. At the time cap kVoid goes before kTimeCap.
  Stop Decide(absl::Duration elapsed) const;

  const std::vector<double>& samples(Side side) const { return side == Side::kCandidate ? candidate_ : baseline_; }
  // Median of the blocks' clocks; 0 if unknown.
  double clock_mhz(Side side) const;
  // Mean of all samples of a block over the median of those that count, on average; 1 for no block.
  double unevenness(Side side) const;
  // Baseline over candidate, as PairedRatio; without a baseline the candidate's block medians, in nanoseconds.
  RatioEstimate estimate() const { return PairedRatio(logs_); }
  int blocks() const { return blocks_; }
  int void_blocks() const { return void_blocks_; }
  // Samples in void blocks, by reason.
  const std::map<std::string, int>& voided_samples() const { return voided_samples_; }
  // Whether more than the allowed share of the blocks is void.
  bool is_void() const;

 private:
  bool ClearlySlow() const;
  bool Enough(int samples) const;

  const Rules rules_;
  const bool paired_;
  std::vector<double> candidate_, baseline_;
  std::vector<double> candidate_clocks_, baseline_clocks_;
  std::vector<double> candidate_unevenness_, baseline_unevenness_;
  // One for each round that counts: ln(baseline / candidate), or ln(candidate).
  std::vector<double> logs_;
  int blocks_ = 0;
  int void_blocks_ = 0;
  std::map<std::string, int> voided_samples_;
};

}  // namespace sassay::timing

#endif  // SASSAY_PROFILER_SERVICE_TIMING_MEASUREMENT_H_
