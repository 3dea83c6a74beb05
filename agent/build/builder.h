// From a candidate's sources to a bundle, or to the verdict that says why there is none. No terminal, no files of the
// user: what a command does once, a rollout does with many threads at a time.
#ifndef SASSAY_AGENT_BUILD_BUILDER_H_
#define SASSAY_AGENT_BUILD_BUILDER_H_

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "agent/config/settings.h"
#include "sassay/v1/bundle.pb.h"
#include "sassay/v1/verdict.pb.h"
#include "sassay/v1/workload.pb.h"

namespace sassay::agent {

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

// What to build.
struct BuildInput {
  std::vector<v1::SourceFile> sources;
  // Absolute.
  std::vector<std::string> include_directories;
  std::vector<std::string> defines;
  // At least one.
  std::vector<v1::Workload> workloads;
  // Captured too where the candidate accepts them; a warning says where not. Not for Triton candidates.
  std::vector<v1::Workload> welcome;
};

// Who wants to know. Called from the thread that builds.
struct BuildListener {
  // "compile" or "capture", and of what.
  std::function<void(absl::string_view step, absl::string_view detail)> on_begin = [](absl::string_view,
                                                                                      absl::string_view) {};
  // "passed" or "failed".
  std::function<void(absl::string_view outcome, absl::string_view detail)> on_end = [](absl::string_view,
                                                                                       absl::string_view) {};
};

// Compiles sources once and captures them for every workload: here, or where the `builder` setting says. One Python
// file is a Triton candidate, and needs the Triton that deploy/install_triton.sh installs.
//
// Life cycle: made once from settings; immutable. Threads: Build from any number at once; who bounds them is the
// caller. CancelEveryRun and ThreadStop (common/process) end builds. Failure: the machine's or the caller's trouble as
// a Status; what is wrong with the candidate is a verdict.
class Builder {
 public:
  // `environment` says where the compile cache is. NOT_FOUND if there is no toolkit, or no GPU model of that name; with
  // a `builder` nothing is looked for here, and INVALID_ARGUMENT says which settings only work here.
  static absl::StatusOr<std::unique_ptr<Builder>> Make(const Settings& settings,
                                                       const std::map<std::string, std::string>& environment);
  virtual ~Builder() = default;

  // Whether candidates of this language ("cuda", "triton") can be built: FAILED_PRECONDITION says what is missing. A
  // builder elsewhere says so when it is asked to build one.
  virtual absl::Status CheckLanguage(absl::string_view language) const = 0;

  virtual absl::StatusOr<BuildOutcome> Build(const BuildInput& input, const BuildListener& listener = {}) const = 0;
};

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_BUILD_BUILDER_H_
