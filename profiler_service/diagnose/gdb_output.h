// What cuda-gdb prints about a GPU core dump, as data. The dump comes from a process that ran hostile device code, so
// the text may say anything: every reader is bounded and none fails.
#ifndef SASSAY_PROFILER_SERVICE_DIAGNOSE_GDB_OUTPUT_H_
#define SASSAY_PROFILER_SERVICE_DIAGNOSE_GDB_OUTPUT_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "sassay/v1/plan.pb.h"

namespace sassay::diagnose {

inline constexpr size_t kMaxThreadGroups = 100'000;

// Threads in a row, of equal place: one line of `info cuda threads`.
struct ThreadGroup {
  uint32_t kernel = 0;             // the debugger's number
  sassay::v1::Dim3 block, thread;  // of the first one
  uint64_t count = 0;
  uint64_t pc = 0;
  std::string file;  // as the line table has it; empty where it has none
  uint64_t line = 0;
};

// The answers to `target cudacore`, `info cuda kernels` and `info cuda threads`.
struct StandingThreads {
  // "Warp Misaligned Address", "Trace/breakpoint trap"; empty where nothing faulted.
  std::string exception;
  // Where it was raised; 0 where the debugger does not say, then the focus is where.
  uint64_t exception_pc = 0;
  std::string exception_function;     // as the debugger calls it: "gemm"
  std::string exception_source_line;  // "kernel.cu:88"
  // The thread in focus: of a fault, the one that faulted.
  sassay::v1::Dim3 focus_block, focus_thread;
  std::map<uint32_t, sassay::v1::Dim3> block_dims;  // by the debugger's number of a kernel
  std::vector<ThreadGroup> groups;
};

StandingThreads ParseStandingThreads(absl::string_view untrusted_text);

// The answers to `info symbol PC`, `info line *(PC - 16)` and `x/20i PC - 160`.
struct Place {
  std::string kernel;    // mangled symbol: the section's name without ".text."
  std::string function;  // the same, or a function inside: "_Z8wait_forjj"
  uint64_t offset = 0;   // in that function, in bytes
  std::string sass;      // the instruction there
  std::string before;    // the one before it
  // Where the one before it comes from.
  std::string file_before;
  uint64_t line_before = 0;
  // Those before and after it, in order.
  std::vector<std::string> around;
};

// For every PC that `text` tells something of, out of these.
std::map<uint64_t, Place> ParsePlaces(absl::string_view untrusted_text, const std::vector<uint64_t>& pcs);

// What a warp at such a place does: "waiting at a barrier", "waiting at an mbarrier", "running". A warp that waits at a
// barrier stands already at the instruction behind it; then `behind` is true.
std::string Doing(const Place& place, bool& behind);

}  // namespace sassay::diagnose

#endif  // SASSAY_PROFILER_SERVICE_DIAGNOSE_GDB_OUTPUT_H_
