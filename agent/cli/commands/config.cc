#include "agent/cli/commands/commands.h"
#include "agent/cli/session.h"
#include "agent/render/reports.h"
#include "agent/submit/rpc_error.h"

namespace sassay::agent {
namespace {

int Show(Session& session) {
  const v1::Configuration configuration = session.settings().ToProto();
  session.Answer(configuration, RenderConfiguration(configuration, session.style()));
  return kExitCorrect;
}

}  // namespace

void AddConfigCommand(CLI::App& root, Invocation& invocation) {
  CLI::App* command = root.add_subcommand("config", "Settings and where they come from");
  command->require_subcommand(1);
  CLI::App* show = command->add_subcommand("show", "Every setting with its value and origin; secrets are hidden");
  const char* examples =
      "Examples:\n  mini-ptx-agent config show\n  SASSAY_ARCH=sm_100a mini-ptx-agent config show --json";
  command->footer(examples);
  show->footer(examples);
  AddCommonFlags(*show, invocation);
  show->callback([&invocation] { invocation.action = Show; });
}

}  // namespace sassay::agent
