#include <memory>

#include "absl/strings/str_cat.h"
#include "agent/build/toolchain.h"
#include "agent/cli/build/inspect_bundle.h"
#include "agent/cli/commands/commands.h"
#include "agent/cli/session.h"
#include "agent/render/inspection.h"
#include "agent/submit/rpc_error.h"
#include "common/base/files.h"
#include "common/base/status_macros.h"
#include "common/bundle/bundle.h"

namespace sassay::agent {
namespace {

absl::StatusOr<v1::Inspection> InspectFile(const Session& session, const std::string& path) {
  const auto disassemble = [&](absl::string_view untrusted_cubin) -> absl::StatusOr<Disassembly> {
    ASSIGN_OR_RETURN(const Toolchain toolchain, FindConfiguredToolchain(session.settings()));
    return Disassemble(toolchain, untrusted_cubin);
  };
  ASSIGN_OR_RETURN(const std::string bytes, ReadFile(path, BundleLimits().max_bytes));
  absl::StatusOr<v1::Inspection> inspection = InspectBundle(bytes, disassemble);
  if (inspection.ok()) return inspection;
  return absl::InvalidArgumentError(absl::StrCat(path,
                                                 " is not a bundle that can be read: ", inspection.status().message(),
                                                 ". `mini-ptx-agent compile` makes bundles."));
}

int Inspect(Session& session, const std::string& path) {
  const absl::StatusOr<v1::Inspection> inspection = InspectFile(session, path);
  if (!inspection.ok()) return session.Fail(inspection.status());
  session.Answer(*inspection, RenderInspection(*inspection, session.style()));
  return kExitCorrect;
}

}  // namespace

void AddInspectCommand(CLI::App& root, Invocation& invocation) {
  CLI::App* command = root.add_subcommand("inspect", "Shows what is inside a bundle; nothing of it is run");
  const auto path = std::make_shared<std::string>();
  command->add_option("BUNDLE", *path, "file made by compile")->required()->type_name("");
  command->footer(
      "Shows kernels, parameters, launches, buffers, tensor maps and static SASS families.\n\n"
      "Examples:\n  mini-ptx-agent inspect kernel.bundle\n  mini-ptx-agent inspect kernel.bundle --json | jq "
      ".plans[0].steady");
  AddCommonFlags(*command, invocation);
  AddSettingFlags(*command, invocation, {"cuda", "cuda_home"});
  command->callback(
      [&invocation, path] { invocation.action = [path](Session& session) { return Inspect(session, *path); }; });
}

}  // namespace sassay::agent
