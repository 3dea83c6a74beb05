// A candidate as the command line names it, and the bundle that becomes of it.
#ifndef SASSAY_AGENT_CLI_BUILD_CANDIDATE_H_
#define SASSAY_AGENT_CLI_BUILD_CANDIDATE_H_

#include <string>
#include <variant>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/status/statusor.h"
#include "agent/cli/session.h"
#include "sassay/v1/agent.pb.h"
#include "sassay/v1/bundle.pb.h"
#include "sassay/v1/verdict.pb.h"

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

// A bundle in canonical bytes.
struct BuiltBundle {
  std::string bytes;
  v1::Bundle bundle;
  // With names and SASS families, which the bundle leaves out; empty if it was read from a file.
  std::vector<v1::KernelFacts> kernels;
  bool compile_cached = false;
  absl::Duration compile_time;
  absl::Duration capture_time;
  std::vector<std::string> warnings;
};

// A bundle, or a verdict with status COMPILE_ERROR or CAPTURE_ERROR that looks as the service's would.
using BuildOutcome = std::variant<BuiltBundle, v1::Verdict>;

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

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_CLI_BUILD_CANDIDATE_H_
