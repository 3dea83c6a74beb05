// Runs in the format of other people's tools.
#ifndef SASSAY_AGENT_TRAJECTORY_EXPORT_H_
#define SASSAY_AGENT_TRAJECTORY_EXPORT_H_

#include <cstdint>
#include <filesystem>

#include "absl/status/statusor.h"

namespace sassay::agent {

// What was written.
struct ExportCounts {
  uint32_t trajectories = 0;
  // Kernels under success/.
  uint32_t kernels = 0;
  // Attempts and turns under excluded/.
  uint32_t excluded = 0;
};

// Writes a run as mini-swe-agent trajectories, which PTXBench's tooling reads:
//
//   exp_NNN.json                        messages: system, user, (assistant, user)*, exit; info: config, model_stats
//   success/exp_NNN/kernel_vN.cu        a correct kernel of turn N - 1, and record.json beside it: one entry per kernel
//   excluded/exp_NNN.json               attempts that do not count and turns that were taken back; nothing of them is
//   in
//                                       the other files
//
// `output` is made if it is missing; files of the same names are replaced.
// Failure: as ReadRun and WriteFileAtomically have it.
absl::StatusOr<ExportCounts> ExportMiniSwe(const std::filesystem::path& run, const std::filesystem::path& output);

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_TRAJECTORY_EXPORT_H_
