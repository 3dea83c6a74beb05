// A candidate as the command line names it, and the bundle that becomes of it.
#ifndef SASSAY_AGENT_CLI_BUILD_CANDIDATE_H_
#define SASSAY_AGENT_CLI_BUILD_CANDIDATE_H_

#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/status/statusor.h"
#include "agent/build/builder.h"
#include "agent/cli/session.h"

namespace sassay::agent {

// What to read.
struct CandidateArguments {
  // Source files, a folder, a FlashInfer solution JSON, or one .bundle.
  std::vector<std::string> paths;
  // -I
  std::vector<std::string> include_directories;
  // -D
  std::vector<std::string> defines;
};

// Adds the positional paths, -I and -D.
void AddCandidateArguments(CLI::App& command, CandidateArguments& arguments, const std::string& placeholder);

// Whether the paths name one bundle and no sources.
bool IsBundle(const CandidateArguments& arguments);

// Reads a bundle that compile wrote.
absl::StatusOr<BuiltBundle> ReadBundle(const std::string& path);

// Compiles the sources once and captures them for every workload, and for the `welcome` ones where the candidate
// accepts them (a warning says where not). Shows progress. Failure: the machine's or the caller's trouble as a Status;
// what is wrong with the candidate is a verdict.
absl::StatusOr<BuildOutcome> BuildBundle(Session& session, const CandidateArguments& arguments,
                                         const std::vector<v1::Workload>& workloads,
                                         const std::vector<v1::Workload>& welcome = {});

// Says which size a definition alone was taken for: who mistyped the size must not read another one's verdict.
void NoteSuggestedSize(Session& session, const std::string& name, const v1::Workload& workload);

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_CLI_BUILD_CANDIDATE_H_
