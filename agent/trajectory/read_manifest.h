// run.json, for readers and for who goes on with a run.
#ifndef SASSAY_AGENT_TRAJECTORY_READ_MANIFEST_H_
#define SASSAY_AGENT_TRAJECTORY_READ_MANIFEST_H_

#include <filesystem>

#include "absl/status/statusor.h"
#include "sassay/v1/trajectory.pb.h"

namespace sassay::agent {

// NOT_FOUND if the folder is no run; DATA_LOSS if run.json cannot be read.
absl::StatusOr<v1::RunManifest> ReadManifest(const std::filesystem::path& folder);

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_TRAJECTORY_READ_MANIFEST_H_
