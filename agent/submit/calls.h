// The short calls: one question, one answer, one deadline.
#ifndef SASSAY_AGENT_SUBMIT_CALLS_H_
#define SASSAY_AGENT_SUBMIT_CALLS_H_

#include <string>

#include "absl/status/statusor.h"
#include "agent/submit/connection.h"
#include "common/rpc/protocol.h"
#include "common/rpc/stopper.h"

namespace sassay::agent {

// How long a short call may take.
inline constexpr absl::Duration kCallTimeout = absl::Seconds(20);

// Each is FromGrpc's status on failure. `stopper`, where there is one, ends the call early.
absl::StatusOr<v1::GetCapabilitiesResponse> GetCapabilities(Connection& connection,
                                                            absl::Duration timeout = kCallTimeout,
                                                            Stopper* stopper = nullptr);
// The same, for whoever is about to make requests of this kind: FAILED_PRECONDITION where the service is too old for
// this agent, or would pass over what is asked of it (docs/decisions/0024).
absl::StatusOr<v1::GetCapabilitiesResponse> GetCapabilitiesFor(Connection& connection,
                                                               const v1::ProfileRequest& request,
                                                               Stopper* stopper = nullptr);
// FAILED_PRECONDITION where no driver of the service runs what the bundle's toolkit has built (CheckDrivers), which is
// better known before the upload. OK for bytes that are no bundle: the service says what they are.
absl::Status CheckDriversFor(absl::string_view bundle_bytes, const v1::ProfileRequest& request,
                             const google::protobuf::RepeatedPtrField<v1::DeviceCapability>& devices);
absl::StatusOr<v1::ListWorkloadsResponse> ListWorkloads(Connection& connection);
absl::StatusOr<v1::Workload> GetWorkload(Connection& connection, const std::string& name);
// True if the submission is being cancelled, false if it already had a verdict. `stopper` ends the call early.
absl::StatusOr<bool> CancelSubmission(Connection& connection, const std::string& submission_id, Stopper& stopper);

// The service's half of a call, out of what it says.
Peer PeerOf(const v1::GetCapabilitiesResponse& capabilities);

// A request_id that nobody else chooses: 128 random bits in hex behind "agent-".
std::string NewRequestId();

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_SUBMIT_CALLS_H_
