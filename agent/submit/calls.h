// The short calls: one question, one answer, one deadline.
#ifndef SASSAY_AGENT_SUBMIT_CALLS_H_
#define SASSAY_AGENT_SUBMIT_CALLS_H_

#include <string>

#include "absl/status/statusor.h"
#include "agent/submit/connection.h"
#include "common/rpc/stopper.h"

namespace sassay::agent {

// How long a short call may take.
inline constexpr absl::Duration kCallTimeout = absl::Seconds(20);

// Each is FromGrpc's status on failure.
absl::StatusOr<v1::GetCapabilitiesResponse> GetCapabilities(Connection& connection,
                                                            absl::Duration timeout = kCallTimeout);
absl::StatusOr<v1::ListWorkloadsResponse> ListWorkloads(Connection& connection);
absl::StatusOr<v1::Workload> GetWorkload(Connection& connection, const std::string& name);
// True if the submission is being cancelled, false if it already had a verdict. `stopper` ends the call early.
absl::StatusOr<bool> CancelSubmission(Connection& connection, const std::string& submission_id, Stopper& stopper);

// A request_id that nobody else chooses: 128 random bits in hex behind "agent-".
std::string NewRequestId();

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_SUBMIT_CALLS_H_
