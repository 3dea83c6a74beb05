#include "agent/bench/bench.h"

#include <algorithm>
#include <memory>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "agent/batch/record_file.h"
#include "agent/batch/workload_finder.h"
#include "agent/build/workload_names.h"
#include "agent/cli/build/candidate.h"
#include "agent/cli/commands/commands.h"
#include "agent/cli/flag_checks.h"
#include "agent/cli/session.h"
#include "agent/render/text.h"
#include "agent/rollout/service_judge.h"
#include "agent/submit/calls.h"
#include "agent/submit/from_settings.h"
#include "agent/submit/interrupt.h"
#include "agent/submit/rpc_error.h"
#include "common/base/files.h"
#include "common/base/proto_json.h"
#include "common/base/status_macros.h"
#include "common/bundle/bundle.h"
#include "fmt/format.h"

namespace sassay::agent {
namespace {

constexpr int kExitInconclusive = 4;
constexpr uint64_t kLeastRounds = 3, kMostRounds = 100;
constexpr double kUsualThreshold = 0.01, kLargestThreshold = 0.5;

struct BenchArguments {
  CandidateArguments candidate;
  std::string against;
  std::string fail_if_slower;
  std::string junit;
  uint64_t rounds = 7;
};

// "2%" or "0.02".
absl::StatusOr<double> ParseThreshold(const std::string& text) {
  if (text.empty()) return kUsualThreshold;
  absl::string_view number = text;
  const bool percent = absl::ConsumeSuffix(&number, "%");
  double value = 0;
  if (absl::SimpleAtod(number, &value)) {
    if (percent) value /= 100;
    if (value > 0 && value <= kLargestThreshold) return value;
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "--fail-if-slower must be a share above 0 and up to 50%, for example 2% or 0.02, not \"", text, "\"."));
}

absl::Status CheckArguments(const Session& session, const BenchArguments& arguments) {
  if (arguments.rounds < kLeastRounds || arguments.rounds > kMostRounds)
    return absl::InvalidArgumentError(absl::StrCat("--rounds must be ", kLeastRounds, " to ", kMostRounds, ", not ",
                                                   arguments.rounds, "; fewer give no interval."));
  return CheckOutputFile("--junit", arguments.junit, session.terminal().working_directory);
}

// Bundles of both sides, and the service that measures them.
class Running {
 public:
  Running(Session& session, const BenchArguments& arguments) : session_(session), arguments_(arguments) {}

  // A result, or the verdict on a candidate that could not be built.
  absl::StatusOr<std::variant<v1::BenchResult, v1::Verdict>> Go() {
    RETURN_IF_ERROR(CheckArguments(session_, arguments_));
    BenchPlan plan;
    ASSIGN_OR_RETURN(plan.threshold, ParseThreshold(arguments_.fail_if_slower));
    ASSIGN_OR_RETURN(const auto connection, session_.Connect());
    ASSIGN_OR_RETURN(WorkloadCatalog catalog, LoadCatalog(session_.settings()));
    WorkloadFinder finder(std::move(catalog), *connection);
    for (const std::string& name : SplitWorkloadNames(session_.settings().Text("workload"))) {
      ASSIGN_OR_RETURN(plan.workloads.emplace_back(), finder.Find(name));
    }
    if (plan.workloads.empty())
      return absl::InvalidArgumentError(
          "--workload is needed: on which sizes shall they be compared? `mini-ptx-agent workloads` lists what there "
          "is.");
    plan.rounds = static_cast<uint32_t>(arguments_.rounds);
    plan.id = absl::StrCat("bench-", NewBatchId().substr(6));
    ASSIGN_OR_RETURN(std::optional<v1::Verdict> fault,
                     Bundle(arguments_.candidate, plan.workloads, plan.candidate_name, plan.candidate));
    if (!fault.has_value() && !arguments_.against.empty()) {
      CandidateArguments other = arguments_.candidate;
      other.paths = {arguments_.against};
      ASSIGN_OR_RETURN(fault, Bundle(other, plan.workloads, plan.against_name, plan.against));
    }
    if (fault.has_value()) return *fault;
    ASSIGN_OR_RETURN(v1::BenchResult result, Measure(plan, *connection));
    return result;
  }

