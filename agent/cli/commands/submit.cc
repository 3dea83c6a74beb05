#include <filesystem>
#include <memory>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "agent/build/workload_names.h"
#include "agent/cli/build/candidate.h"
#include "agent/cli/commands/commands.h"
#include "agent/cli/follow/follow.h"
#include "agent/cli/session.h"
#include "agent/submit/calls.h"
#include "common/base/status_macros.h"
#include "common/base/suggest.h"
#include "common/bundle/bundle.h"

namespace sassay::agent {
namespace {

struct SubmitArguments {
  CandidateArguments candidate;
  bool detach = false;
  std::string request_id;
};

absl::Status OneWorkloadOnly(const std::vector<std::string>& names) {
  if (names.size() <= 1) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("submit judges one workload at a time, but --workload names ",
                                                 names.size(), " (", absl::StrJoin(names, ", "),
                                                 "). Compile once for all of them, then submit the bundle for each."));
}

// The plan's name as the bundle spells it. A bundle with one plan needs no --workload.
absl::StatusOr<std::string> WorkloadOfBundle(const v1::Bundle& bundle, const std::vector<std::string>& wanted) {
  std::vector<std::string> names;
  for (const v1::LaunchPlan& plan : bundle.plans()) names.push_back(plan.workload());
  if (wanted.empty() && names.size() == 1) return names.front();
  if (wanted.empty())
    return absl::InvalidArgumentError(
        absl::StrCat("--workload is needed: the bundle holds plans for ", absl::StrJoin(names, ", "), "."));
  if (FindPlan(bundle, wanted.front()) != nullptr) return wanted.front();
  return absl::InvalidArgumentError(absl::StrCat("the bundle has no plan for ", wanted.front(), "; it holds ",
                                                 absl::StrJoin(names, ", "), ".", DidYouMean(wanted.front(), names)));
}

// Where the candidate lies: files that belong to it are saved there.
std::string FolderOf(const CandidateArguments& candidate) {
  const std::filesystem::path path = candidate.paths.front();
  return (std::filesystem::is_directory(path) ? path : path.parent_path()).string();
}

int SubmitBuilt(Session& session, const SubmitArguments& arguments, const BuiltBundle& built,
                const std::string& workload) {
  absl::StatusOr<v1::ProfileRequest> request = MakeRequest(session.settings(), workload);
  if (!request.ok()) return session.Fail(request.status());
  if (!arguments.request_id.empty()) request->set_request_id(arguments.request_id);
  return SubmitBundle(session, built.bytes, *request, arguments.detach, FolderOf(arguments.candidate));
}

// A bundle is compiled and captured already: an option for that would be passed over without a word.
absl::Status NoBuildOptions(const Session& session, const CandidateArguments& candidate) {
  std::string option = !candidate.defines.empty() ? "-D" : !candidate.include_directories.empty() ? "-I" : "";
  for (const char* key :
       {"arch", "abi", "profile", "device", "device_table", "cuda", "cuda_home", "compile_deadline", "builder"}) {
    const std::string& origin = session.settings().Origin(key);
    if (option.empty() && absl::StartsWith(origin, "flag ")) option = origin.substr(5);
  }
  if (option.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(option, " is of no effect: ", candidate.paths.front(),
                                                 " is compiled already. Leave it out, or submit the sources."));
}

int SubmitBundleFile(Session& session, const SubmitArguments& arguments, const std::vector<std::string>& names) {
  if (const absl::Status status = NoBuildOptions(session, arguments.candidate); !status.ok())
    return session.Fail(status);
  const absl::StatusOr<BuiltBundle> built = ReadBundle(arguments.candidate.paths.front());
  if (!built.ok()) return session.Fail(built.status());
  const absl::StatusOr<std::string> workload = WorkloadOfBundle(built->bundle, names);
  if (!workload.ok()) return session.Fail(workload.status());
  return SubmitBuilt(session, arguments, *built, *workload);
}

// The local catalogue, or the service's for operators that only it was taught.
absl::StatusOr<v1::Workload> FindWorkload(Session& session, const std::vector<std::string>& names) {
  if (names.empty()) {
    return absl::InvalidArgumentError(
        "--workload is needed: what shall the candidate compute? `mini-ptx-agent workloads` lists what there is.");
  }
  ASSIGN_OR_RETURN(const WorkloadCatalog catalog, LoadCatalog(session.settings()));
  absl::StatusOr<v1::Workload> local = ResolveWorkload(catalog, names.front());
  if (local.ok() || !absl::IsNotFound(local.status())) return local;
  const auto connection = session.Connect();
  const absl::StatusOr<v1::Workload> remote =
      connection.ok() ? GetWorkload(**connection, names.front()) : connection.status();
  if (remote.ok() || absl::IsNotFound(remote.status())) return remote.ok() ? remote : local;
  return absl::Status(local.status().code(),
                      absl::StrCat(local.status().message(),
                                   " The service's own workloads are not known: ", remote.status().message()));
}

int SubmitSources(Session& session, const SubmitArguments& arguments, const std::vector<std::string>& names) {
  const absl::StatusOr<v1::Workload> workload = FindWorkload(session, names);
  if (!workload.ok()) return session.Fail(workload.status());
  NoteSuggestedSize(session, names.front(), *workload);
  const absl::StatusOr<WorkloadCatalog> catalog = LoadCatalog(session.settings());
  const absl::StatusOr<BuildOutcome> outcome = BuildBundle(
      session, arguments.candidate, {*workload},
      catalog.ok() ? ShapesForSanitizers(session.settings(), *catalog, *workload) : std::vector<v1::Workload>());
  if (!outcome.ok()) return session.Fail(outcome.status());
  if (const auto* verdict = std::get_if<v1::Verdict>(&*outcome)) return session.AnswerVerdict(*verdict);
  const BuiltBundle& built = std::get<BuiltBundle>(*outcome);
  for (const std::string& warning : built.warnings) session.progress().Note(absl::StrCat("warning: ", warning));
  return SubmitBuilt(session, arguments, built, workload->name());
}

int Submit(Session& session, const SubmitArguments& arguments) {
  const std::vector<std::string> names = SplitWorkloadNames(session.settings().Text("workload"));
  if (const absl::Status status = OneWorkloadOnly(names); !status.ok()) return session.Fail(status);
  // What is wrong with the way to the service is said before the work; no traffic happens here.
  if (const auto connection = session.Connect(); !connection.ok()) return session.Fail(connection.status());
  return IsBundle(arguments.candidate) ? SubmitBundleFile(session, arguments, names)
                                       : SubmitSources(session, arguments, names);
}

}  // namespace

