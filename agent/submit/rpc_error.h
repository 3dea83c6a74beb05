// gRPC's errors in the user's words, and the exit status they mean.
#ifndef SASSAY_AGENT_SUBMIT_RPC_ERROR_H_
#define SASSAY_AGENT_SUBMIT_RPC_ERROR_H_

#include <grpcpp/support/status.h>

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "common/rpc/grpc_status.h"
#include "sassay/v1/agent.pb.h"

namespace sassay::agent {

// The agent's exit statuses (docs: DESIGN section 6).
inline constexpr int kExitCorrect = 0;
inline constexpr int kExitCandidateAtFault = 1;
inline constexpr int kExitUsage = 2;
inline constexpr int kExitInfrastructure = 3;

// Same code; the message says what was being done with which service, what the service said, and what to do.
absl::Status FromGrpc(const grpc::Status& status, absl::string_view doing, absl::string_view service);

// kExitUsage where the user must change something, kExitInfrastructure where trying again may help.
int ExitStatusOf(const absl::Status& status);

// A failure as scripts read it. `submission_id` is of the submission concerned, if one was accepted.
v1::CommandFailure FailureOf(const absl::Status& status, absl::string_view submission_id = "");

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_SUBMIT_RPC_ERROR_H_
