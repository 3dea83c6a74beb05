#include "profiler_service/diagnose/ncu.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "common/base/files.h"
#include "common/base/status_macros.h"
#include "common/toolchain/toolchain.h"
#include "profiler_service/diagnose/ncu_csv.h"
#include "profiler_service/diagnose/sandboxed_tool.h"
#include "profiler_service/wire/tool_run.h"

namespace sassay::diagnose {
namespace {

constexpr absl::Duration kToolEnd = absl::Seconds(30);
constexpr absl::Duration kReading = absl::Seconds(60);
// Names are told on a command line, of which Linux takes 128 KiB in one piece.
constexpr size_t kMaxPatternBytes = 100'000;
constexpr const char* kSections[] = {"SpeedOfLight", "Occupancy", "MemoryWorkloadAnalysis", "SchedulerStats",
                                     "WarpStateStats"};

uint32_t Launches(const google::protobuf::RepeatedPtrField<v1::Step>& steps) {
  return static_cast<uint32_t>(std::count_if(steps.begin(), steps.end(), [](const auto& s) { return s.has_launch(); }));
}

// Only the candidate's own kernels, by their exact names: our runner has one, too.
std::string KernelPattern(const v1::LaunchPlan& plan) {
  std::set<std::string> names;
  for (const auto* steps : {&plan.setup(), &plan.steady()}) {
    for (const v1::Step& step : *steps) {
      if (step.has_launch()) names.insert(absl::StrReplaceAll(step.launch().kernel(), {{"$", "\\$"}, {".", "\\."}}));
    }
  }
  return absl::StrCat("regex:^(", absl::StrJoin(names, "|"), ")$");
}

std::string HowTheToolEnded(const wire::ToolRun& run) {
  return run.exit.has_value() ? DescribeExit(*run.exit) : "it did not end";
}

// What the tool itself complains about: "==ERROR== …".
std::string Complaint(const std::string& console) {
  const size_t at = console.find("==ERROR==");
  return at == console.npos
             ? ""
             : absl::StrCat(": ", console.substr(at, std::min<size_t>(300, console.find('\n', at) - at)));
}

absl::StatusOr<Diagnosed> ReadReport(const wire::ToolOutput& output, const wire::RunnerPool& pool,
                                     const std::string& ncu) {
  Diagnosed diagnosed;
  const std::filesystem::path file = output.folder() / "report.ncu-rep";
  ASSIGN_OR_RETURN(std::string bytes, ReadUntrustedFile(file, kMaxArtifactBytes));
  ASSIGN_OR_RETURN(const std::string csv, RunSandboxed({ncu, "--import", file.string(), "--page", "details", "--csv",
                                                        "--print-kernel-base", "mangled"},
                                                       output.folder(), kReading, pool.options().allow_unsandboxed));
  RETURN_IF_ERROR(ReadNcuCsv(csv, diagnosed.report));
  diagnosed.files.push_back({".ncu-rep", std::move(bytes)});
  diagnosed.report.set_outcome(v1::DiagnosisReport::DONE);
  return diagnosed;
}

}  // namespace

std::vector<std::string> NcuCommand(absl::string_view ncu, const v1::LaunchPlan& plan, absl::string_view report) {
  std::vector<std::string> command = {
      std::string(ncu),     "--export",
      std::string(report),  "--force-overwrite",
      "--clock-control",    "none",
      "--target-processes", "all",
      "--kernel-name-base", "mangled",
      "--kernel-name",      KernelPattern(plan),
      "--launch-skip",      absl::StrCat(Launches(plan.setup())),
      "--launch-count",     absl::StrCat(std::min(Launches(plan.steady()), kMaxProfiledLaunches))};
  for (const char* section : kSections) command.insert(command.end(), {"--section", section});
  return command;
}

absl::StatusOr<Diagnosed> ProfileWithNcu(const wire::CandidateRun& run, wire::RunnerPool& pool,
                                         const std::string& ncu) {
  if (ncu.empty()) {
    return Unavailable("Nsight Compute was not found; install it with `apt-get install nsight-compute`");
  }
  const v1::LaunchPlan& plan = run.bundle->plans(0);
  if (Launches(plan.steady()) == 0) return Unavailable("a call launches no kernel: there is nothing to profile");
  if (const size_t bytes = KernelPattern(plan).size(); bytes > kMaxPatternBytes) {
    return Unavailable(absl::StrCat("the names of the kernels are ", bytes,
                                    " bytes together, Nsight Compute is told at most ", kMaxPatternBytes,
                                    ": shorter names, or fewer kernels, can be profiled"));
  }
  ASSIGN_OR_RETURN(const wire::ToolOutput output, wire::ToolOutput::Create("sassay_ncu"));
  wire::RunnerPoolOptions options =
      output.Options(pool.options(), NcuCommand(ncu, plan, (output.folder() / "report").string()));
  // It looks for section files of the user's there.
  options.environment = {{"HOME", "/tmp"}};
  const absl::StatusOr<wire::ToolRun> done = RunUnderTool(run, worker::RUN_MODE_CHECKED, options, kToolEnd);
  if (absl::IsCancelled(done.status())) return done.status();
  const std::string complaint = Complaint(output.Console());
  if (!done.ok()) return Unavailable(absl::StrCat("under ncu: ", done.status().message(), complaint));
  if (done->reply.outcome() != worker::RUN_OUTCOME_OK) {
    return Unavailable(absl::StrCat("under ncu: ", done->reply.message(), complaint));
  }
  absl::StatusOr<Diagnosed> diagnosed = ReadReport(output, pool, ncu);
  if (!diagnosed.ok()) {
    return Unavailable(absl::StrCat("ncu (", HowTheToolEnded(*done), "): ", diagnosed.status().message(), complaint));
  }
  if (const auto version = ToolVersion(ncu); version.ok()) diagnosed->report.set_version(*version);
  return diagnosed;
}

}  // namespace sassay::diagnose
