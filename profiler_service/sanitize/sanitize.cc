#include "profiler_service/sanitize/sanitize.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/files.h"
#include "common/base/status_macros.h"
#include "common/base/steady_time.h"
#include "common/toolchain/toolchain.h"
#include "profiler_service/sanitize/report.h"

namespace sassay::sanitize {
namespace {

using sassay::worker::RunnerReply;

constexpr uint64_t kMaxReportBytes = 32 << 20;
constexpr uint64_t kMaxConsoleBytes = 1 << 20;
// The tool writes its report after the runner has ended.
constexpr absl::Duration kToolEnd = absl::Seconds(20);
// What the tool returns when it has seen errors.
constexpr int kErrorExitStatus = 33;

Sanitization Unavailable(std::string reason, RunnerReply reply = {}) {
  Sanitization sanitization;
  sanitization.reason = std::move(reason);
  sanitization.last_reply = std::move(reply);
  return sanitization;
}

// Our own trouble with the runner, in which a lost one differs from one that cannot be had.
Sanitization Trouble(const absl::Status& status, absl::string_view where = "") {
  Sanitization sanitization = Unavailable(absl::StrCat(where, status.message()));
  sanitization.lost = absl::IsUnavailable(status) || absl::IsDataLoss(status);
  return sanitization;
}

bool Ended(const RunnerReply& reply) { return reply.outcome() == worker::RUN_OUTCOME_OK; }

// The whole conversation; stops at the first reply that is not OK.
absl::StatusOr<RunnerReply> Converse(const SanitizeRequest& request, wire::RunnerClient& runner) {
  ASSIGN_OR_RETURN(RunnerReply reply, runner.Load(*request.bundle, worker::RUN_MODE_CHECKED));
  if (!Ended(reply)) return reply;
  ASSIGN_OR_RETURN(reply, runner.Bind(request.regions, request.descriptors));
  if (!Ended(reply)) return reply;
  ASSIGN_OR_RETURN(reply, runner.Setup(request.poison_seed, request.deadline));
  if (!Ended(reply) || !reply.findings().empty()) return reply;
  if (request.refill_after_setup) RETURN_IF_ERROR(request.refill_after_setup());
  return runner.Steady(request.poison_seed + 1, request.deadline);
}

std::string HowTheRunEnded(const RunnerReply& reply, absl::string_view tool) {
  return absl::StrCat("under ", tool, ": ", reply.message());
}

// The emulator's own checks are exact: what it finds convicts.
Sanitization FromEmulator(RunnerReply reply) {
  Sanitization sanitization;
  sanitization.tool = "emulator";
  sanitization.findings.assign(reply.findings().begin(), reply.findings().end());
  if (!sanitization.findings.empty()) {
    sanitization.status = Sanitization::Status::kFindings;
    sanitization.reason = sanitization.findings.front().message();
  } else if (Ended(reply)) {
    sanitization.status = Sanitization::Status::kClean;
  } else {
    sanitization.reason = HowTheRunEnded(reply, "the emulator's checks");
  }
  sanitization.last_reply = std::move(reply);
  return sanitization;
}

absl::StatusOr<Sanitization> SanitizeEmulated(const SanitizeRequest& request, wire::RunnerPool& pool) {
  auto runner = pool.Acquire(request.device, worker::RUN_MODE_CHECKED, absl::InfiniteFuture(), request.kill_switch);
  if (absl::IsCancelled(runner.status())) return runner.status();
  if (!runner.ok()) return Trouble(runner.status());
  const wire::KillSwitch::Guard guard(request.kill_switch, **runner);
  absl::StatusOr<RunnerReply> reply = Converse(request, **runner);
  if (absl::IsCancelled(reply.status())) return reply.status();
  if (!reply.ok()) return Trouble(reply.status());
  return FromEmulator(*std::move(reply));
}

// What a tool prints, in memory of ours.
class Console {
 public:
  Console() : memory_(memfd_create("console", MFD_CLOEXEC)) {}
  int fd() const { return memory_.get(); }
  std::string Text() const {
    std::string text(kMaxConsoleBytes, '\0');
    struct stat info {};
    if (fstat(memory_.get(), &info) != 0) return "";
    // The summary is at the end.
    const off_t from = std::max<off_t>(0, info.st_size - static_cast<off_t>(kMaxConsoleBytes));
    const ssize_t size = pread(memory_.get(), text.data(), text.size(), from);
    text.resize(size < 0 ? 0 : static_cast<size_t>(size));
    return text;
  }

