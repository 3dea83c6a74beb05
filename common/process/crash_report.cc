#include "common/process/crash_report.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "absl/debugging/failure_signal_handler.h"
#include "absl/debugging/symbolize.h"
#include "absl/strings/str_cat.h"
#include "common/base/fd.h"
#include "common/base/files.h"
#include "common/base/status_macros.h"

namespace sassay {
namespace {

constexpr uint64_t kMaxReportBytes = 1 << 20;

std::atomic<int> report_fd = -1;

// Runs in the signal handler.
void WriteToReport(const char* text) {
  if (text == nullptr || report_fd < 0) return;
  const int saved = errno;
  [[maybe_unused]] const ssize_t written = write(report_fd, text, strlen(text));
  errno = saved;
}

absl::StatusOr<std::string> TakePrevious(const std::filesystem::path& path) {
  const absl::StatusOr<std::string> previous = ReadFile(path, kMaxReportBytes);
  if (absl::IsNotFound(previous.status())) return std::string();
  RETURN_IF_ERROR(previous.status());
  std::error_code error;
  if (!previous->empty()) std::filesystem::rename(path, path.string() + ".last", error);
  if (error) return absl::UnavailableError(absl::StrCat("cannot keep ", path.string(), ": ", error.message()));
  return previous;
}

}  // namespace

void CatchFatalSignals() {
  absl::InitializeSymbolizer("/proc/self/exe");
  absl::FailureSignalHandlerOptions options;
  options.call_previous_handler = true;  // a sanitizer's
  options.writerfn = WriteToReport;
  absl::InstallFailureSignalHandler(options);
}

absl::StatusOr<std::string> BeginCrashReport(const std::filesystem::path& path) {
  ASSIGN_OR_RETURN(std::string previous, TakePrevious(path));
  UniqueFd file(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600));
  if (!file.valid()) return absl::UnavailableError(absl::StrCat("cannot make ", path.string(), ": ", strerror(errno)));
  UniqueFd earlier(report_fd.exchange(file.release()));
  return previous;
}

}  // namespace sassay
