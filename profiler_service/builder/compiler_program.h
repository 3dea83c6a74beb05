// mini-ptx-agent as a builder runs it: a program beside this one, started for each job and gone after it.
//
// Why a program and not a library: compiler and capture are the agent's; a service that linked them would be an agent.
// What runs foreign code is sandboxed by that program as on a user's machine.
#ifndef SASSAY_PROFILER_SERVICE_BUILDER_COMPILER_PROGRAM_H_
#define SASSAY_PROFILER_SERVICE_BUILDER_COMPILER_PROGRAM_H_

#include <filesystem>
#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/process/subprocess.h"
#include "sassay/v1/builder.pb.h"

namespace sassay::builder {

struct ProgramOptions {
  // Empty: mini-ptx-agent beside this process's own program.
  std::string program;
  // Each job gets a folder below `scratch`, which is gone when it ends; compilations are kept below `cache`, each
  // tenant's by themselves.
  std::filesystem::path scratch, cache;
  std::string cuda_home;
  bool allow_unsandboxed = false;
  // Of one job, without its wait.
  absl::Duration deadline = absl::Minutes(10);
};

// Threads: Build from any number at once; who bounds them is the caller.
class CompilerProgram {
 public:
  // Asks the program whether it can work here: FAILED_PRECONDITION with what is missing and what mends it, NOT_FOUND
  // without the program. `options.scratch` is there.
  static absl::StatusOr<CompilerProgram> Open(ProgramOptions options);

  // One job. The program gets a clean environment, files that are this process's alone, and no byte of the job as an
  // argument or a name; it is killed with everything that it started at the deadline (DEADLINE_EXCEEDED) and when
  // `stop` says so (CANCELLED). INTERNAL if it ended without an answer.
  absl::StatusOr<sassay::v1::BuildJobOutcome> Build(const sassay::v1::BuildJob& untrusted_job, absl::string_view tenant,
                                                    const StopAsked& stop) const;

  // "13.0.88"
  const std::string& toolkit_version() const { return toolkit_version_; }

 private:
  explicit CompilerProgram(ProgramOptions options) : options_(std::move(options)) {}
  Command CommandIn(const std::filesystem::path& folder, absl::string_view tenant) const;

  ProgramOptions options_;
  std::string toolkit_version_;
};

// `mini-ptx-agent doctor --json` read: the toolkit's version, or FAILED_PRECONDITION naming what compiling lacks.
absl::StatusOr<std::string> ReadDoctor(absl::string_view json);

}  // namespace sassay::builder

#endif  // SASSAY_PROFILER_SERVICE_BUILDER_COMPILER_PROGRAM_H_
