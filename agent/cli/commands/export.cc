#include "agent/trajectory/export.h"

#include <filesystem>
#include <memory>

#include "absl/strings/str_cat.h"
#include "agent/build/workload_names.h"
#include "agent/cli/commands/commands.h"
#include "agent/cli/flag_checks.h"
#include "agent/cli/session.h"
#include "agent/interop/flashinfer/trace_export.h"
#include "agent/submit/rpc_error.h"
#include "agent/trajectory/trajectory.h"

namespace sassay::agent {
namespace {

struct ExportArguments {
  std::string run;
  std::string output;
  std::string format = "mini-swe";
};

// A data set of one run.
int ExportTraces(Session& session, const ExportArguments& arguments) {
  const std::filesystem::path here = session.terminal().working_directory;
  const absl::StatusOr<WorkloadCatalog> catalog = LoadCatalog(session.settings());
  if (!catalog.ok()) return session.Fail(catalog.status());
  const absl::StatusOr<Run> run = ReadRun(here / std::filesystem::path(arguments.run));
  if (!run.ok()) return session.Fail(run.status());
  absl::StatusOr<v1::TraceExportReport> report =
      ExportFlashInferTrace({&*run, 1}, *catalog, here / std::filesystem::path(arguments.output));
  if (!report.ok()) return session.Fail(report.status());
  report->set_path(arguments.output);
  session.Answer(*report, absl::StrCat(report->traces(), " traces and ", report->solutions(), " solutions written to ",
                                       arguments.output, "; ", report->turns_without_time(),
                                       " correct turns have no time and no trace, ", report->turns_left_out(),
                                       " turns do not count\n"));
  return kExitCorrect;
}

int Export(Session& session, const ExportArguments& arguments) {
  if (arguments.format == "flashinfer-trace") return ExportTraces(session, arguments);
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
  CLI::App* command = root.add_subcommand("export", "Writes a run in the format of other tools");
  const auto arguments = std::make_shared<ExportArguments>();
  command->add_option("RUN", arguments->run, "folder of a run; it may still be going on")->required()->type_name("");
  command->add_option("-o,--output", arguments->output, "folder to write; made if it is missing")
      ->required()
      ->type_name("DIR");
  command
      ->add_option("--format", arguments->format,
                   "mini-swe: mini-swe-agent's trajectories; flashinfer-trace: definitions, solutions and traces "
                   "[mini-swe]")
      ->check(OneOf({"mini-swe", "flashinfer-trace"}))
      ->type_name("CHOICE");
  AddSettingFlags(*command, invocation, {"definitions"});
  AddCommonFlags(*command, invocation);
  command->footer(
      "Writes exp_NNN.json with messages and extras, success/exp_NNN/kernel_vN.cu with record.json, and "
      "excluded/exp_NNN.json with what does not count.\n"
      "flashinfer-trace: see docs/interop.md.\n\n"
      "Examples:\n"
      "  mini-ptx-agent export runs/qwen -o exported\n"
      "  mini-ptx-agent export runs/qwen --format flashinfer-trace -o traces");
  command->callback([&invocation, arguments] {
    invocation.action = [arguments](Session& session) { return Export(session, *arguments); };
  });
}

}  // namespace sassay::agent
