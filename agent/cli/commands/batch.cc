#include "agent/batch/batch.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <memory>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "agent/batch/corrections.h"
#include "agent/batch/hang_up_watch.h"
#include "agent/batch/workload_finder.h"
#include "agent/build/workload_names.h"
#include "agent/cli/commands/commands.h"
#include "agent/cli/flag_checks.h"
#include "agent/cli/session.h"
#include "agent/render/text.h"
#include "agent/rollout/service_judge.h"
#include "agent/rollout/start/plan.h"
#include "agent/submit/calls.h"
#include "agent/submit/exclusion_stream.h"
#include "agent/submit/from_settings.h"
#include "agent/submit/interrupt.h"
#include "agent/submit/rpc_error.h"
#include "agent/submit/submission.h"
#include "common/base/proto_json.h"
#include "common/base/status_macros.h"
#include "common/process/subprocess.h"
#include "common/terminal/text.h"

namespace sassay::agent {
namespace {

constexpr uint64_t kMaxConcurrency = 1024;

struct BatchArguments {
  std::string input = "-";
  std::string output;
  uint64_t concurrency = 64;
  bool keep_order = false;
};

absl::Status CheckArguments(const Session& session, const BatchArguments& arguments) {
  if (arguments.concurrency < 1 || arguments.concurrency > kMaxConcurrency)
    return absl::InvalidArgumentError(
        absl::StrCat("--concurrency must be 1 to ", kMaxConcurrency, ", not ", arguments.concurrency, "."));
  if (SplitWorkloadNames(session.settings().Text("workload")).size() > 1)
    return absl::InvalidArgumentError("--workload names what items without a workload are judged for: one.");
  return CheckOutputFile("--output", arguments.output, session.terminal().working_directory);
}

// Settings without which the same sources may get another verdict.
std::string WhatDecides(const Settings& settings, v1::ProfileRequest request) {
  request.clear_request_id();
  request.clear_priority();
  request.clear_queue_deadline();
  request.clear_max_age();
  request.clear_fresh();
  std::string text = request.SerializeAsString();
  for (const char* key : {"arch", "abi", "profile", "device", "device_table", "autotune_config"})
    absl::StrAppend(&text, "\n", settings.Text(key));
  return text;
}

std::string Line(const BatchProgress& progress) {
  const v1::BatchSummary& counts = progress.counts;
  const uint64_t done = counts.correct() + counts.at_fault() + counts.not_judged() + counts.unusable();
  std::string line =
      absl::StrCat(CountText(done), " of ", CountText(counts.items()), progress.all_read ? "" : "+", ": ",
                   CountText(counts.correct()), " correct, ", CountText(counts.at_fault()), " at fault");
  if (counts.not_judged() > 0) absl::StrAppend(&line, ", ", CountText(counts.not_judged()), " not judged");
  if (counts.unusable() > 0) absl::StrAppend(&line, ", ", CountText(counts.unusable()), " unusable");
  return absl::StrCat(line, "; ", progress.building, " building, ", progress.submitted, " at the service");
}

// Shows where the batch stands, twice a second, on a terminal.
class Ticker {
 public:
  Ticker(Session& session, const Batch& batch) {
    if (!session.interactive()) return;
    session.progress().Begin("batch", "");
    spinner_ = std::make_unique<Spinner>(session.progress());
    thread_ = std::thread([this, &session, &batch] {
      do session.progress().Detail(Line(batch.progress()));
      while (!stop_.WaitForNotificationWithTimeout(absl::Milliseconds(500)));
    });
  }
  ~Ticker() {
    stop_.Notify();
    if (thread_.joinable()) thread_.join();
  }

 private:
  absl::Notification stop_;
  std::unique_ptr<Spinner> spinner_;
  std::thread thread_;
};

// Everything that a batch needs, in the order in which it is made.
class Running {
 public:
  Running(Session& session, const BatchArguments& arguments) : session_(session), arguments_(arguments) {}

