#include "agent/dataset/dataset.h"

#include <filesystem>
#include <memory>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "agent/build/builder.h"
#include "agent/build/workload_names.h"
#include "agent/cli/commands/commands.h"
#include "agent/cli/flag_checks.h"
#include "agent/cli/session.h"
#include "agent/dataset/select.h"
#include "agent/dataset/teacher.h"
#include "agent/models/factory.h"
#include "agent/render/text.h"
#include "agent/rollout/policy.h"
#include "agent/rollout/service_judge.h"
#include "agent/submit/calls.h"
#include "agent/submit/from_settings.h"
#include "agent/submit/interrupt.h"
#include "agent/submit/rpc_error.h"
#include "common/base/sha256.h"
#include "common/base/status_macros.h"
#include "common/bundle/bundle.h"
#include "sassay/v1/agent.pb.h"

namespace sassay::agent {
namespace {

struct DatasetArguments {
  std::string kind;
  std::vector<std::string> runs;
  std::string output;
  std::string turns;
  DatasetOptions options;
  std::string teacher;
  std::string reasoning_model;
};

const std::map<std::string, LossMark> kLossMarks = {{"loss", LossMark::kLoss}, {"weight", LossMark::kWeight}};
const std::map<std::string, ReasoningForm> kReasoningForms = {
    {"think", ReasoningForm::kThink}, {"field", ReasoningForm::kField}, {"plain", ReasoningForm::kPlain}};
const std::map<std::string, Balance> kBalances = {{"before", Balance::kBeforeDeduplication},
                                                  {"after", Balance::kAfterDeduplication}};

absl::StatusOr<uint32_t> TurnNumber(absl::string_view text) {
  uint32_t number = 0;
  if (absl::SimpleAtoi(text, &number)) return number;
  return absl::InvalidArgumentError(
      absl::StrCat("--turns must be a number or FIRST-LAST, for example 0-3, not \"", text, "\"."));
}

absl::Status ParseTurns(const std::string& text, DatasetOptions& options) {
  if (text.empty()) return absl::OkStatus();
  const std::pair<absl::string_view, absl::string_view> ends = absl::StrSplit(text, absl::MaxSplits('-', 1));
  ASSIGN_OR_RETURN(options.first_turn, TurnNumber(ends.first));
  ASSIGN_OR_RETURN(options.last_turn, TurnNumber(ends.second.empty() ? ends.first : ends.second));
  if (*options.first_turn <= *options.last_turn) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("--turns ", text, " holds no turn: the first is after the last."));
}

// What would be of no effect is refused: who says it expects one.
absl::Status CheckKind(const DatasetArguments& arguments) {
  if (arguments.kind == "fixit") return absl::OkStatus();
  const std::pair<const char*, bool> given[] = {{"--teacher", !arguments.teacher.empty()},
                                                {"--errors", !arguments.options.errors.empty()},
                                                {"--within", arguments.options.within > 0}};
  for (const auto& [flag, is_given] : given) {
    if (is_given)
      return absl::InvalidArgumentError(
          absl::StrCat(flag, " is of no effect on kernelgen, which has no failed turns."));
  }
  return absl::OkStatus();
}

// Before anything is read or asked.
absl::Status CheckArguments(const Session& session, DatasetArguments& arguments) {
  RETURN_IF_ERROR(CheckKind(arguments));
  RETURN_IF_ERROR(ParseTurns(arguments.turns, arguments.options));
  RETURN_IF_ERROR(CheckOptions(arguments.options));
  return CheckOutputFile("--output", arguments.output, session.terminal().working_directory);
}

// Repairs that a teacher proposes are judged as any candidate is: compiled and captured here, run by the service.
class RepairJudge {
 public:
  static absl::StatusOr<std::unique_ptr<RepairJudge>> Make(Session& session) {
    std::unique_ptr<RepairJudge> judge(new RepairJudge);
    ASSIGN_OR_RETURN(judge->catalog_, LoadCatalog(session.settings()));
    ASSIGN_OR_RETURN(judge->builder_, Builder::Make(session.settings(), session.terminal().environment));
    ASSIGN_OR_RETURN(judge->connection_, session.Connect());
    ServiceJudgeOptions options;
    options.max_bundle_bytes = BundleLimits().max_bytes;
    options.retry = RetryPolicyFrom(session.settings());
    ASSIGN_OR_RETURN(options.request, MakeRequest(session.settings(), "", v1::PRIORITY_BATCH));
    ASSIGN_OR_RETURN(const auto capabilities, GetCapabilitiesFor(*judge->connection_, options.request));
    options.devices = capabilities.devices();
    judge->judge_ = std::make_unique<ServiceJudge>(*judge->builder_, *judge->connection_, std::move(options));
    return judge;
  }

