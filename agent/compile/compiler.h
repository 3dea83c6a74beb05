// Source to CompiledCandidate, or to a verdict that helps to repair the source.
#ifndef SASSAY_AGENT_COMPILE_COMPILER_H_
#define SASSAY_AGENT_COMPILE_COMPILER_H_

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "agent/compile/compiled_candidate.h"
#include "common/sandbox/sandbox.h"
#include "common/toolchain/toolchain.h"
#include "sassay/v1/verdict.pb.h"

namespace sassay {

// What to compile.
struct CompileRequest {
  // From LoadSources, or made by hand. Every .cu, .cpp, .cc and .cxx file is compiled, as one translation unit in path
  // order; the others are there to be included. The headers <sassay/ptx/…> that they name come along by themselves.
  std::vector<sassay::v1::SourceFile> sources;
  // "sm_90a" or "sm_100a" (any sm_NNN[a|f] that the toolkit knows).
  std::string arch = "sm_90a";
  // Absolute folders for #include <…>, in order. Their contents are part of the cache's key by name, size and time.
  std::vector<std::string> include_directories;
  // "NAME" or "NAME=VALUE".
  std::vector<std::string> defines;
};

// How to compile.
struct CompilerOptions {
  Toolchain toolchain;
  // Wall time of one compilation; COMPILE_TIMEOUT.
  absl::Duration timeout = absl::Minutes(5);
  // Address space of one compiler process; COMPILE_LIMIT.
  uint64_t memory_bytes = uint64_t{8} << 30;
  // Size of one file that the compiler writes; COMPILE_LIMIT.
  uint64_t file_bytes = uint64_t{1} << 30;
  // Where results are kept; empty for no cache. See CompileCache.
  std::filesystem::path cache_directory;
  uint64_t cache_bytes = uint64_t{2} << 30;
  // Set to go on where no sandbox can be had. Digests then depend on the folder.
  std::optional<AllowUnsandboxed> unsandboxed;
};

// A candidate, or a verdict with status COMPILE_ERROR.
using CompileOutcome = std::variant<CompiledCandidate, sassay::v1::Verdict>;

// Compiles candidates, each in a sandbox of its own with no network and no home directory.
//
// One nvcc run gives PTX, cubin and host shared object. The sources lie under /candidate with a fixed file time and the
// toolkit under /cuda, so that paths and times, which nvcc writes into line tables and mangled names, are the same in
// any folder at any time: the same request gives the same bytes. Threads: safe; compilations run side by side. Failure:
// a Status is the machine's or the caller's trouble (no toolkit, no sandbox, a source that cannot be read); what is
// wrong with the source is a verdict.
class Compiler {
 public:
  explicit Compiler(CompilerOptions options);
  ~Compiler();

  absl::StatusOr<CompileOutcome> Compile(const CompileRequest& request);

 private:
  CompilerOptions options_;
};

}  // namespace sassay

#endif  // SASSAY_AGENT_COMPILE_COMPILER_H_