  absl::StatusOr<v1::BatchSummary> Go() {
    const Settings& settings = session_.settings();
    RETURN_IF_ERROR(CheckArguments(session_, arguments_));
    RETURN_IF_ERROR(OpenInput());
    ASSIGN_OR_RETURN(const auto builder, Builder::Make(settings, session_.terminal().environment));
    ASSIGN_OR_RETURN(const auto connection, session_.Connect());
    ASSIGN_OR_RETURN(ServiceJudgeOptions judging, JudgeOptions(*connection));
    ASSIGN_OR_RETURN(WorkloadCatalog catalog, LoadCatalog(settings));
    WorkloadFinder workloads(catalog, *connection);
    if (!arguments_.output.empty()) {
      ASSIGN_OR_RETURN(records_, RecordFile::Open(Here(arguments_.output)));
    }
    BatchOptions options;
    options.concurrency = arguments_.concurrency;
    options.keep_order = arguments_.keep_order;
    options.workload = settings.Text("workload");
    options.settings = WhatDecides(settings, judging.request);
    options.working_directory = session_.terminal().working_directory;
    options.retry = judging.retry;
    judging.cancelling = &leaving_;
    const RetryPolicy retry = judging.retry;
    ServiceJudge judge(*builder, *connection, std::move(judging));
    if (records_ != nullptr) HearOfEarlier(*connection);
    Corrections corrections(CorrectionsBy(*connection, retry));
    BatchParts parts = {judge, [&](const std::string& name) { return workloads.Find(name); },
                        [&](const v1::BatchRecord& record) { return corrections.Emit(record); }, records_.get()};
    Batch batch(std::move(parts), std::move(options));
    corrections.Start();
    outcome_ = RunShown(batch, corrections);
    v1::BatchSummary summary = batch.progress().counts;
    corrections.Apply(summary);
    summary.set_path(arguments_.output);
    summary.set_state(outcome_.ok() ? "finished" : "interrupted");
    return summary;
  }
  const absl::Status& outcome() const { return outcome_; }

 private:
  std::filesystem::path Here(const std::string& path) const {
    return std::filesystem::path(session_.terminal().working_directory) / path;
  }

  absl::Status OpenInput() {
    if (arguments_.input == "-") return absl::OkStatus();
    input_ = UniqueFd(open(Here(arguments_.input).c_str(), O_RDONLY | O_CLOEXEC));
    if (input_.valid()) return absl::OkStatus();
    return absl::ErrnoToStatus(errno, absl::StrCat("could not read ", arguments_.input));
  }

  // A wrong address or a refused token is said once, and not for each item.
  absl::StatusOr<ServiceJudgeOptions> JudgeOptions(Connection& connection) const {
    const Settings& settings = session_.settings();
    ServiceJudgeOptions options;
    ASSIGN_OR_RETURN(options.request, MakeRequest(settings, "", v1::PRIORITY_BATCH));
    ASSIGN_OR_RETURN(const v1::GetCapabilitiesResponse capabilities, GetCapabilitiesFor(connection, options.request));
    RETURN_IF_ERROR(CheckArch(capabilities, settings.Text("arch")));
    options.devices = capabilities.devices();
    options.builds = std::max(1u, std::thread::hardware_concurrency());
    options.submissions = arguments_.concurrency;
    options.max_bundle_bytes = capabilities.max_blob_bytes();
    options.retry = RetryPolicyFrom(settings);
    ASSIGN_OR_RETURN(const WorkloadCatalog catalog, LoadCatalog(settings));
    options.welcome = [settings, catalog](const v1::Workload& workload) {
      return ShapesForSanitizers(settings, catalog, workload);
    };
    return options;
  }