 private:
  absl::StatusOr<std::optional<v1::Verdict>> Bundle(const CandidateArguments& candidate,
                                                    const std::vector<v1::Workload>& workloads, std::string& name,
                                                    std::string& bytes) {
    name = candidate.paths.front();
    if (IsBundle(candidate)) {
      ASSIGN_OR_RETURN(BuiltBundle built, ReadBundle(name));
      for (const v1::Workload& workload : workloads) {
        if (FindPlan(built.bundle, workload.name()) == nullptr)
          return absl::InvalidArgumentError(absl::StrCat(name, " has no plan for ", workload.name(), "."));
      }
      bytes = std::move(built.bytes);
      return std::nullopt;
    }
    ASSIGN_OR_RETURN(BuildOutcome outcome, BuildBundle(session_, candidate, workloads));
    if (auto* verdict = std::get_if<v1::Verdict>(&outcome)) {
      verdict->set_reason(absl::StrCat(name, ": ", verdict->reason()));
      return std::move(*verdict);
    }
    bytes = std::move(std::get<BuiltBundle>(outcome).bytes);
    return std::nullopt;
  }

  absl::StatusOr<v1::BenchResult> Measure(const BenchPlan& plan, Connection& connection) {
    const Settings& settings = session_.settings();
    ServiceJudgeOptions options;
    options.retry = RetryPolicyFrom(settings);
    ASSIGN_OR_RETURN(options.request, MakeFreshRequest(settings));
    options.request.clear_stages();
    options.request.add_stages(v1::STAGE_TIMING);
    ASSIGN_OR_RETURN(const auto capabilities, GetCapabilitiesFor(connection, options.request));
    options.devices = capabilities.devices();
    Stopper leaving, stopper;
    options.cancelling = &leaving;
    ServiceJudge judge(connection, std::move(options));
    const InterruptHandler interrupts([&](int times) {
      if (times > 1) leaving.Stop();
      stopper.Stop();
    });
    session_.progress().Begin("bench", absl::StrCat(plan.candidate_name, " against ", plan.against_name));
    const auto spinner = session_.interactive() ? std::make_unique<Spinner>(session_.progress()) : nullptr;
    return RunBench(plan, judge, stopper, [&](absl::string_view line) { session_.progress().Note(line); });
  }

  Session& session_;
  const BenchArguments& arguments_;
};

std::string Outcome(v1::BenchOutcome outcome, const Style& style) {
  const std::string padded = fmt::format("{:<13}", LowerCase(EnumName(outcome)));
  if (outcome == v1::BENCH_OUTCOME_SLOWER || outcome == v1::BENCH_OUTCOME_UNAVAILABLE) return style.Bad(padded);
  return outcome == v1::BENCH_OUTCOME_INCONCLUSIVE ? style.Warn(padded) : style.Good(padded);
}

std::string Text(const v1::BenchResult& result, const Style& style) {
  std::string text =
      fmt::format("speed of {} over {}; differences up to {:.3g} % do not count\n\n", PrintableLine(result.candidate()),
                  PrintableLine(result.against()), result.threshold() * 100);
  size_t width = 14;
  for (const v1::BenchShape& shape : result.shapes()) width = std::max(width, shape.workload().size());
  for (const v1::BenchShape& shape : result.shapes()) {
    absl::StrAppend(&text, fmt::format("{:<{}}  ", PrintableLine(shape.workload()), width),
                    Outcome(shape.outcome(), style));
    absl::StrAppend(&text, shape.outcome() == v1::BENCH_OUTCOME_UNAVAILABLE
                               ? absl::StrCat(PrintableLine(shape.reason()), "\n")
                               : fmt::format("{:.4f}  ({:.4f} to {:.4f})  {} against {}, {} rounds\n", shape.ratio(),
                                             shape.ratio_low(), shape.ratio_high(), DurationText(shape.candidate_ns()),
                                             DurationText(shape.against_ns()), shape.rounds_size()));
  }
  if (result.geomean() > 0) {
    absl::StrAppend(&text, fmt::format("{:<{}}  {:<13}{:.4f}  ({:.4f} to {:.4f})\n", "geometric mean", width, "",
                                       result.geomean(), result.geomean_low(), result.geomean_high()));
  }
  return text;
}

int ExitStatus(const v1::BenchResult& result, bool guards) {
  for (const v1::BenchShape& shape : result.shapes()) {
    if (shape.outcome() == v1::BENCH_OUTCOME_UNAVAILABLE)
      return shape.verdict().status() == v1::VERDICT_STATUS_CORRECT ? kExitInfrastructure : kExitCandidateAtFault;
  }
  const v1::BenchOutcome outcome = guards ? GuardOutcome(result) : result.outcome();
  if (outcome == v1::BENCH_OUTCOME_INCONCLUSIVE) return kExitInconclusive;
  return guards && outcome == v1::BENCH_OUTCOME_SLOWER ? kExitCandidateAtFault : kExitCorrect;
}

int Bench(Session& session, const BenchArguments& arguments) {
  auto outcome = Running(session, arguments).Go();
  if (!outcome.ok()) return session.Fail(outcome.status());
  if (const auto* verdict = std::get_if<v1::Verdict>(&*outcome)) return session.AnswerVerdict(*verdict);
  const v1::BenchResult& result = std::get<v1::BenchResult>(*outcome);
  if (!arguments.junit.empty()) {
    const std::filesystem::path path = std::filesystem::path(session.terminal().working_directory) / arguments.junit;
    if (const absl::Status status = WriteNamedFile(path, JUnit(result)); !status.ok()) return session.Fail(status);
  }
  session.Answer(result, Text(result, session.style()));
  return ExitStatus(result, !arguments.fail_if_slower.empty());
}

}  // namespace

