// The agent's command line as one function.
#ifndef SASSAY_AGENT_CLI_APP_H_
#define SASSAY_AGENT_CLI_APP_H_

#include <string>
#include <vector>

#include "agent/cli/session.h"

namespace sassay::agent {

// Parses `arguments` (without the program's name), runs the command and returns the exit status: 0 the candidate is
// CORRECT, 1 the candidate is at fault, 2 usage, 3 infrastructure.
int RunAgent(const std::vector<std::string>& arguments, const Terminal& terminal);

// The same for main(): standard streams, the process's environment and folder.
int AgentMain(int argc, char** argv);

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_CLI_APP_H_
