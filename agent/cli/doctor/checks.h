// What the agent needs on this machine, looked at one by one.
#ifndef SASSAY_AGENT_CLI_DOCTOR_CHECKS_H_
#define SASSAY_AGENT_CLI_DOCTOR_CHECKS_H_

#include "agent/cli/session.h"
#include "sassay/v1/agent.pb.h"

namespace sassay::agent {

// Toolkit, sandbox, capture, workloads, cache, service, GPU; the builder where one is set, and what this machine lacks
// for building is no matter then. Each check that fails names the command that mends it.
// `works` is false if any check is MISSING. A service that nobody configured may be absent.
v1::DoctorReport Examine(const Session& session);

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_CLI_DOCTOR_CHECKS_H_
