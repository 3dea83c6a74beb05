// Runs one launch: blocks in parallel on all cores, in order of their index, with patience for those that wait for
// others.
#ifndef SASSAY_PROFILER_SERVICE_EMULATOR_EXEC_GRID_H_
#define SASSAY_PROFILER_SERVICE_EMULATOR_EXEC_GRID_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "profiler_service/emulator/exec/launch_context.h"

namespace sassay::emulator {

// Where a warp of a launch that did not end stood.
struct Standing {
  Place place;
  uint32_t warp = 0;
  std::string state;
};

struct GridOptions {
  int threads = 1;
  // Of SteadyNow.
  absl::Time deadline = absl::InfiniteFuture();
  // After this long a launch is given up as soon as some of its blocks, tried ahead of their turn, tell that it cannot
  // end in time (pace/estimate.h).
  absl::Duration estimate_after = absl::Seconds(1);
  // Blocks that may be resident at once: a GPU would hold so many, and a block may wait for any of them.
  uint64_t resident_blocks = 1;
  // Whether they are as many as on a GPU; if fewer, blocks that wait for one that has no room may be honest.
  bool residents_as_on_gpu = true;
  // Launches that follow: how many like this one, and what the others take at least (pace/ledger.h).
  double repeats = 0;
  absl::Duration later;
};

struct GridResult {
  enum Kind { kDone, kFault, kFailed, kTimeout, kDeadlock, kEndless, kTooLarge };
  Kind kind = kDone;
  std::string message;
  std::string mbarrier_cause;       // kDeadlock, kEndless: why warps wait for ever at an mbarrier, if any does
  std::vector<Standing> standings;  // kTimeout, kDeadlock, kEndless; bounded
  std::vector<Count> counts;        // counted launches, by Inst::id
  absl::Duration elapsed;
  absl::Duration cost;  // CPU time, divided among the threads that blocks ran on
  uint64_t blocks_done = 0;
};

GridResult RunGrid(LaunchContext& launch, const GridOptions& options);

}  // namespace sassay::emulator

#endif  // SASSAY_PROFILER_SERVICE_EMULATOR_EXEC_GRID_H_
