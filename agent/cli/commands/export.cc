#include "agent/trajectory/export.h"

#include <filesystem>
#include <memory>

#include "absl/strings/str_cat.h"
#include "agent/cli/commands/commands.h"
#include "agent/cli/session.h"
#include "agent/submit/rpc_error.h"

namespace sassay::agent {
namespace {

struct ExportArguments {
  std::string run;
  std::string output;
};

int Export(Session& session, const ExportArguments& arguments) {
  const std::filesystem::path here = session.terminal().working_directory;
  const absl::StatusOr<ExportCounts> counts =
      ExportMiniSwe(here / std::filesystem::path(arguments.run), here / std::filesystem::path(arguments.output));
  if (!counts.ok()) return session.Fail(counts.status());
  v1::ExportResult result;
  result.set_path(arguments.output);
  result.set_trajectories(counts->trajectories);
  result.set_kernels(counts->kernels);
  result.set_excluded(counts->excluded);
  session.Answer(result, absl::StrCat(counts->trajectories, " trajectories and ", counts->kernels,
                                      " correct kernels written to ", arguments.output, "; ", counts->excluded,
                                      " attempts and turns that do not count are kept apart\n"));
  return kExitCorrect;
}

}  // namespace

void AddExportCommand(CLI::App& root, Invocation& invocation) {
  CLI::App* command = root.add_subcommand("export", "Writes a run in the format of mini-swe-agent's tools");
  const auto arguments = std::make_shared<ExportArguments>();
  command->add_option("RUN", arguments->run, "folder of a run; it may still be going on")->required()->type_name("");
  command->add_option("-o,--output", arguments->output, "folder to write; made if it is missing")
      ->required()
      ->type_name("DIR");
  AddCommonFlags(*command, invocation);
  command->footer(
      "Writes exp_NNN.json with messages and extras, success/exp_NNN/kernel_vN.cu with record.json, and "
      "excluded/exp_NNN.json with what does not count.\n\nExample:\n  mini-ptx-agent export runs/qwen -o exported");
  command->callback([&invocation, arguments] {
    invocation.action = [arguments](Session& session) { return Export(session, *arguments); };
  });
}

}  // namespace sassay::agent
