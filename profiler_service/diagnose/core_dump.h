// Where every warp stands after a fault or a hang: a GPU core dump, read by cuda-gdb.
//
// The candidate runs once more in a runner that was told, before it made its context, to write a core dump when a
// kernel faults, and when somebody writes into a pipe: that is done when the kernel does not end in time. The dump
// holds registers and code, no global, shared or local memory. Where there is no dump, for the driver has been seen to
// hang over some stray stores and a store may also be stray without a fault, memcheck stops the threads that misuse
// memory, and writes one of them.
#ifndef SASSAY_PROFILER_SERVICE_DIAGNOSE_CORE_DUMP_H_
#define SASSAY_PROFILER_SERVICE_DIAGNOSE_CORE_DUMP_H_

#include <string>

#include "absl/status/statusor.h"
#include "profiler_service/diagnose/diagnosed.h"
#include "profiler_service/diagnose/gdb_output.h"
#include "profiler_service/wire/candidate_run.h"
#include "profiler_service/wire/runner_pool.h"

namespace sassay::diagnose {

// Paths; empty where there is none.
struct DebugTools {
  std::string cuda_gdb;
  std::string compute_sanitizer;
};

// The dump itself is a File, if it is small enough. Whoever calls holds the device alone. A Status is CANCELLED (the
// kill switch); all else is UNAVAILABLE in the report.
absl::StatusOr<Diagnosed> DebugFault(const wire::CandidateRun& run, wire::RunnerPool& pool, const DebugTools& tools);

// The warps of equal place and state as one, those that faulted first, then most first.
std::vector<sassay::v1::WarpState> StandingWarps(const StandingThreads& threads,
                                                 const std::map<uint64_t, Place>& places,
                                                 const sassay::v1::Bundle& bundle);

}  // namespace sassay::diagnose

#endif  // SASSAY_PROFILER_SERVICE_DIAGNOSE_CORE_DUMP_H_
