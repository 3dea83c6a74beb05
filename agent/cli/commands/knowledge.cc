#include "agent/knowledge/knowledge.h"

#include <memory>

#include "absl/strings/str_cat.h"
#include "agent/build/workload_names.h"
#include "agent/cli/commands/commands.h"
#include "agent/cli/session.h"
#include "agent/submit/rpc_error.h"
#include "common/base/status_macros.h"
#include "common/terminal/text.h"

namespace sassay::agent {
namespace {

absl::StatusOr<v1::Workload> OneWorkload(const Session& session) {
  const std::vector<std::string> names = SplitWorkloadNames(session.settings().Text("workload"));
  if (names.empty()) return v1::Workload();
  if (names.size() > 1)
    return absl::InvalidArgumentError(absl::StrCat("a prompt is about one workload, not about ", names.size()));
  ASSIGN_OR_RETURN(const WorkloadCatalog catalog, LoadCatalog(session.settings()));
  return ResolveWorkload(catalog, names.front());
}

absl::StatusOr<PromptRequest> MakeRequest(const Session& session) {
  PromptRequest request;
  ASSIGN_OR_RETURN(request.parts, ParseKnowledgeParts(session.settings().Text("knowledge")));
  ASSIGN_OR_RETURN(request.workload, OneWorkload(session));
  request.arch = session.settings().Text("arch");
  request.abi = session.settings().Text("abi") == "tvm_ffi" ? v1::ENTRY_ABI_TVM_FFI : v1::ENTRY_ABI_C;
  return request;
}

v1::KnowledgeReport Report(const PromptRequest& request, const Prompt& prompt) {
  v1::KnowledgeReport report;
  report.set_arch(request.arch);
  report.set_workload(request.workload.name());
  for (const PromptPart& part : prompt.parts) {
    v1::KnowledgePart& entry = *report.add_parts();
    entry.set_name(part.name);
    entry.set_text(part.text);
    entry.set_bytes(part.bytes);
    entry.set_estimated_tokens(part.estimated_tokens);
    report.set_bytes(report.bytes() + part.bytes);
    report.set_estimated_tokens(report.estimated_tokens() + part.estimated_tokens);
  }
  return report;
}

std::string Sizes(const v1::KnowledgeReport& report) {
  std::vector<std::vector<std::string>> rows = {{"part", "bytes", "tokens (estimate)"}};
  for (const v1::KnowledgePart& part : report.parts())
    rows.push_back({part.name(), CountText(part.bytes()), CountText(part.estimated_tokens())});
  rows.push_back({"all", CountText(report.bytes()), CountText(report.estimated_tokens())});
  return Columns(rows, "");
}

std::string Render(const v1::KnowledgeReport& report, const Style& style) {
  std::string text;
  for (const v1::KnowledgePart& part : report.parts())
    absl::StrAppend(&text, style.Dim(absl::StrCat("---- ", part.name())), "\n", part.text(), "\n");
  return absl::StrCat(text, style.Dim("---- sizes"), "\n", Sizes(report));
}

int ShowKnowledge(Session& session, bool sizes) {
  const absl::StatusOr<PromptRequest> request = MakeRequest(session);
  if (!request.ok()) return session.Fail(request.status());
  const absl::StatusOr<Prompt> prompt = MakePrompt(*request);
  if (!prompt.ok()) return session.Fail(prompt.status());
  const v1::KnowledgeReport report = Report(*request, *prompt);
  session.Answer(report, sizes ? Sizes(report) : Render(report, session.style()));
  return kExitCorrect;
}

}  // namespace

void AddKnowledgeCommand(CLI::App& root, Invocation& invocation) {
  CLI::App* command = root.add_subcommand("knowledge", "Prints what a model is told before it writes a kernel");
  const auto sizes = std::make_shared<bool>(false);
  command->add_flag("--sizes", *sizes, "only the sizes of the parts");
  AddSettingFlags(*command, invocation, {"knowledge", "workload", "arch", "abi", "definitions"});
  AddCommonFlags(*command, invocation);
  command->footer(
      "Role and knowledge are the system message, the task is the first message of the user. Tokens are estimated; "
      "what "
      "a provider counts is in a run's record.\n\n"
      "Examples:\n"
      "  mini-ptx-agent knowledge --workload gemm_n7168_k5120/M=8192\n"
      "  mini-ptx-agent knowledge --knowledge params,contract --arch sm_100a --sizes\n"
      "  mini-ptx-agent knowledge --json");
  command->callback([&invocation, sizes] {
    invocation.action = [sizes](Session& session) { return ShowKnowledge(session, *sizes); };
  });
}

}  // namespace sassay::agent
