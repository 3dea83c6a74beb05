#include <sys/stat.h>

#include <memory>

#include "absl/strings/str_cat.h"
#include "agent/build/job.h"
#include "agent/cli/commands/commands.h"
#include "agent/cli/session.h"
#include "agent/submit/interrupt.h"
#include "agent/submit/rpc_error.h"
#include "common/base/files.h"
#include "common/process/subprocess.h"

namespace sassay::agent {
namespace {

struct JobArguments {
  std::string job, outcome;
};

int BuildJobFile(Session& session, const JobArguments& arguments) {
  const absl::StatusOr<std::string> bytes = ReadFile(arguments.job);
  if (!bytes.ok()) return session.Fail(bytes.status());
  v1::BuildJob job;
  if (!job.ParseFromString(*bytes))
    return session.Fail(absl::InvalidArgumentError(absl::StrCat(arguments.job, " holds no job of a builder")));
  // A service lets nobody read what it writes; the sandbox's user must read the candidate. The folder around both is
  // the service's alone.
  umask(022);
  // What lies in temporary folders goes away as the stack unwinds.
  const InterruptHandler interrupts([](int) { CancelEveryRun(); });
  const v1::BuildJobOutcome outcome =
      RunBuildJob(job, session.terminal().environment, session.terminal().working_directory);
  const absl::Status written = WriteFileAtomically(arguments.outcome, outcome.SerializeAsString());
  return written.ok() ? kExitCorrect : session.Fail(written);
}

}  // namespace

void AddBuildJobCommand(CLI::App& root, Invocation& invocation) {
  CLI::App* command = root.add_subcommand(
      "build-job", "What profiler-service --role builder runs for its clients: a job file in, an outcome file out");
  command->group("");  // not for people
  const auto arguments = std::make_shared<JobArguments>();
  command->add_option("JOB", arguments->job, "serialised sassay.v1.BuildJob")->required()->type_name("FILE");
  command->add_option("OUTCOME", arguments->outcome, "sassay.v1.BuildJobOutcome, written whole or not at all")
      ->required()
      ->type_name("FILE");
  command->footer("Examples:\n  mini-ptx-agent build-job job outcome\n\nExit status 0 if an outcome was written.");
  AddCommonFlags(*command, invocation);
  command->callback([&invocation, arguments] {
    invocation.action = [arguments](Session& session) { return BuildJobFile(session, *arguments); };
  });
}

}  // namespace sassay::agent