  absl::StatusOr<v1::Verdict> Run(const JudgeRequest& request, Stopper& stopper) {
    ASSIGN_OR_RETURN(const v1::Workload workload, ResolveWorkload(catalog_, request.workload));
    JudgeJob job;
    job.workload = &workload;
    job.source = request.source;
    job.source_name = request.language == "triton" ? "kernel.py" : "kernel.cu";
    // The same repair again is the same submission.
    job.request_id =
        absl::StrCat("dataset-", Sha256Hex(absl::StrCat(request.workload, "\n", request.source)).substr(0, 40));
    ASSIGN_OR_RETURN(Judgement judgement, judge_->Run(job, {}, stopper));
    // What says nothing about the repair is kept nowhere, and asked for again.
    if (!IsAboutCandidate(judgement.verdict))
      return absl::UnavailableError(absl::StrCat("the service did not judge a repair: ", TroubleOf(judgement.verdict)));
    return std::move(judgement.verdict);
  }

 private:
  RepairJudge() = default;
  WorkloadCatalog catalog_;
  std::unique_ptr<Builder> builder_;
  std::unique_ptr<Connection> connection_;
  std::unique_ptr<ServiceJudge> judge_;
};

// The models that a data set asks, and what judges their repairs; none of it where nobody is asked.
class Helpers {
 public:
  static absl::StatusOr<std::unique_ptr<Helpers>> Make(Session& session, const DatasetArguments& arguments,
                                                       const DatasetPaths& paths,
                                                       const std::map<std::string, std::string>& flags,
                                                       Stopper& stopper) {
    std::unique_ptr<Helpers> helpers(new Helpers);
    TeacherOptions options;
    options.teacher_name = arguments.teacher;
    options.reasoning_name = arguments.reasoning_model;
    options.cache = paths.cache;
    options.parallel = static_cast<uint32_t>(std::max<uint64_t>(1, session.settings().Count("parallel")));
    ASSIGN_OR_RETURN(options.sampling, SamplingFrom(session.settings()));
    if (!arguments.teacher.empty()) {
      ASSIGN_OR_RETURN(helpers->teacher_model_, Open(session, flags, arguments.teacher));
      ASSIGN_OR_RETURN(helpers->judge_, RepairJudge::Make(session));
      options.judge = [judge = helpers->judge_.get(), &stopper](const JudgeRequest& request) {
        return judge->Run(request, stopper);
      };
    }
    if (!arguments.reasoning_model.empty()) {
      ASSIGN_OR_RETURN(helpers->reasoning_model_, Open(session, flags, arguments.reasoning_model));
    }
    options.teacher = helpers->teacher_model_.get();
    options.reasoning_model = helpers->reasoning_model_.get();
    helpers->teacher_ = std::make_unique<Teacher>(std::move(options));
    return helpers;
  }

  Teacher& teacher() { return *teacher_; }

 private:
  Helpers() = default;

  // The command's settings with another model.
  static absl::StatusOr<std::unique_ptr<Model>> Open(Session& session, std::map<std::string, std::string> flags,
                                                     const std::string& model) {
    flags["model"] = model;
    const Terminal& terminal = session.terminal();
    ASSIGN_OR_RETURN(const Settings settings,
                     Settings::Resolve({std::move(flags), terminal.environment, terminal.working_directory}));
    return OpenModel(settings, terminal.environment);
  }

