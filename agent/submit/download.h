// Brings a verdict's artifacts home.
#ifndef SASSAY_AGENT_SUBMIT_DOWNLOAD_H_
#define SASSAY_AGENT_SUBMIT_DOWNLOAD_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "agent/submit/connection.h"
#include "agent/submit/retry.h"
#include "common/rpc/stopper.h"
#include "sassay/v1/diagnosis.pb.h"

namespace sassay::agent {

// The largest artifact that is fetched: what a service says about a size is not taken on trust.
inline constexpr uint64_t kMaxArtifactBytes = 64 << 20;

// The bytes of an artifact. Blocks; the stopper ends it with CANCELLED. A broken stream goes on where it broke.
// Failure: FromGrpc's status; DATA_LOSS for bytes that do not hash to the digest; RESOURCE_EXHAUSTED above
// kMaxArtifactBytes.
absl::StatusOr<std::string> Download(Connection& connection, const v1::Artifact& artifact, const RetryPolicy& policy,
                                     Stopper& stopper);

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_SUBMIT_DOWNLOAD_H_
