#include <memory>

#include "absl/strings/str_cat.h"
#include "agent/cli/commands/commands.h"
#include "agent/cli/session.h"
#include "agent/render/text.h"
#include "agent/submit/calls.h"
#include "agent/submit/rpc_error.h"

namespace sassay::agent {
namespace {

int Cancel(Session& session, const std::string& id) {
  const auto connection = session.Connect();
  if (!connection.ok()) return session.Fail(connection.status());
  Stopper stopper;
  const absl::StatusOr<bool> cancelling = CancelSubmission(**connection, id, stopper);
  if (!cancelling.ok()) return session.Fail(cancelling.status(), id);
  v1::CancelResponse response;
  response.set_cancelling(*cancelling);
  session.Answer(response,
                 absl::StrCat(PrintableLine(id), *cancelling ? " is being cancelled\n"
                                                             : " already has its verdict; nothing was changed\n"));
  return kExitCorrect;
}

}  // namespace

void AddCancelCommand(CLI::App& root, Invocation& invocation) {
  CLI::App* command = root.add_subcommand("cancel", "Asks a submission to stop");
  const auto id = std::make_shared<std::string>();
  command->add_option("ID", *id, "the submission's id, as submit printed it")->required()->type_name("");
  command->footer("Example:\n  mini-ptx-agent cancel s66fb01d2c4e8a90b37d51e6f");
  AddCommonFlags(*command, invocation);
  command->callback([&invocation, id] { invocation.action = [id](Session& session) { return Cancel(session, *id); }; });
}

}  // namespace sassay::agent