  // What was excluded since an earlier run wrote it is judged again.
  void HearOfEarlier(Connection& connection) {
    if (records_->oldest() == absl::InfiniteFuture()) return;
    Stopper none;
    const absl::Status heard = ReadExclusions(connection, records_->oldest() - kExclusionClockSlack, none,
                                              [this](const v1::Event& event) { records_->Exclude(event); });
    if (!heard.ok()) session_.progress().Note(std::string(heard.message()));
  }

  CorrectionParts CorrectionsBy(Connection& connection, const RetryPolicy& retry) {
    using OnEvent = CorrectionParts::OnEvent;
    const auto note = [this](absl::string_view line) { session_.progress().Note(line); };
    CorrectionParts parts;
    parts.watch = [&connection, retry, note](Stopper& stopper, const OnEvent& on_event) {
      WatchExclusions(connection, absl::Now() - kExclusionClockSlack, retry, stopper, on_event, note);
    };
    parts.past = [&connection](absl::Time from, Stopper& stopper, const OnEvent& on_event) {
      return ReadExclusions(connection, from, stopper, on_event);
    };
    parts.follow = [&connection, retry](const std::string& submission_id, Stopper& stopper) {
      return Submission(connection, retry, stopper, {}).Attach(submission_id);
    };
    parts.write = [this](const v1::BatchRecord& record) { return Write(record); };
    parts.note = note;
    return parts;
  }

  absl::Status Write(const v1::BatchRecord& record) {
    if (records_ != nullptr) return records_->Append(record);
    *session_.terminal().out << ToJson(record, -1) << "\n" << std::flush;
    if (session_.terminal().out->good()) return absl::OkStatus();
    return absl::UnavailableError("standard output cannot be written; is the disk full, or the reader gone?");
  }

  absl::Status RunShown(Batch& batch, Corrections& corrections) {
    LineReader reader(input_.valid() ? input_.get() : STDIN_FILENO);
    const InterruptHandler interrupts([&](int times) {
      session_.progress().Note(times == 1 ? "stopping and cancelling what is under way; Ctrl-C again leaves at once"
                                          : "leaving");
      if (times > 1) leaving_.Stop();
      corrections.Stop();
      batch.Interrupt();  // first, so that nobody takes a killed compiler for a failure
      CancelEveryRun();
    });
    std::unique_ptr<HangUpWatch> reader_left;
    if (records_ == nullptr && session_.terminal().out == &std::cout) {
      signal(SIGPIPE, SIG_IGN);
      reader_left = std::make_unique<HangUpWatch>(STDOUT_FILENO, [&] {
        corrections.Stop();
        batch.Interrupt();
        CancelEveryRun();
      });
    }
    const Ticker ticker(session_, batch);
    const absl::Status outcome = batch.Run(reader);
    if (outcome.ok()) corrections.Finish();
    return outcome;
  }