  std::unique_ptr<Model> teacher_model_;
  std::unique_ptr<Model> reasoning_model_;
  std::unique_ptr<RepairJudge> judge_;
  std::unique_ptr<Teacher> teacher_;
};

absl::StatusOr<v1::DatasetResult> Make(Session& session, DatasetArguments& arguments,
                                       const std::map<std::string, std::string>& flags) {
  DatasetOptions& options = arguments.options;
  options.kind = arguments.kind == "fixit" ? DatasetKind::kFixit : DatasetKind::kKernelGen;
  RETURN_IF_ERROR(CheckArguments(session, arguments));
  std::vector<Run> runs;
  for (const std::string& folder : arguments.runs) {
    session.progress().Begin("read", folder);
    ASSIGN_OR_RETURN(Run run, ReadRun(folder));
    runs.push_back(std::move(run));
  }
  session.progress().End("passed");
  const DatasetPaths paths(arguments.output);
  Stopper stopper;
  const InterruptHandler interrupts([&stopper](int) { stopper.Stop(); });
  std::unique_ptr<Helpers> helpers;
  if (!arguments.teacher.empty() || !arguments.reasoning_model.empty()) {
    ASSIGN_OR_RETURN(helpers, Helpers::Make(session, arguments, paths, flags, stopper));
    session.progress().Begin("ask", arguments.teacher.empty() ? arguments.reasoning_model : arguments.teacher);
  }
  Teacher* teacher = helpers == nullptr ? nullptr : &helpers->teacher();
  ASSIGN_OR_RETURN(const Dataset dataset, MakeDataset(runs, options, paths, teacher, stopper));
  RETURN_IF_ERROR(WriteDataset(dataset, paths, !options.hold_out.empty()));
  if (dataset.train_records + dataset.held_out_records == 0) {
    session.progress().Note(absl::StrCat("no record is left; ", paths.card_markdown.string(),
                                         " says what was read and which rule left it out."));
  }
  v1::DatasetResult result;
  result.set_path(paths.train.string());
  result.set_records(dataset.train_records);
  if (!options.hold_out.empty()) result.set_held_out_path(paths.held_out.string());
  result.set_held_out_records(dataset.held_out_records);
  result.set_card_path(paths.card_markdown.string());
  return result;
}

std::string Records(uint64_t count) { return absl::StrCat(CountText(count), count == 1 ? " record" : " records"); }

std::string Text(const v1::DatasetResult& result, const Style& style) {
  std::string text =
      absl::StrCat(style.Good("wrote"), " ", PrintableLine(result.path()), "  ", Records(result.records()), "\n");
  if (!result.held_out_path().empty()) {
    absl::StrAppend(&text, style.Good("wrote"), " ", PrintableLine(result.held_out_path()), "  ",
                    Records(result.held_out_records()), ", held out\n");
  }
  return absl::StrCat(text, style.Good("wrote"), " ", PrintableLine(result.card_path()), "\n");
}

int RunDataset(Session& session, DatasetArguments& arguments, const std::map<std::string, std::string>& flags) {
  const absl::StatusOr<v1::DatasetResult> result = Make(session, arguments, flags);
  if (!result.ok()) return session.Fail(result.status());
  session.Answer(*result, Text(*result, session.style()));
  return kExitCorrect;
}

template <typename Value>
void AddChoice(CLI::App& command, const char* flag, const char* help, const std::map<std::string, Value>& choices,
               Value& value) {
  std::vector<std::string> names;
  for (const auto& [name, meant] : choices) names.push_back(name);
  command
      .add_option_function<std::string>(
          flag, [&choices, &value](const std::string& name) { value = choices.at(name); }, help)
      ->check(OneOf(std::move(names)))
      ->type_name("CHOICE");
}

void AddFilters(CLI::App& command, DatasetArguments& arguments) {
  DatasetOptions& options = arguments.options;
  command.add_option("--errors", options.errors, "fixit: verdict statuses or codes of the failed turn; default: all")
      ->delimiter(',')
      ->type_size(1)
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->type_name("NAME[,NAME...]");
  command.add_option("--turns", arguments.turns, "only (failed) turns of this number, counted from 0")
      ->type_name("FIRST[-LAST]");
  command
      .add_option("--within", options.within,
                  "fixit: the repair comes at most so many turns later; 0: any later turn [0]")
      ->check(WholeNumber())
      ->type_name("N");
  command.add_option("--min-speedup", options.min_speedup, "only solutions at least so fast")
      ->check(NonNegativeNumber())
      ->type_name("NUMBER");
  command.add_flag("--require-target", options.require_target_instructions,
                   "only solutions that executed the target architecture's instructions");
  command.add_flag("--require-reasoning", options.require_reasoning, "leave out solutions without any reasoning");
}

void AddShape(CLI::App& command, DatasetArguments& arguments) {
  DatasetOptions& options = arguments.options;
  command.add_option("--cap", options.cap, "at most so many records of a stratum; 0: no limit [0]")
      ->check(WholeNumber())
      ->type_name("N");
  command
      .add_option("--strata", options.strata,
                  "what makes a stratum: code, status, turn, workload, definition, model [code,turn]")
      ->delimiter(',')
      ->type_size(1)
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->type_name("KEY[,KEY...]");
  AddChoice(command, "--balance", "apply --cap before or after duplicates are taken out (before, after) [after]",
            kBalances, options.balance);
  command.add_option("--seed", options.seed, "decides which records --cap keeps [0]")
      ->check(WholeNumber())
      ->type_name("N");
  command
      .add_option("--hold-out", options.hold_out,
                  "workloads that match this extended regular expression go to OUT.heldout.jsonl")
      ->type_name("REGEX");
  AddChoice(command, "--loss-mark", "how messages say whether they are trained on (loss, weight) [loss]", kLossMarks,
            options.loss_mark);
  AddChoice(command, "--reasoning-form", "where the reasoning goes (think, field, plain) [think]", kReasoningForms,
            options.reasoning_form);
}

}  // namespace

