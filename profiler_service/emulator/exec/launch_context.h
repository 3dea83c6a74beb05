// Everything that the blocks of one launch share.
#ifndef SASSAY_PROFILER_SERVICE_EMULATOR_EXEC_LAUNCH_CONTEXT_H_
#define SASSAY_PROFILER_SERVICE_EMULATOR_EXEC_LAUNCH_CONTEXT_H_

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "profiler_service/emulator/exec/program.h"
#include "profiler_service/emulator/exec/report.h"
#include "profiler_service/emulator/memory/global_memory.h"

namespace sassay::emulator {

struct Extent {
  uint32_t x = 1, y = 1, z = 1;
  uint64_t count() const { return uint64_t{x} * y * z; }
};

// Executions of one instruction.
struct Count {
  uint64_t warps = 0, threads = 0;
  // Of accesses to shared memory: passes over its 32 banks, and how many would do if no two words shared a bank.
  uint64_t passes = 0, least_passes = 0;
};

// What device code printed, up to a cap. Thread-safe.
class PrintBuffer {
 public:
  static constexpr size_t kCapBytes = size_t{64} << 10;
  void Append(absl::string_view text);
  std::string Take();

 private:
  absl::Mutex mutex_;
  std::string text_ ABSL_GUARDED_BY(mutex_);
  bool capped_ ABSL_GUARDED_BY(mutex_) = false;
};

class PrivatePages;

// Written before the launch starts, read by all its threads.
struct LaunchFacts {
  const Program* program = nullptr;
  const Code* kernel = nullptr;
  const GlobalMemory* memory = nullptr;
  Extent grid, block, cluster;
  uint32_t dynamic_shared_bytes = 0;
  uint32_t registers = 0;  // that ptxas gave a thread; 0: not known
  std::vector<uint8_t> parameters;
  uint64_t grid_workspace = 0;  // what %envreg1 and %envreg2 tell of; 0 unless cooperative
  bool checked = false;
  bool counted = false;
  // Of a trial (private_pages.h): what it writes to global memory. A trial ends (`stop`) where it asks what other
  // blocks have done: from there on its way is not the one that it will go when its turn has come.
  PrivatePages* pages = nullptr;
  // Host memory for registers and stacks of all warps.
  int64_t most_held_bytes = int64_t{2560} << 20;
};

// Thread-safe, but for what LaunchFacts says.
struct LaunchContext : LaunchFacts {
  std::atomic<bool> stop{false};
  std::atomic<bool> watch_loops{false};      // the launch has run for long enough to look for endless loops
  std::atomic<int64_t> copies_under_way{0};  // of all blocks, and their groups
  Report report;
  PrintBuffer printed;

  uint32_t shared_bytes() const { return program->dynamic_shared_base - kSharedBase + dynamic_shared_bytes; }

  // Counts host memory for the registers and stacks of all warps; past `most_held_bytes` the launch ends, for want of
  // memory of ours.
  void Hold(int64_t bytes);
  // Ends the launch for a reason that is the candidate's (a trap, an assertion, a fault); the lowest block's counts.
  void Fault(Misuse misuse);
  // Ends the launch because the emulator cannot go on.
  void Fail(absl::Status status);
  bool faulted() const;
  Misuse fault() const;
  absl::Status failure() const;

 private:
  std::atomic<int64_t> held_bytes_{0};
  mutable absl::Mutex mutex_;
  bool faulted_ ABSL_GUARDED_BY(mutex_) = false;
  Misuse fault_ ABSL_GUARDED_BY(mutex_);
  absl::Status failure_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace sassay::emulator

#endif  // SASSAY_PROFILER_SERVICE_EMULATOR_EXEC_LAUNCH_CONTEXT_H_
