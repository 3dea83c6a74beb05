// What `compile` and `triton` share: candidate in, bundle file out.
#ifndef SASSAY_AGENT_CLI_COMMANDS_COMPILE_CANDIDATE_H_
#define SASSAY_AGENT_CLI_COMMANDS_COMPILE_CANDIDATE_H_

#include <string>

#include "agent/cli/build/candidate.h"
#include "agent/cli/session.h"

namespace sassay::agent {

struct CompileArguments {
  CandidateArguments candidate;
  std::string output;
};

// Returns the exit status: 0 if a bundle was written, 1 if the candidate is at fault.
int CompileCandidate(Session& session, const CompileArguments& arguments);

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_CLI_COMMANDS_COMPILE_CANDIDATE_H_
