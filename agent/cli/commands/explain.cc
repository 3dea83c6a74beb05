#include "agent/explain/explain.h"

#include <memory>

#include "absl/strings/str_cat.h"
#include "agent/cli/commands/commands.h"
#include "agent/cli/session.h"
#include "agent/render/reports.h"
#include "agent/submit/rpc_error.h"
#include "common/base/suggest.h"

namespace sassay::agent {
namespace {

int ListCodes(Session& session) {
  v1::CodeExplanations all;
  for (const Explanation* explanation : AllExplanations()) *all.add_codes() = ToProto(*explanation);
  session.Answer(all, RenderExplanations(all, session.style()));
  return kExitCorrect;
}

int Explain(Session& session, const std::string& code) {
  if (code.empty()) return ListCodes(session);
  const Explanation* explanation = FindExplanation(code);
  if (explanation == nullptr) {
    return session.Fail(
        absl::NotFoundError(absl::StrCat("no verdict has the code \"", code, "\".", DidYouMean(code, CodeNames()),
                                         " `mini-ptx-agent explain` lists all.")));
  }
  const v1::CodeExplanation proto = ToProto(*explanation);
  session.Answer(proto, RenderExplanation(proto, session.style()));
  return kExitCorrect;
}

}  // namespace

void AddExplainCommand(CLI::App& root, Invocation& invocation) {
  CLI::App* command = root.add_subcommand("explain", "What a verdict's code means and how to repair it");
  const auto code = std::make_shared<std::string>();
  command->add_option("CODE", *code, "verdict code; without it every code is listed")->type_name("");
  command->footer("Examples:\n  mini-ptx-agent explain PTR_CACHED\n  mini-ptx-agent explain --json");
  AddCommonFlags(*command, invocation);
  command->callback(
      [&invocation, code] { invocation.action = [code](Session& session) { return Explain(session, *code); }; });
}

}  // namespace sassay::agent
