#include <filesystem>
#include <memory>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "agent/build/compile_result.h"
#include "agent/build/workload_names.h"
#include "agent/cli/build/candidate.h"
#include "agent/cli/commands/commands.h"
#include "agent/cli/commands/compile_candidate.h"
#include "agent/cli/flag_checks.h"
#include "agent/cli/session.h"
#include "agent/render/reports.h"
#include "agent/submit/rpc_error.h"
#include "common/base/files.h"
#include "common/base/status_macros.h"

namespace sassay::agent {
namespace {

absl::StatusOr<std::vector<v1::Workload>> ResolveAll(Session& session) {
  const Settings& settings = session.settings();
  ASSIGN_OR_RETURN(const WorkloadCatalog catalog, LoadCatalog(settings));
  std::vector<v1::Workload> workloads;
  for (const std::string& name : SplitWorkloadNames(settings.Text("workload"))) {
    ASSIGN_OR_RETURN(v1::Workload workload, ResolveWorkload(catalog, name));
    NoteSuggestedSize(session, name, workload);
    workloads.push_back(std::move(workload));
  }
  if (!workloads.empty()) return workloads;
  return absl::InvalidArgumentError(
      "--workload is needed: what shall the candidate compute? `mini-ptx-agent workloads` lists what there is.");
}

std::string OutputPath(const CompileArguments& arguments) {
  if (!arguments.output.empty()) return arguments.output;
  const std::filesystem::path first = std::filesystem::path(arguments.candidate.paths.front()).lexically_normal();
  const std::filesystem::path name = first.has_filename() ? first : first.parent_path();
  return absl::StrCat(name.stem().string(), ".bundle");
}

// Before the work, which takes seconds.
absl::Status CheckOutput(const Session& session, const CompileArguments& arguments) {
  if (arguments.output == "-" && session.json())
    return absl::InvalidArgumentError("--output - and --json both want standard output; give a file.");
  return CheckOutputFile("--output", OutputPath(arguments), session.terminal().working_directory);
}

// A bundle on standard output takes the answer's place.
int WriteToOutput(Session& session, const BuiltBundle& built) {
  session.progress().Finish();
  session.terminal().out->write(built.bytes.data(), static_cast<std::streamsize>(built.bytes.size()));
  for (const std::string& warning : built.warnings) session.progress().Note(absl::StrCat("warning: ", warning));
  return kExitCorrect;
}

int Write(Session& session, const BuiltBundle& built, const std::string& path) {
  if (path == "-") return WriteToOutput(session, built);
  if (const absl::Status status = WriteNamedFile(path, built.bytes); !status.ok()) return session.Fail(status);
  v1::CompileResult result = ResultOf(built);
  result.set_path(path);
  session.Answer(result, RenderCompileResult(result, session.style()));
  return kExitCorrect;
}

}  // namespace

int CompileCandidate(Session& session, const CompileArguments& arguments) {
  if (IsBundle(arguments.candidate)) {
    return session.Fail(absl::InvalidArgumentError(
        absl::StrCat(arguments.candidate.paths.front(),
                     " is a bundle already; compile wants its sources. `inspect` shows it, `submit` judges it.")));
  }
  if (const absl::Status status = CheckOutput(session, arguments); !status.ok()) return session.Fail(status);
  const absl::StatusOr<std::vector<v1::Workload>> workloads = ResolveAll(session);
  if (!workloads.ok()) return session.Fail(workloads.status());
  const absl::StatusOr<BuildOutcome> outcome = BuildBundle(session, arguments.candidate, *workloads);
  if (!outcome.ok()) return session.Fail(outcome.status());
  if (const auto* verdict = std::get_if<v1::Verdict>(&*outcome)) return session.AnswerVerdict(*verdict);
  return Write(session, std::get<BuiltBundle>(*outcome), OutputPath(arguments));
}

void AddCompileCommand(CLI::App& root, Invocation& invocation) {
  CLI::App* command = root.add_subcommand("compile", "Compiles and captures a candidate into a bundle; needs no GPU");
  const auto arguments = std::make_shared<CompileArguments>();
  AddCandidateArguments(*command, arguments->candidate, "SOURCE");
  command
      ->add_option("-o,--output", arguments->output,
                   "file to write, - for standard output; default: the first source's name with .bundle, here")
      ->type_name("FILE");
  AddSettingFlags(*command, invocation,
                  {"workload", "arch", "abi", "profile", "definitions", "device", "device_table", "cuda", "cuda_home",
                   "cache_dir", "compile_deadline", "allow_unsandboxed", "builder"});
  AddCommonFlags(*command, invocation);
  command->footer(
      "Examples:\n"
      "  mini-ptx-agent compile kernel.cu --workload gemm_n256_k256/M=256 -o kernel.bundle\n"
      "  mini-ptx-agent compile kernel.cu helpers.cuh -I include -D TILE=128 --workload "
      "gemm_n256_k256/M=64,gemm_n256_k256/M=256\n"
      "  mini-ptx-agent compile kernel.cu --workload gemm_n256_k256/M=256 --builder build.example.com:50051\n"
      "  mini-ptx-agent compile solution.json --workload mha_with_lse_b1_h2_d64/S=128 --profile lenient --json\n"
      "\n"
      "All .cu files of a candidate are compiled as one translation unit: a static name may stand in one of them "
      "only.\n"
      "\n"
      "Exit status 0 if a bundle was written, 1 if the candidate does not compile or cannot be captured.");
  command->callback([&invocation, arguments] {
    invocation.action = [arguments](Session& session) { return CompileCandidate(session, *arguments); };
  });
}

}  // namespace sassay::agent
