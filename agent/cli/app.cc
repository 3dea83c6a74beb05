#include "agent/cli/app.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iostream>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "agent/build/toolchain.h"
#include "agent/carried/carried.h"
#include "agent/cli/commands/commands.h"
#include "agent/cli/invocation.h"
#include "agent/render/text.h"
#include "agent/submit/rpc_error.h"
#include "common/cli/help.h"
#include "common/cli/usage_error.h"
#include "common/sandbox/sandbox.h"

namespace sassay::agent {
namespace {

constexpr char kDescription[] =
    "Compiles and captures CUDA kernels without a GPU and has them judged by a profiling service.";
constexpr char kFooter[] =
    "Examples:\n"
    "  mini-ptx-agent doctor\n"
    "  mini-ptx-agent submit kernel.cu --workload gemm_n256_k256/M=256 --service gpu.example.com:50051\n"
    "  mini-ptx-agent compile kernel.cu --workload gemm_n256_k256/M=256 -o kernel.bundle\n"
    "  mini-ptx-agent explain PTR_CACHED\n"
    "\n"
    "Exit status: 0 the candidate is CORRECT (of other commands, and with --detach: done), 1 the candidate is at "
    "fault, "
    "2 usage, 3 infrastructure or cancelled (worth "
    "retrying); bench has 4, inconclusive.\n"
    "Settings: flag > SASSAY_* variable > .sassay.json of the project > ~/.config/sassay/config.json; see `config "
    "show`. A project's file may not name the service or credentials.";

void AddCommands(CLI::App& root, Invocation& invocation) {
  AddCompileCommand(root, invocation);
  AddImportCommand(root, invocation);
  AddInspectCommand(root, invocation);
  AddSubmitCommand(root, invocation);
  AddAttachCommand(root, invocation);
  AddCancelCommand(root, invocation);
  AddBatchCommand(root, invocation);
  AddBenchCommand(root, invocation);
  AddReplayCommand(root, invocation);
  AddReportCommand(root, invocation);
  AddTritonCommand(root, invocation);
  AddWorkloadsCommand(root, invocation);
  AddExplainCommand(root, invocation);
  AddRunCommand(root, invocation);
  AddExportCommand(root, invocation);
  AddDatasetCommand(root, invocation);
  AddKnowledgeCommand(root, invocation);
  AddModelCommand(root, invocation);
  AddDoctorCommand(root, invocation);
  AddConfigCommand(root, invocation);
  AddBuildJobCommand(root, invocation);
}

int RunAction(const Invocation& invocation, const Terminal& terminal) {
  absl::StatusOr<Settings> settings =
      Settings::Resolve({invocation.flags, terminal.environment, terminal.working_directory});
  if (!settings.ok()) return ReportFailure(terminal, invocation.json, settings.status(), "");
  for (const std::string& warning : settings->warnings())
    *terminal.err << "mini-ptx-agent: warning: " << Printable(warning) << "\n" << std::flush;
  OfferBubblewrap([cache = CacheFolder(*settings, terminal.environment)] {
    const absl::StatusOr<std::filesystem::path> carried = UnpackCarried(cache);
    return carried.ok() ? (*carried / "libexec/bwrap").string() : std::string();
  });
  Session session(terminal, *std::move(settings), invocation.json);
  const int exit_status = invocation.action(session);
  if (terminal.out->flush()) return exit_status;
  // Who reads the answer must not take a lost one for a good one.
  return ReportFailure(terminal, false, absl::UnavailableError("standard output cannot be written; is the disk full?"),
                       "");
}

bool WantsJson(const std::vector<std::string>& arguments) {
  return std::find(arguments.begin(), arguments.end(), "--json") != arguments.end();
}

int ReportParse(const CLI::App& root, const CLI::ParseError& error, const std::vector<std::string>& arguments,
                const Terminal& terminal) {
  if (error.get_exit_code() == 0) return root.exit(error, *terminal.out, *terminal.err);
  return ReportFailure(terminal, WantsJson(arguments), absl::InvalidArgumentError(DescribeUsageError(root, error)), "");
}

std::map<std::string, std::string> Environment() {
  std::map<std::string, std::string> environment;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const size_t equals = text.find('=');
    if (equals != std::string::npos) environment[text.substr(0, equals)] = text.substr(equals + 1);
  }
  return environment;
}

}  // namespace

int RunAgent(const std::vector<std::string>& arguments, const Terminal& terminal) {
  CLI::App root(kDescription, "mini-ptx-agent");
  WrapHelp(root, terminal.out_is_terminal ? TerminalColumns() : 0);
  Invocation invocation;
  root.footer(kFooter);
  root.require_subcommand(1);
  root.set_version_flag("--version", absl::StrCat("mini-ptx-agent ", SASSAY_VERSION));
  root.set_help_all_flag("--help-all", "help of every command");
  AddCommands(root, invocation);
  if (arguments.empty()) {
    *terminal.err << root.help();
    return kExitUsage;
  }
  try {
    root.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
  } catch (const CLI::ParseError& error) {
    return ReportParse(root, error, arguments, terminal);
  }
  return RunAction(invocation, terminal);
}

int AgentMain(int argc, char** argv) {
  // gRPC writes its own opinions to standard error, which is the user's.
  setenv("GRPC_VERBOSITY", "NONE", /*overwrite=*/0);
  std::error_code ignored;
  const Terminal terminal = {&std::cout,
                             &std::cerr,
                             isatty(STDOUT_FILENO) == 1,
                             isatty(STDERR_FILENO) == 1,
                             Environment(),
                             std::filesystem::current_path(ignored)};
  return RunAgent(std::vector<std::string>(argv + 1, argv + argc), terminal);
}

}  // namespace sassay::agent
