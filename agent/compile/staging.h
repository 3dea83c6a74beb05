// Where everything lies during a compilation.
#ifndef SASSAY_AGENT_COMPILE_STAGING_H_
#define SASSAY_AGENT_COMPILE_STAGING_H_

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "agent/compile/compiler.h"
#include "agent/compile/messages/diagnostics.h"
#include "common/base/files.h"
#include "common/process/subprocess.h"
#include "common/sandbox/sandbox.h"

namespace sassay {

// nvcc's options that decide the host code and what is kept; the same for every candidate.
std::vector<std::string> HostOptions();

// The folders of one compilation on the host, and the commands that run in them.
//
// Inside the sandbox: /candidate the sources, /cuda the toolkit, /include/N the include folders, /tvm_ffi/include the
// tvm_ffi headers (all read-only), /build the working folder. Without a sandbox the same folders have host paths.
// Every file of /candidate has the same time.
class Staging {
 public:
  static absl::StatusOr<Staging> Create(const CompileRequest& request, const CompilerOptions& options);

  // Arguments for nvcc after the program: options that decide the device code, then those that do not, then files.
  std::vector<std::string> NvccArguments() const;
  // The options that Compilation.options records.
  std::vector<std::string> RecordedOptions() const;

  // `argv` (paths as the compiler sees them) with the sandbox around it.
  absl::StatusOr<Command> Wrap(std::vector<std::string> argv) const;
  // nvcc as seen from inside.
  std::string Nvcc() const;

  // A file that a step left in the working folder, named as in the plan. INTERNAL if it is not a regular file.
  absl::StatusOr<std::string> ReadBuilt(const std::string& name) const;
  absl::Status WriteBuilt(const std::string& name, absl::string_view content) const;

  // UNAVAILABLE if there is hardly any room left where the folders lie: a tool that breaks off there says little, and
  // the source is not to blame.
  absl::Status CheckSpace() const;

  // With everything a parser of messages needs but the PTX.
  DiagnosticContext Messages() const;

 private:
  Staging(TemporaryDirectory root, const CompileRequest& request, const CompilerOptions& options)
      : root_(std::move(root)), request_(&request), options_(&options) {}

  absl::Status WriteSources();
  absl::Status WriteUnit();
  bool sandboxed() const { return !options_->unsandboxed.has_value(); }
  // A folder of ours as the compiler sees it.
  std::string Seen(const char* inside, const std::filesystem::path& host) const;
  std::string Candidate() const { return Seen("/candidate", root_.path() / "candidate"); }
  std::string Build() const { return Seen("/build", root_.path() / "build"); }
  std::string Include(size_t index) const;
  std::string TvmFfi() const { return Seen("/tvm_ffi/include", options_->toolchain.tvm_ffi_include); }

  TemporaryDirectory root_;
  const CompileRequest* request_;
  const CompilerOptions* options_;
  std::string unit_;  // the file that nvcc is given, as it sees it
};

}  // namespace sassay

#endif  // SASSAY_AGENT_COMPILE_STAGING_H_