 private:
  UniqueFd memory_;
};

// What memcheck's files say, once it has ended.
Sanitization FromMemcheck(const SanitizeRequest& request, RunnerReply reply, const ExitReport& exit,
                          const std::string& console, const std::filesystem::path& report_file) {
  const bool known_exit =
      exit.kind == ExitReport::Kind::kExited && (exit.exit_code == 0 || exit.exit_code == kErrorExitStatus);
  if (!known_exit) return Unavailable(absl::StrCat("compute-sanitizer: ", DescribeExit(exit)), std::move(reply));
  const auto errors = ParseSummary(console);
  if (!errors.ok()) return Unavailable(std::string(errors.status().message()), std::move(reply));
  const auto xml = ReadUntrustedFile(report_file, kMaxReportBytes);
  if (!xml.ok()) return Unavailable(std::string(xml.status().message()), std::move(reply));
  const std::vector<worker::Placement> placements(reply.placements().begin(), reply.placements().end());
  auto report = ParseReport(*xml, placements, *request.bundle);
  if (!report.ok()) return Unavailable(std::string(report.status().message()), std::move(reply));
  Sanitization sanitization;
  sanitization.findings = std::move(report->convicting);
  sanitization.advisory = std::move(report->advisory);
  if (!sanitization.findings.empty()) {
    sanitization.status = Sanitization::Status::kFindings;
    sanitization.reason = sanitization.findings.front().message();
  } else if (Ended(reply) && sanitization.advisory.empty() && *errors == 0) {
    sanitization.status = Sanitization::Status::kClean;
  } else if (!Ended(reply)) {
    sanitization.reason = HowTheRunEnded(reply, "memcheck");
  } else {
    sanitization.reason = absl::StrCat("memcheck reports ", *errors, " errors, none of them in global memory",
                                       sanitization.advisory.empty() ? "" : ": ",
                                       sanitization.advisory.empty() ? "" : sanitization.advisory.front().message());
  }
  sanitization.last_reply = std::move(reply);
  return sanitization;
}

absl::StatusOr<Sanitization> SanitizeOnGpu(const SanitizeRequest& request, wire::RunnerPool& pool,
                                           absl::string_view compute_sanitizer) {
  const auto version = ToolVersion(std::string(compute_sanitizer));
  if (!version.ok()) return Unavailable(std::string(version.status().message()));
  ASSIGN_OR_RETURN(const TemporaryDirectory directory, TemporaryDirectory::Create("sassay_memcheck"));
  const std::filesystem::path folder = directory.path() / "report";
  std::filesystem::create_directory(folder);
  const Console console;
  wire::RunnerPoolOptions options = pool.options();
  options.launcher = MemcheckCommand(compute_sanitizer, (folder / "report.xml").string());
  options.writable_directory = folder.string();
  options.stdout_fd = console.fd();
  auto runner =
      wire::StartRunner(options, request.device, worker::RUN_MODE_CHECKED, absl::InfiniteFuture(), request.kill_switch);
  if (absl::IsCancelled(runner.status())) return runner.status();
  if (!runner.ok()) return Trouble(runner.status(), "compute-sanitizer: ");
  const wire::KillSwitch::Guard guard(request.kill_switch, **runner);
  absl::StatusOr<RunnerReply> reply = Converse(request, **runner);
  if (absl::IsCancelled(reply.status())) return reply.status();
  if (!reply.ok()) return Trouble(reply.status(), "under compute-sanitizer: ");
  // Behind an endless kernel the tool never ends either.
  if (reply->outcome() == worker::RUN_OUTCOME_TIMEOUT) {
    return Unavailable(HowTheRunEnded(*reply, "memcheck"), *reply);
  }
  const auto exit = (*runner)->process().CloseAndWait(SteadyNow() + kToolEnd);
  if (!exit.ok()) return Unavailable("compute-sanitizer did not end after the run", *std::move(reply));
  Sanitization sanitization = FromMemcheck(request, *std::move(reply), *exit, console.Text(), folder / "report.xml");
  sanitization.tool = absl::StrCat("compute-sanitizer ", *version);
  return sanitization;
}

}  // namespace

std::vector<std::string> MemcheckCommand(absl::string_view compute_sanitizer, absl::string_view report) {
  // Findings are read from the XML; the limit keeps a kernel with a million of them from taking minutes.
  return {std::string(compute_sanitizer),
          "--tool",
          "memcheck",
          "--xml",
          "--save",
          std::string(report),
          "--print-limit",
          "200",
          "--demangle",
          "no",
          "--report-api-errors",
          "no",
          "--error-exitcode",
          absl::StrCat(kErrorExitStatus)};
}

absl::StatusOr<Sanitization> Sanitize(const SanitizeRequest& request, wire::RunnerPool& pool,
                                      absl::string_view compute_sanitizer) {
  if (!absl::StartsWith(request.device, "cuda:")) return SanitizeEmulated(request, pool);
  if (compute_sanitizer.empty()) {
    return Unavailable("compute-sanitizer was not found; install the CUDA toolkit's sanitizer (cuda-sanitizer-13-0)");
  }
  return SanitizeOnGpu(request, pool, compute_sanitizer);
}

}  // namespace sassay::sanitize