void AddBenchCommand(CLI::App& root, Invocation& invocation) {
  CLI::App* command =
      root.add_subcommand("bench", "Compares a kernel's speed with another one's, or with the baseline's");
  const auto arguments = std::make_shared<BenchArguments>();
  AddCandidateArguments(*command, arguments->candidate, "CANDIDATE");
  command
      ->add_option("--against", arguments->against,
                   "a source file, folder or bundle to compare with; default: the workload's baseline")
      ->type_name("PATH");
  command
      ->add_option(
          "--fail-if-slower", arguments->fail_if_slower,
          "exit status 1 if it is slower by more than this on a workload, 4 if that cannot be told; what counts "
          "as a difference at all [1%]")
      ->type_name("SHARE");
  command->add_option("--rounds", arguments->rounds, "measurements of each side on each workload [7]")
      ->check(WholeNumber())
      ->type_name("N");
  command->add_option("--junit", arguments->junit, "write the result as JUnit's XML, too")->type_name("FILE");
  AddSettingFlags(*command, invocation,
                  {"workload", "gpu_model", "priority", "queue_deadline", "run_deadline", "reconnect_deadline", "arch",
                   "abi", "profile", "definitions", "device", "device_table", "cuda", "cuda_home", "cache_dir",
                   "compile_deadline", "allow_unsandboxed", "builder"});
  AddCommonFlags(*command, invocation);
  command->footer(
      "Examples:\n"
      "  mini-ptx-agent bench new.cu --against old.cu --workload gemm_n7168_k5120/M=4096,gemm_n7168_k5120/M=8192\n"
      "  mini-ptx-agent bench kernel.cu --against released.bundle --workload gemm_n7168_k5120/M=8192 --fail-if-slower "
      "2% "
      "--junit bench.xml\n"
      "  mini-ptx-agent bench kernel.cu --workload gemm_n7168_k5120 --rounds 15 --json\n"
      "\n"
      "Both sides are measured in turn, each round in processes of its own; the interval holds what differs between "
      "rounds "
      "(docs/bench.md).\n"
      "\n"
      "Exit status 0: compared (with --fail-if-slower: shown not to be slower), 1: slower, or a kernel is at fault, 2 "
      "usage, 3 infrastructure, or no time (emulated device), 4 inconclusive: more --rounds may tell.");
  command->callback([&invocation, arguments] {
    invocation.action = [arguments](Session& session) { return Bench(session, *arguments); };
  });
}

}  // namespace sassay::agent
