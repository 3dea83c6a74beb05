// Device times against the wall: what a runner says about its own speed is the word of a process that ran hostile code.
//
// Three rules, all of them about time measured by this process, outside the runner:
//   1. The samples of a block lie inside its wall time: their sum cannot exceed it. A block that breaks this is void.
//   2. What is left of a block's wall time (flushing, poisoning, launching, the message there and back) must not be
//      more than twice what it is for the trusted baseline, whose outputs are as large, and what the call's own
//      allocations and operations take, or a fifth of what is reported: a runner that reports a part of what its calls
//      took leaves the rest unexplained. Without a baseline its bytes at a bandwidth that every GPU has bound it. The
//      smallest rest of all blocks counts: a busy host only adds.
//   3. A number of calls that we name, run back to back during warm-up and timed from outside, bound the speed from
//      below: cold calls are not faster than warm ones by more than a clock can change. Where the host may have been
//      what took so long, nothing is said: it enqueues one call while the device runs the one before, and may take
//      twice what the judge takes to launch a small kernel beside the same load, and 4 µs, for each operation, or 20 µs
//      where that is not known. It does not hold for a kernel that remembers the one set of inputs that it is warmed up
//      on; that one has only rule 2 against it.
// Rules 2 and 3 hold for a measurement as a whole. What breaks one is no time, never a conviction: a host that was
// suspended looks the same.
#ifndef SASSAY_PROFILER_SERVICE_TIMING_RECONCILE_H_
#define SASSAY_PROFILER_SERVICE_TIMING_RECONCILE_H_

#include <limits>
#include <string>

#include "absl/time/time.h"

namespace sassay::timing {

// What surrounds each sample besides the call itself, for where no baseline shows how long it takes.
struct Surroundings {
  // Written before each sample: the L2 flush, poisoned outputs and workspace.
  double written_bytes = 0;
  // Those of them that are not written before a sample of the baseline: allocations of the call.
  double own_bytes = 0;
  // Launches, copies and memsets of one call.
  double operations = 1;
  // Host time to enqueue one of them in a sandboxed process, at most.
  double enqueue_ns = 20e3;
};

// Of one side. Thread-compatible.
class WallRecord {
 public:
  // Rule 1: empty, or why the block is impossible.
  static std::string Impossible(double sum_ns, absl::Duration wall);

  // A block of `samples` calls (dropped ones included) whose device times add up to `sum_ns`.
  void AddBlock(int samples, double sum_ns, absl::Duration wall);
  // `calls` back to back.
  void AddWarmUp(int calls, absl::Duration wall);
  // What one small kernel of a trusted program took to launch.
  void AddEnqueue(double ns);

  // Wall time per sample that its device time does not explain, at least. Infinite before the first block.
  double rest_ns() const { return rest_ns_; }
  // Wall time per call of the fastest stretch. Infinite before the first one.
  double warm_call_ns() const { return warm_call_ns_; }
  // Host time per launch, at least. Infinite where nobody said.
  double enqueue_ns() const { return enqueue_ns_; }

  // Rules 2 and 3: empty, or what does not add up. `median_ns` is what the samples say; `trusted` the baseline's record
  // (null where there is none).
  std::string Implausible(double median_ns, const WallRecord* trusted, const Surroundings& around) const;

 private:
  double rest_ns_ = std::numeric_limits<double>::infinity();
  double warm_call_ns_ = std::numeric_limits<double>::infinity();
  double enqueue_ns_ = std::numeric_limits<double>::infinity();
};

}  // namespace sassay::timing

#endif  // SASSAY_PROFILER_SERVICE_TIMING_RECONCILE_H_
