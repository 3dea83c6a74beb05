#include <memory>

#include "agent/cli/commands/commands.h"
#include "agent/cli/follow/follow.h"
#include "agent/cli/session.h"

namespace sassay::agent {

void AddAttachCommand(CLI::App& root, Invocation& invocation) {
  CLI::App* command =
      root.add_subcommand("attach",
                          "Follows a submission to its verdict, or shows the verdict that it has. One that was "
                          "excluded afterwards is followed through its re-run");
  const auto id = std::make_shared<std::string>();
  command->add_option("ID", *id, "the submission's id, as submit printed it")->required()->type_name("");
  command->footer(
      "Example:\n  mini-ptx-agent attach s66fb01d2c4e8a90b37d51e6f --json\n\nCtrl-C leaves; the submission goes on. "
      "The "
      "whole story is shown: attempts that a reliability\nmonitor excluded (\"excluded (incident ID: reason), running "
      "again\") count nowhere, the last verdict does.");
  AddCommonFlags(*command, invocation);
  AddSettingFlags(*command, invocation, {"artifacts", "reconnect_deadline"});
  command->callback(
      [&invocation, id] { invocation.action = [id](Session& session) { return FollowExisting(session, *id); }; });
}

}  // namespace sassay::agent