void AddSubmitCommand(CLI::App& root, Invocation& invocation) {
  CLI::App* command = root.add_subcommand("submit", "Has a candidate judged and shows the verdict");
  const auto arguments = std::make_shared<SubmitArguments>();
  AddCandidateArguments(*command, arguments->candidate, "CANDIDATE");
  command->add_flag("--detach", arguments->detach,
                    "leave as soon as the submission is durable; prints its id for attach and cancel");
  command->add_option("--request-id", arguments->request_id, "idempotency key: the same one again never submits twice")
      ->type_name("ID");
  AddSettingFlags(*command, invocation,
                  {"workload",
                   "stages",
                   "sanitize",
                   "baseline",
                   "diagnose",
                   "artifacts",
                   "priority",
                   "max_age",
                   "fresh",
                   "gpu_model",
                   "queue_deadline",
                   "run_deadline",
                   "reconnect_deadline",
                   "arch",
                   "abi",
                   "profile",
                   "definitions",
                   "device",
                   "device_table",
                   "cuda",
                   "cuda_home",
                   "cache_dir",
                   "compile_deadline",
                   "allow_unsandboxed",
                   "builder"});
  AddCommonFlags(*command, invocation);
  command->footer(
      "Examples:\n"
      "  mini-ptx-agent submit kernel.cu --workload gemm_n256_k256/M=256\n"
      "  mini-ptx-agent submit kernel.bundle --service gpu.example.com:50051 --ca-file ca.pem --token-file "
      "~/.sassay-token --json\n"
      "  mini-ptx-agent submit kernel.cu --workload gemm_n256_k256/M=256 --stages evaluate,sanitize --detach\n"
      "  mini-ptx-agent submit kernel.cu --workload gemm_n256_k256/M=256 --sanitize full\n"
      "  mini-ptx-agent submit kernel.cu --workload gemm_n256_k256/M=256 --priority batch --detach\n"
      "  mini-ptx-agent submit kernel.cu --workload gemm_n7168_k5120/M=8192 --diagnose ncu,hotspots --artifacts out\n"
      "  mini-ptx-agent submit kernel.cu --workload gemm_n7168_k5120/M=8192 --stages timing --baseline itself\n"
      "  mini-ptx-agent submit kernel.cu --workload gemm_n7168_k5120/M=8192 --max-age 24h\n"
      "  mini-ptx-agent submit kernel.cu --workload gemm_n256_k256/M=256 --fresh\n"
      "  mini-ptx-agent submit kernel.cu --workload gemm_n256_k256/M=256 --builder build.example.com:50051\n"
      "  mini-ptx-agent submit hangs.cu --workload gemm_n256_k256/M=256 --diagnose debug\n"
      "\n"
      "Ctrl-C cancels the submission and waits shortly; again, it leaves at once. Exit status as for mini-ptx-agent "
      "--help.");
  command->callback([&invocation, arguments] {
    invocation.action = [arguments](Session& session) { return Submit(session, *arguments); };
  });
}

}  // namespace sassay::agent
