#include "profiler_service/diagnose/sandboxed_tool.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/base/status_macros.h"
#include "common/process/subprocess.h"

namespace sassay::diagnose {
namespace {

namespace fs = std::filesystem;

constexpr size_t kLastWords = 300;

SandboxPolicy PolicyFor(const fs::path& program, const fs::path& folder) {
  SandboxPolicy policy;
  const fs::path installation = program.parent_path().parent_path();
  if (installation != "/usr" && installation != "/") {
    policy.read_only.emplace_back(installation.string(), installation.string());
  }
  // A toolkit's bin/ncu only starts what lies there.
  if (std::error_code error; fs::is_directory("/opt/nvidia", error)) {
    policy.read_only.emplace_back("/opt/nvidia", "/opt/nvidia");
  }
  policy.read_only.emplace_back(folder.string(), folder.string());
  policy.processes = 128;
  return policy;
}

std::string LastWords(const ExitReport& report) {
  absl::string_view words =
      absl::StripAsciiWhitespace(report.stderr_text.empty() ? report.stdout_text : report.stderr_text);
  if (words.size() > kLastWords) words.remove_prefix(words.size() - kLastWords);
  return words.empty() ? "" : absl::StrCat(": ", words);
}

}  // namespace

absl::StatusOr<std::string> RunSandboxed(const std::vector<std::string>& argv, const fs::path& folder,
                                         absl::Duration timeout, const absl::optional<AllowUnsandboxed>& unsandboxed) {
  Command command;
  command.argv = argv;
  command.environment = {{"PATH", "/usr/local/cuda/bin:/usr/bin:/bin"}, {"HOME", "/tmp"}, {"LC_ALL", "C"}};
  const SandboxPolicy policy = PolicyFor(argv.front(), folder);
  if (ProbeSandbox().Complete() || !unsandboxed.has_value()) {
    ASSIGN_OR_RETURN(command, WrapInSandbox(command, policy));
  } else {
    ASSIGN_OR_RETURN(command, WrapWithoutSandbox(command, policy, *unsandboxed));
  }
  ASSIGN_OR_RETURN(ExitReport report, RunToCompletion(command, timeout, kMaxReaderBytes));
  RETURN_IF_ERROR(SandboxFailure(report));
  if (report.Succeeded() || !report.stdout_text.empty()) return std::move(report.stdout_text);
  return absl::UnavailableError(
      absl::StrCat(fs::path(argv.front()).filename().string(), " ", DescribeExit(report), LastWords(report)));
}

}  // namespace sassay::diagnose
