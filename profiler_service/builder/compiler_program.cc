#include "profiler_service/builder/compiler_program.h"

#include <sys/resource.h>

#include <algorithm>
#include <cstdlib>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/base/files.h"
#include "common/base/sha256.h"
#include "common/base/status_macros.h"
#include "nlohmann/json.hpp"

namespace sassay::builder {
namespace {

namespace fs = std::filesystem;

constexpr absl::Duration kDoctorTimeout = absl::Seconds(60);
constexpr uint64_t kOutputBytes = 64 << 10;
// The largest bundle there is, and what else an outcome says.
constexpr uint64_t kOutcomeBytes = (uint64_t{256} << 20) + (16 << 20);
// Of the program itself; what it runs for the job has limits of its own.
constexpr uint64_t kFileBytes = uint64_t{1} << 30;
constexpr uint64_t kOpenFiles = 1024;
// Where the operator's tools are; nothing else of the environment is handed on.
constexpr const char* kHandedOn[] = {"PATH", "CUDA_HOME", "SASSAY_CUDA_HOME", "SASSAY_TRITON_VENV", "VIRTUAL_ENV"};

fs::path ProgramBeside() {
  std::error_code error;
  return fs::read_symlink("/proc/self/exe", error).parent_path() / "mini-ptx-agent";
}

std::string LastLine(absl::string_view text) {
  const std::vector<absl::string_view> lines = absl::StrSplit(text, '\n', absl::SkipWhitespace());
  return lines.empty() ? "it said nothing" : std::string(absl::StripAsciiWhitespace(lines.back()).substr(0, 300));
}

std::string Text(const nlohmann::json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

absl::Status NoAnswer(const ExitReport& report) {
  const std::string& said = report.stderr_tail.empty() ? report.stderr_text : report.stderr_tail;
  return absl::InternalError(
      absl::StrCat("the compiler program ended without an answer: ", DescribeExit(report), "; ", LastLine(said)));
}

}  // namespace

absl::StatusOr<std::string> ReadDoctor(absl::string_view json) {
  const auto report = nlohmann::json::parse(json.begin(), json.end(), nullptr, /*allow_exceptions=*/false);
  if (!report.is_object() || !report.contains("checks") || !report["checks"].is_array()) {
    return absl::InternalError("mini-ptx-agent doctor answered no report");
  }
  static const std::vector<std::string> kNeeded = {"toolkit", "nvcc", "ptxas", "sandbox", "capture"};
  std::vector<std::string> lacking;
  std::string toolkit;
  for (const auto& check : report["checks"]) {
    if (!check.is_object()) continue;
    const std::string name = Text(check, "name"), found = Text(check, "found");
    if (std::find(kNeeded.begin(), kNeeded.end(), name) == kNeeded.end()) continue;
    if (Text(check, "state") == "MISSING") {
      lacking.push_back(absl::StrCat(name, ": ", found, " (", Text(check, "remedy"), ")"));
    } else if (name == "toolkit") {
      toolkit = std::string(absl::StripPrefix(found.substr(0, found.find(" in ")), "CUDA "));
    }
  }
  if (lacking.empty()) return toolkit;
  return absl::FailedPreconditionError(
      absl::StrCat("this machine cannot build candidates: ", absl::StrJoin(lacking, "; ")));
}

absl::StatusOr<CompilerProgram> CompilerProgram::Open(ProgramOptions options) {
  CompilerProgram opened(std::move(options));
  ProgramOptions& own = opened.options_;
  if (own.program.empty()) own.program = ProgramBeside().string();
  if (!fs::exists(own.program)) {
    return absl::NotFoundError(absl::StrCat("a builder runs ", own.program,
                                            ", which is not there: install the whole package, agent and service"));
  }
  ASSIGN_OR_RETURN(const TemporaryDirectory folder, TemporaryDirectory::Create("doctor", own.scratch));
  Command doctor = opened.CommandIn(folder.path(), "");
  doctor.argv = {own.program, "doctor", "--json"};
  ASSIGN_OR_RETURN(const ExitReport report, RunToCompletion(doctor, kDoctorTimeout, 1 << 20));
  if (report.stdout_text.empty()) return NoAnswer(report);
  ASSIGN_OR_RETURN(opened.toolkit_version_, ReadDoctor(report.stdout_text));
  return opened;
}

Command CompilerProgram::CommandIn(const fs::path& folder, absl::string_view tenant) const {
  Command command;
  for (const char* name : kHandedOn) {
    if (const char* value = std::getenv(name); value != nullptr) command.environment[name] = value;
  }
  if (!options_.cuda_home.empty()) command.environment["SASSAY_CUDA_HOME"] = options_.cuda_home;
  if (options_.allow_unsandboxed) command.environment["SASSAY_ALLOW_UNSANDBOXED"] = "true";
  // No settings but these: the search for a project's file ends at the home folder.
  command.environment["HOME"] = folder.string();
  command.environment["TMPDIR"] = folder.string();
  command.environment["LANG"] = "C.UTF-8";
  command.environment["SASSAY_CACHE_DIR"] = (options_.cache / Sha256Hex(tenant).substr(0, 16)).string();
  command.working_directory = folder.string();
  command.rlimits = {{RLIMIT_FSIZE, kFileBytes}, {RLIMIT_CORE, 0}, {RLIMIT_NOFILE, kOpenFiles}};
  return command;
}

absl::StatusOr<sassay::v1::BuildJobOutcome> CompilerProgram::Build(const sassay::v1::BuildJob& untrusted_job,
                                                                   absl::string_view tenant,
                                                                   const StopAsked& stop) const {
  ASSIGN_OR_RETURN(const TemporaryDirectory folder, TemporaryDirectory::Create("build", options_.scratch));
  const fs::path job = folder.path() / "job", outcome = folder.path() / "outcome";
  RETURN_IF_ERROR(WriteFileAtomically(job, untrusted_job.SerializeAsString(), 0600));
  Command command = CommandIn(folder.path(), tenant);
  command.argv = {options_.program, "build-job", job.string(), outcome.string()};
  ASSIGN_OR_RETURN(const ExitReport report, RunToCompletion(command, options_.deadline, kOutputBytes, "", stop));
  if (report.kind == ExitReport::Kind::kTimedOut && stop && stop()) return absl::CancelledError("the build was ended");
  if (report.kind == ExitReport::Kind::kTimedOut) {
    return absl::DeadlineExceededError(
        absl::StrCat("the build was not done after ", absl::FormatDuration(options_.deadline), " (--build-deadline)"));
  }
  if (!report.Succeeded()) return NoAnswer(report);
  absl::StatusOr<std::string> bytes = ReadUntrustedFile(outcome, kOutcomeBytes);
  sassay::v1::BuildJobOutcome answer;
  if (bytes.ok() && answer.ParseFromString(*bytes) &&
      answer.result().outcome_case() != sassay::v1::BuildResult::OUTCOME_NOT_SET) {
    return answer;
  }
  return NoAnswer(report);
}

}  // namespace sassay::builder
