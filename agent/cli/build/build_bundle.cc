#include <filesystem>
#include <memory>

#include "agent/cli/build/candidate.h"
#include "agent/compile/sources.h"
#include "agent/submit/interrupt.h"
#include "common/base/status_macros.h"
#include "common/process/subprocess.h"

namespace sassay::agent {
namespace {

// As the user's working folder has them; the sandbox has another one.
std::vector<std::string> Absolute(const std::string& working_directory, std::vector<std::string> folders) {
  for (std::string& folder : folders) {
    std::error_code error;
    const std::filesystem::path path = std::filesystem::path(working_directory) / folder;
    const std::filesystem::path real = std::filesystem::canonical(path, error);
    folder = (error ? std::filesystem::absolute(path) : real).string();
  }
  return folders;
}

BuildListener Show(Progress& progress) {
  BuildListener listener;
  listener.on_begin = [&progress](absl::string_view step, absl::string_view detail) { progress.Begin(step, detail); };
  listener.on_end = [&progress](absl::string_view outcome, absl::string_view detail) { progress.End(outcome, detail); };
  return listener;
}

}  // namespace

absl::StatusOr<BuildOutcome> BuildBundle(Session& session, const CandidateArguments& arguments,
                                         const std::vector<v1::Workload>& workloads,
                                         const std::vector<v1::Workload>& welcome) {
  const auto spinner = session.interactive() ? std::make_unique<Spinner>(session.progress()) : nullptr;
  ASSIGN_OR_RETURN(const auto builder, Builder::Make(session.settings(), session.terminal().environment));
  // What lies in temporary folders goes away as the stack unwinds.
  const InterruptHandler interrupts([](int) { CancelEveryRun(); });
  BuildInput input;
  ASSIGN_OR_RETURN(input.sources, LoadSources(arguments.paths));
  input.include_directories = Absolute(session.terminal().working_directory, arguments.include_directories);
  input.defines = arguments.defines;
  input.workloads = workloads;
  input.welcome = welcome;
  return builder->Build(input, Show(session.progress()));
}

}  // namespace sassay::agent
