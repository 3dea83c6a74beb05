// Nsight Compute on a runner: how the candidate's launches use the GPU.
//
// It owns the GPU's counters and replays every kernel several times, so that whoever calls holds the device alone.
#ifndef SASSAY_PROFILER_SERVICE_DIAGNOSE_NCU_H_
#define SASSAY_PROFILER_SERVICE_DIAGNOSE_NCU_H_

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "profiler_service/diagnose/diagnosed.h"
#include "profiler_service/wire/candidate_run.h"
#include "profiler_service/wire/runner_pool.h"
#include "sassay/v1/plan.pb.h"

namespace sassay::diagnose {

// Launches of a call that are profiled; each costs a dozen replays.
inline constexpr uint32_t kMaxProfiledLaunches = 16;

// Profiles the launches of one call, not those of setup. The report file is a File. `ncu` is Toolchain::ncu, empty
// where there is none. A Status is CANCELLED (the kill switch); all else is UNAVAILABLE in the report.
absl::StatusOr<Diagnosed> ProfileWithNcu(const wire::CandidateRun& run, wire::RunnerPool& pool, const std::string& ncu);

// The command line in front of the runner's own. `report` is the file that it writes, without ".ncu-rep".
std::vector<std::string> NcuCommand(absl::string_view ncu, const sassay::v1::LaunchPlan& plan,
                                    absl::string_view report);

}  // namespace sassay::diagnose

#endif  // SASSAY_PROFILER_SERVICE_DIAGNOSE_NCU_H_
