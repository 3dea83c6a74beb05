#include "profiler_service/wire/tool_run.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/base/steady_time.h"

namespace sassay::wire {
namespace {

constexpr off_t kMaxConsoleBytes = 1 << 20;
// Beside other contexts; a small kernel takes a second or two.
constexpr absl::Duration kAllowance = absl::Seconds(20);
// racecheck is about a thousand times slower; the profiler makes dozens of passes.
constexpr int kSlowest = 1000;

}  // namespace

absl::Duration LongestUnderTool(absl::Duration longest, absl::Duration plain) {
  return std::min(longest, kAllowance + kSlowest * plain);
}

absl::StatusOr<ToolOutput> ToolOutput::Create(absl::string_view name) {
  ASSIGN_OR_RETURN(TemporaryDirectory directory, TemporaryDirectory::Create(std::string(name)));
  std::filesystem::path folder = std::filesystem::path(directory.path()) / "output";
  std::error_code error;
  std::filesystem::create_directory(folder, error);
  UniqueFd console(memfd_create("console", MFD_CLOEXEC));
  if (error || !console.valid()) return absl::InternalError(absl::StrCat("no place for what ", name, " writes"));
  return ToolOutput(std::move(directory), std::move(folder), std::move(console));
}

std::string ToolOutput::Console() const {
  std::string text(static_cast<size_t>(kMaxConsoleBytes), '\0');
  struct stat info {};
  if (fstat(console_.get(), &info) != 0) return "";
  const off_t from = std::max<off_t>(0, info.st_size - kMaxConsoleBytes);
  const ssize_t size = pread(console_.get(), text.data(), text.size(), from);
  text.resize(size < 0 ? 0 : static_cast<size_t>(size));
  return text;
}

RunnerPoolOptions ToolOutput::Options(const RunnerPoolOptions& base, std::vector<std::string> launcher) const {
  RunnerPoolOptions options = base;
  options.launcher = std::move(launcher);
  options.writable_directory = folder_.string();
  options.stdout_fd = console_.get();
  return options;
}

absl::StatusOr<ToolRun> RunUnderTool(const CandidateRun& run, worker::RunMode mode, const RunnerPoolOptions& options,
                                     absl::Duration tool_end) {
  ASSIGN_OR_RETURN(const auto runner, StartRunner(options, run.device, mode, absl::InfiniteFuture(), run.kill_switch));
  const KillSwitch::Guard guard(run.kill_switch, *runner);
  ToolRun result;
  ASSIGN_OR_RETURN(result.reply, Converse(run, mode, *runner));
  // Behind an endless kernel the tool never ends either.
  if (result.reply.outcome() == worker::RUN_OUTCOME_TIMEOUT) return result;
  const auto exit = runner->process().CloseAndWait(SteadyNow() + tool_end);
  if (exit.ok()) result.exit = *exit;
  return result;
}

}  // namespace sassay::wire