  Session& session_;
  const BatchArguments& arguments_;
  UniqueFd input_;
  std::unique_ptr<RecordFile> records_;
  Stopper leaving_;
  absl::Status outcome_;
};

std::string Text(const v1::BatchSummary& summary, const Style& style) {
  std::string text = absl::StrCat(CountText(summary.items()), summary.items() == 1 ? " item" : " items");
  if (summary.found() > 0) absl::StrAppend(&text, " (", CountText(summary.found()), " were judged before)");
  absl::StrAppend(&text, ": ", style.Good(absl::StrCat(CountText(summary.correct()), " correct")), ", ",
                  CountText(summary.at_fault()), " at fault, ", CountText(summary.not_judged()), " not judged, ",
                  CountText(summary.unusable()), " unusable\n");
  return text;
}

// Where the reasons stand: the summary only counts.
std::string WhereTheyFailed(const v1::BatchSummary& summary, const BatchArguments& arguments) {
  if (summary.unusable() == 0) return "";
  const std::string records = arguments.output.empty() ? "the records" : PrintableLine(arguments.output);
  return absl::StrCat("why items are unusable: failure.message of their lines in ", records);
}

int ExitStatus(const v1::BatchSummary& summary, const absl::Status& outcome) {
  if (!outcome.ok()) return ExitStatusOf(outcome);
  if (summary.not_judged() > 0) return kExitInfrastructure;
  return summary.unusable() > 0 ? kExitUsage : kExitCorrect;
}

int RunBatch(Session& session, const BatchArguments& arguments) {
  Running running(session, arguments);
  const absl::StatusOr<v1::BatchSummary> summary = running.Go();
  if (!summary.ok()) return session.Fail(summary.status());
  const absl::Status& outcome = running.outcome();
  if (!arguments.output.empty()) {
    session.Answer(*summary, Text(*summary, session.style()));
  } else {
    session.progress().Finish();
    session.progress().Note(Text(*summary, session.err_style()));
  }
  if (const std::string where = WhereTheyFailed(*summary, arguments); !where.empty()) session.progress().Note(where);
  if (!outcome.ok()) session.progress().Note(std::string(outcome.message()));
  return ExitStatus(*summary, outcome);
}

}  // namespace

void AddBatchCommand(CLI::App& root, Invocation& invocation) {
  CLI::App* command = root.add_subcommand("batch", "Judges many candidates: JSON lines in, JSON lines out");
  const auto arguments = std::make_shared<BatchArguments>();
  command->add_option("INPUT", arguments->input, "file with one item in each line; - for standard input [-]")
      ->type_name("");
  command
      ->add_option("-o,--output", arguments->output,
                   "file for the records instead of standard output; what it holds already is not judged again")
      ->type_name("OUT.jsonl");
  command->add_option("--concurrency", arguments->concurrency, "items worked on at once [64]")
      ->check(WholeNumber())
      ->type_name("N");
  command->add_flag("--keep-order", arguments->keep_order,
                    "records in the order of the input; default: as they are decided");
  AddSettingFlags(*command, invocation,
                  {"workload", "stages",    "sanitize",  "baseline",       "diagnose",         "priority",
                   "max_age",  "fresh",     "gpu_model", "queue_deadline", "run_deadline",     "reconnect_deadline",
                   "arch",     "abi",       "profile",   "definitions",    "device",           "device_table",
                   "cuda",     "cuda_home", "cache_dir", "triton_venv",    "compile_deadline", "allow_unsandboxed",
                   "builder"});
  AddCommonFlags(*command, invocation);
  command->footer(
      "Examples:\n"
      "  mini-ptx-agent batch items.jsonl -o records.jsonl --workload gemm_n256_k256/M=256\n"
      "  mini-ptx-agent batch --keep-order < items.jsonl > records.jsonl\n"
      "  mini-ptx-agent batch items.jsonl -o records.jsonl --workload gemm_n7168_k5120/M=8192 --max-age 12h\n"
      "  mini-ptx-agent batch items.jsonl --concurrency 200 --stages evaluate,sanitize | jq -r .verdict.status\n"
      "\n"
      "An item: {\"id\": \"a\", \"workload\": \"gemm_n256_k256/M=64\", \"source\": \"…\"}, with \"answer\" (a model's, "
      "with the "
      "kernel in a fenced block), \"path\", \"paths\" or \"bundle\" instead of \"source\"; {\"cancel\": \"a\"} gives "
      "an earlier one up. A "
      "record: {\"id\": \"a\", \"line\": 1, …, \"verdict\": {…}}, or \"failure\" or \"no_candidate\" in place of "
      "\"verdict\" "
      "(docs/batch.md).\n"
      "\n"
      "Ctrl-C cancels what is under way; the same command with the same -o FILE goes on. Exit status 0: every item has "
      "a "
      "verdict about its candidate, right or wrong; 2: usage, or lines that cannot be used (their records say why); 3: "
      "interrupted, or items without a verdict for infrastructure's sake (worth going on).");
  command->callback([&invocation, arguments] {
    invocation.action = [arguments](Session& session) { return RunBatch(session, *arguments); };
  });
}

}  // namespace sassay::agent
