// A model that is a program of the user's: the conversation goes in, the answer comes out.
#ifndef SASSAY_AGENT_MODELS_LOCAL_COMMAND_BACKEND_H_
#define SASSAY_AGENT_MODELS_LOCAL_COMMAND_BACKEND_H_

#include <map>
#include <string>

#include "absl/time/time.h"
#include "agent/models/backend.h"

namespace sassay::agent {

// What to start.
struct CommandModelOptions {
  // For /bin/sh -c.
  std::string command;
  // The user's own; the agent's credentials are left out of it.
  std::map<std::string, std::string> environment;
  absl::Duration timeout = absl::Hours(1);
};

// Runs the command once for each try. On standard input it gets one JSON object: "messages" (as in chat completions),
// "sampling", "trajectory_id", "turn" and "idempotency_key"; what it prints on standard output is the answer, at most
// 16 MiB. SASSAY_TRAJECTORY and SASSAY_TURN are in its environment.
//
// Failure: status 126 or 127 (there is no such program) is NOT_FOUND and final; any other status, a signal or the
// deadline is tried again. The message holds the last line of standard error.
class CommandBackend : public Backend {
 public:
  explicit CommandBackend(CommandModelOptions options);
  absl::optional<Failure> Try(const GenerationRequest& request, const GenerationListener& listener, Stopper& stopper,
                              v1::Answered& answer) override;

 private:
  const CommandModelOptions options_;
};

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_MODELS_LOCAL_COMMAND_BACKEND_H_
