#include <sys/resource.h>

#include <filesystem>
#include <memory>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "agent/build/toolchain.h"
#include "agent/build/workload_names.h"
#include "agent/cli/commands/commands.h"
#include "agent/cli/session.h"
#include "agent/knowledge/notes.h"
#include "agent/models/factory.h"
#include "agent/rollout/rollout.h"
#include "agent/rollout/service_judge.h"
#include "agent/rollout/start/plan.h"
#include "agent/rollout/start/summary.h"
#include "agent/rollout/view/live_view.h"
#include "agent/submit/calls.h"
#include "agent/submit/exclusion_stream.h"
#include "agent/submit/from_settings.h"
#include "agent/submit/interrupt.h"
#include "agent/submit/rpc_error.h"
#include "common/base/proto_time.h"
#include "common/base/sha256.h"
#include "common/base/status_macros.h"
#include "common/process/subprocess.h"
#include "common/toolchain/cuda_drivers.h"

namespace sassay::agent {
namespace {

struct RunArguments {
  std::string output;
  std::string resume;
  bool dry_run = false;
};

// Each answer and each log takes a descriptor for a while, and the usual limit is 1,024.
void RaiseDescriptorLimit() {
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

// What the run is, before anything is asked or written.
struct Beginning {
  Settings settings;
  std::vector<v1::Workload> workloads;
  std::vector<std::string> own_words;
  std::filesystem::path path;
  v1::RunManifest manifest;
  // Of a run that goes on; a new one is made when everything else is known to work.
  std::unique_ptr<RunFolder> folder;
};

absl::StatusOr<std::vector<v1::Workload>> FindWorkloads(const Settings& settings) {
  ASSIGN_OR_RETURN(const WorkloadCatalog catalog, LoadCatalog(settings));
  return WorkloadsOf(settings, catalog);
}

absl::StatusOr<Beginning> BeginNew(Session& session, const std::string& output) {
  if (output.empty()) return absl::InvalidArgumentError("-o DIR is needed: where shall the run be kept?");
  Beginning beginning = {session.settings(), {}, {}, {}, {}, nullptr};
  beginning.path = session.terminal().working_directory / std::filesystem::path(output);
  ASSIGN_OR_RETURN(beginning.workloads, FindWorkloads(beginning.settings));
  ASSIGN_OR_RETURN(beginning.own_words, OwnWords(beginning.settings));
  ASSIGN_OR_RETURN(const ModelIdentity model, IdentifyModel(beginning.settings));
  ASSIGN_OR_RETURN(beginning.manifest, MakeManifest(beginning.settings, model, beginning.workloads, absl::Now()));
  for (const std::string& words : beginning.own_words) beginning.manifest.add_prompts_sha256(Sha256Hex(words));
  return beginning;
}

absl::StatusOr<Beginning> GoOn(Session& session, const RunArguments& arguments) {
  if (!arguments.output.empty()) return absl::InvalidArgumentError("--resume goes on in its own folder; leave -o out.");
  const Terminal& terminal = session.terminal();
  const std::filesystem::path path = terminal.working_directory / std::filesystem::path(arguments.resume);
  ASSIGN_OR_RETURN(std::unique_ptr<RunFolder> folder, RunFolder::Open(path));
  ASSIGN_OR_RETURN(Settings settings, SettingsOf(folder->manifest(), session.settings(), terminal.environment,
                                                 terminal.working_directory));
  Beginning beginning = {std::move(settings), {}, {}, path, folder->manifest(), nullptr};
  ASSIGN_OR_RETURN(beginning.workloads, FindWorkloads(beginning.settings));
  for (const std::string& sha256 : beginning.manifest.prompts_sha256()) {
    ASSIGN_OR_RETURN(beginning.own_words.emplace_back(), ReadPrompt(path, sha256));
  }
  beginning.folder = std::move(folder);
  return beginning;
}

absl::Status MakeFolder(Beginning& beginning) {
  if (beginning.folder != nullptr) return absl::OkStatus();
  ASSIGN_OR_RETURN(beginning.folder, RunFolder::Create(beginning.path, beginning.manifest));
  for (const std::string& words : beginning.own_words) RETURN_IF_ERROR(beginning.folder->WritePrompt(words).status());
  return absl::OkStatus();
}

// A wrong address, a refused token, a service for other GPUs or a workload that it does not know is said before
// anything is paid for.
absl::StatusOr<v1::GetCapabilitiesResponse> CheckService(Connection& connection, const v1::ProfileRequest& request,
                                                         const std::string& toolkit, const std::string& arch,
                                                         const std::vector<v1::Workload>& workloads) {
  ASSIGN_OR_RETURN(v1::GetCapabilitiesResponse capabilities, GetCapabilitiesFor(connection, request));
  RETURN_IF_ERROR(CheckArch(capabilities, arch));
  RETURN_IF_ERROR(CheckDrivers(toolkit, arch, request.gpu_model(), capabilities.devices()));
  for (const v1::Workload& workload : workloads) {
    ASSIGN_OR_RETURN(const v1::Workload theirs, GetWorkload(connection, workload.name()));
    if (theirs.definition_sha256() == workload.definition_sha256()) continue;
    return absl::FailedPreconditionError(
        absl::StrCat("the service knows another definition of ", workload.definition(),
                     " than this agent. Give both the same --definitions, or bring both to one version."));
  }
  return capabilities;
}

absl::StatusOr<ServiceJudgeOptions> JudgeOptions(const Beginning& beginning) {
  const Settings& settings = beginning.settings;
  ServiceJudgeOptions options;
  options.builds = std::max(1u, std::thread::hardware_concurrency());
  options.submissions = settings.Count("max_submissions");
  ASSIGN_OR_RETURN(options.request, MakeFreshRequest(settings, v1::PRIORITY_BATCH));
  options.retry = RetryPolicyFrom(settings);
  ASSIGN_OR_RETURN(const WorkloadCatalog catalog, LoadCatalog(settings));
  options.welcome = [settings, catalog](const v1::Workload& workload) {
    return ShapesForSanitizers(settings, catalog, workload);
  };
  return options;
}

absl::StatusOr<std::function<std::string(const v1::Verdict&, const v1::Workload&)>> NotesFrom(
    const Settings& settings) {
  std::function<std::string(const v1::Verdict&, const v1::Workload&)> none;
  if (settings.Text("notes").empty()) return none;
  ASSIGN_OR_RETURN(RepairNotes loaded, RepairNotes::Load(settings.Text("notes")));
  const auto notes = std::make_shared<const RepairNotes>(std::move(loaded));
  return [notes, arch = settings.Text("arch")](const v1::Verdict& verdict, const v1::Workload& workload) {
    return notes->For(verdict, arch, workload.definition());
  };
}

RolloutOptions OptionsFrom(const Settings& settings) {
  RolloutOptions options;
  options.parallel = settings.Count("parallel");
  options.in_flight = settings.Count("in_flight");
  options.infrastructure.give_up_after = settings.Duration("infra_deadline", options.infrastructure.give_up_after);
  options.language = settings.Text("language") == "triton" ? Language::kTriton : Language::kCuda;
  options.now = absl::Now;
  return options;
}

// Everything that a run needs, in the order in which it is made.
class Running {
 public:
  Running(Session& session, Beginning beginning, bool resumed)
      : session_(session), beginning_(std::move(beginning)), resumed_(resumed) {}

  absl::StatusOr<v1::RunSummary> Go() {
    const Settings& settings = beginning_.settings;
    ASSIGN_OR_RETURN(const auto model, OpenModel(settings, session_.terminal().environment));
    ASSIGN_OR_RETURN(const auto builder, Builder::Make(settings, session_.terminal().environment));
    RETURN_IF_ERROR(builder->CheckLanguage(settings.Text("language")));
    ASSIGN_OR_RETURN(ServiceJudgeOptions judging, JudgeOptions(beginning_));
    ASSIGN_OR_RETURN(const auto notes, NotesFrom(settings));
    ASSIGN_OR_RETURN(const auto connection, Connection::Open(ConnectionFrom(settings)));
    ASSIGN_OR_RETURN(const Toolchain toolchain, FindConfiguredToolchain(settings));
    ASSIGN_OR_RETURN(
        const v1::GetCapabilitiesResponse service,
        CheckService(*connection, judging.request, toolchain.version, settings.Text("arch"), beginning_.workloads));
    judging.max_bundle_bytes = service.max_blob_bytes();
    judging.devices = service.devices();
    RETURN_IF_ERROR(MakeFolder(beginning_));
    const v1::RunManifest& manifest = beginning_.folder->manifest();
    Spending spending(manifest.token_budget(), manifest.money_budget_usd());
    ASSIGN_OR_RETURN(RunPlan plan,
                     MakePlan(settings, *beginning_.folder, beginning_.workloads, beginning_.own_words, spending));
    ServiceJudge judge(*builder, *connection, std::move(judging));
    Board board(manifest.turn_limit(), [this](absl::string_view line) { Say(line); });
    board.Spent(spending.total());
    const auto watch = [&](Stopper& stopper, const std::function<void(const v1::Event&)>& on_event) {
      WatchExclusions(*connection, absl::Now() - kExclusionClockSlack, RetryPolicyFrom(settings), stopper, on_event,
                      [&](absl::string_view note) { board.Note(note); });
    };
    const auto past = [&](Stopper& stopper, const std::function<void(const v1::Event&)>& on_event) {
      const auto ours = [&](const v1::Event& event) {
        if (plan.judged.count(event.submission_id()) > 0) on_event(event);
      };
      return ReadExclusions(*connection, TimeOf(manifest.created_at()) - kExclusionClockSlack, stopper, ours);
    };
    RolloutParts parts = {*beginning_.folder, *model, judge, board, notes, watch, nullptr};
    if (resumed_) parts.past_exclusions = past;
    Rollout rollout(std::move(parts), OptionsFrom(settings), std::move(plan.specs), spending);
    outcome_ = RunShown(board, rollout);
    return SummaryOf(*beginning_.folder, outcome_);
  }
  const absl::Status& outcome() const { return outcome_; }

 private:
  absl::Status RunShown(Board& board, Rollout& rollout) {
    const auto view = session_.interactive() ? std::make_unique<LiveView>(board, *session_.terminal().err,
                                                                          session_.err_style(), StandardErrorSize)
                                             : nullptr;
    const InterruptHandler interrupts([&](int times) {
      board.Note(times == 1 ? "stopping; answers under way (paid for) may arrive; Ctrl-C again cuts them off"
                            : "cutting off the answers under way");
      rollout.Interrupt(times);
      if (times > 1) CancelEveryRun();
    });
    return rollout.Run();
  }
  // A terminal shows the board instead.
  void Say(absl::string_view line) {
    if (!session_.interactive()) session_.progress().Note(line);
  }

  Session& session_;
  Beginning beginning_;
  const bool resumed_;
  absl::Status outcome_;
};

// The first prompt and its size; nobody is asked.
int ShowPrompt(Session& session) {
  const Settings& settings = session.settings();
  const absl::StatusOr<std::vector<v1::Workload>> workloads = FindWorkloads(settings);
  if (!workloads.ok()) return session.Fail(workloads.status());
  const absl::StatusOr<std::vector<std::string>> words = OwnWords(settings);
  if (!words.ok()) return session.Fail(words.status());
  const absl::StatusOr<Prompt> prompt = PromptFor(settings, workloads->front(), words->front());
  if (!prompt.ok()) return session.Fail(prompt.status());
  v1::KnowledgeReport report;
  report.set_arch(settings.Text("arch"));
  report.set_workload(workloads->front().name());
  std::string sizes;
  for (const PromptPart& part : prompt->parts) {
    v1::KnowledgePart& row = *report.add_parts();
    row.set_name(part.name);
    row.set_text(part.text);
    row.set_bytes(part.bytes);
    row.set_estimated_tokens(part.estimated_tokens);
    report.set_bytes(report.bytes() + part.bytes);
    report.set_estimated_tokens(report.estimated_tokens() + part.estimated_tokens);
    absl::StrAppend(&sizes, part.name, " ", part.estimated_tokens, ", ");
  }
  session.Answer(
      report, absl::StrCat("--- system ---\n", prompt->system, "\n--- user ---\n", prompt->task, "\n--- about ",
                           report.estimated_tokens(), " tokens (", sizes, "in all ", report.bytes(), " bytes) ---\n"));
  return kExitCorrect;
}

int RunModel(Session& session, const RunArguments& arguments) {
  if (arguments.dry_run) return ShowPrompt(session);
  RaiseDescriptorLimit();
  const bool resumed = !arguments.resume.empty();
  absl::StatusOr<Beginning> beginning = resumed ? GoOn(session, arguments) : BeginNew(session, arguments.output);
  if (!beginning.ok()) return session.Fail(beginning.status());
  Running running(session, *std::move(beginning), resumed);
  const absl::StatusOr<v1::RunSummary> summary = running.Go();
  if (!summary.ok()) return session.Fail(summary.status());
  const absl::Status& outcome = running.outcome();
  session.Answer(*summary, RenderSummary(*summary, session.style()));
  if (outcome.ok()) return kExitCorrect;
  session.progress().Note(absl::StrCat("`mini-ptx-agent run --resume ", summary->folder(), "` goes on."));
  return ExitStatusOf(outcome);
}

}  // namespace

void AddRunCommand(CLI::App& root, Invocation& invocation) {
  CLI::App* command = root.add_subcommand("run", "Has a model write kernels, turn after turn, and keeps the record");
  const auto arguments = std::make_shared<RunArguments>();
  command->add_option("-o,--output", arguments->output, "folder for the run; made if it is missing")->type_name("DIR");
  command->add_option("--resume", arguments->resume, "go on with the run of this folder; it has its settings itself")
      ->type_name("DIR");
  command->add_flag("--dry-run", arguments->dry_run, "print the first prompt and its size in tokens; ask nobody");
  AddSettingFlags(*command, invocation,
                  {"workload", "language", "turns", "trajectories", "parallel", "prompt", "label", "context",
                   "knowledge", "notes", "target_speedup", "token_budget", "money_budget", "price"});
  AddModelFlags(*command, invocation);
  AddSettingFlags(*command, invocation,
                  {"stages",
                   "sanitize",
                   "baseline",
                   "priority",
                   "gpu_model",
                   "queue_deadline",
                   "run_deadline",
                   "reconnect_deadline",
                   "infra_deadline",
                   "max_submissions",
                   "in_flight",
                   "arch",
                   "abi",
                   "profile",
                   "definitions",
                   "device",
                   "device_table",
                   "cuda",
                   "cuda_home",
                   "cache_dir",
                   "triton_venv",
                   "compile_deadline",
                   "allow_unsandboxed",
                   "builder"});
  AddCommonFlags(*command, invocation);
  command->footer(
      "Examples:\n"
      "  mini-ptx-agent run --workload gemm_n7168_k5120/M=8192 --model Qwen/Qwen3-32B --endpoint "
      "http://127.0.0.1:8000 --turns 8 --trajectories 12 --parallel 12 -o runs/qwen\n"
      "  mini-ptx-agent run --workload mha_with_lse_d128 --model claude-sonnet-4-5 --price 3,0.3,3.75,15 "
      "--money-budget 20 "
      "--target-speedup 1.2 --label full -o runs/claude\n"
      "  mini-ptx-agent run --workload gemm_n256_k256/M=256 --knowledge params,contract --dry-run\n"
      "  mini-ptx-agent run --workload gemm_n256_k256/M=256 --model replay:runs/qwen -o runs/again\n"
      "  mini-ptx-agent run --resume runs/qwen\n"
      "\n"
      "Ctrl-C stops: answers under way may arrive, since they are paid for; again, they are cut off. Either way, and "
      "after a crash, --resume goes on without asking for an answer twice (docs/rollouts.md).\n"
      "\n"
      "Exit status 0 when every trajectory has ended, 2 usage or a refused key, 3 stopped or paused (worth resuming).");
  command->callback([&invocation, arguments] {
    invocation.action = [arguments](Session& session) { return RunModel(session, *arguments); };
  });
}

}  // namespace sassay::agent
