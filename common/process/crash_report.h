// Tells a process that crashed of itself from one that was killed.
//
// Why: who restarts after a sudden end must know whether the work at hand may have caused it. A process that is killed
// (an operator, the machine, the kernel when memory is short) leaves nothing behind; one that crashes leaves a report.
#ifndef SASSAY_COMMON_PROCESS_CRASH_REPORT_H_
#define SASSAY_COMMON_PROCESS_CRASH_REPORT_H_

#include <filesystem>
#include <string>

#include "absl/status/statusor.h"

namespace sassay {

// From now on a fatal signal (SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGTRAP) prints a stack trace to standard error
// and to the report, then takes its course. Call once, early in main; a handler for SIGTERM is to be installed later.
void CatchFatalSignals();

// Begins this process's report at `path`: an empty file that stays open, so that nothing has to be opened in a crash.
// Answers what the process before left there, empty if it did not crash; that text is kept as `path`.last for people.
// Call after making sure that no other living process uses `path`. UNAVAILABLE if the file cannot be made.
absl::StatusOr<std::string> BeginCrashReport(const std::filesystem::path& path);

}  // namespace sassay

#endif  // SASSAY_COMMON_PROCESS_CRASH_REPORT_H_