void AddDatasetCommand(CLI::App& root, Invocation& invocation) {
  CLI::App* command = root.add_subcommand("dataset", "Makes a chat data set for training out of recorded runs");
  const auto arguments = std::make_shared<DatasetArguments>();
  command->add_option("KIND", arguments->kind, "fixit: failures with their repair; kernelgen: correct kernels")
      ->required()
      ->check(OneOf({"fixit", "kernelgen"}))
      ->type_name("");
  command->add_option("RUN", arguments->runs, "folders of recorded runs")->required()->type_name("");
  command->add_option("-o,--output", arguments->output, "file to write; its card lies beside it")
      ->required()
      ->type_name("OUT.jsonl");
  command
      ->add_option("--teacher", arguments->teacher,
                   "fixit: model that repairs failures which no later turn repaired; the service verifies each repair")
      ->type_name("ID");
  command
      ->add_option("--reasoning-model", arguments->reasoning_model,
                   "model that writes the reasoning where a record has none")
      ->type_name("ID");
  AddFilters(*command, *arguments);
  AddShape(*command, *arguments);
  AddSettingFlags(*command, invocation,
                  {"endpoint", "provider", "api_key_file", "model_ca_file", "temperature", "max_tokens",
                   "reasoning_effort", "parallel", "arch", "definitions", "cuda", "cuda_home", "cache_dir",
                   "compile_deadline", "allow_unsandboxed", "builder"});
  AddCommonFlags(*command, invocation);
  command->footer(
      "Examples:\n"
      "  mini-ptx-agent dataset kernelgen runs/a runs/b -o kernelgen.jsonl --require-target\n"
      "  mini-ptx-agent dataset fixit runs/a -o fixit.jsonl --errors NVCC_ERROR,PTXAS_ERROR --turns 0-3 --cap 200\n"
      "  mini-ptx-agent dataset fixit runs/* -o fixit.jsonl --hold-out '_d256/' --loss-mark weight\n"
      "  mini-ptx-agent dataset fixit runs/a -o fixit.jsonl --teacher big-model --endpoint https://llm.example.com/v1\n"
      "\n"
      "Excluded, unscorable and infrastructure turns are never in. The same runs and options give the same bytes.\n"
      "Answers of --teacher and --reasoning-model are kept in OUT.answers and are not paid for twice.\n"
      "OUT.card.md and OUT.card.json say what is in the files and what was left out.");
  command->callback([&invocation, arguments] {
    invocation.action = [arguments, &invocation](Session& session) {
      return RunDataset(session, *arguments, invocation.flags);
    };
  });
}

}  // namespace sassay::agent
