// A candidate's source files, from the forms in which people and data sets keep them.
#ifndef SASSAY_AGENT_COMPILE_SOURCES_H_
#define SASSAY_AGENT_COMPILE_SOURCES_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "sassay/v1/bundle.pb.h"

namespace sassay {

// Bounds on what is read; past them INVALID_ARGUMENT.
struct SourceLimits {
  uint64_t files = 256;
  uint64_t total_bytes = 16 << 20;
};

// Reads a candidate:
//   * one or more source files: paths are relative to the folder of the first; files beside them that they include with
//     quotes come along, and theirs;
//   * one folder: every file in it (and below) that looks like source (.cu .cuh .h .hpp .hh .inc .inl .cpp .cc .cxx
//   .ptx);
//   * one Python file with Triton kernels (agent/interop/triton);
//   * one FlashInfer solution JSON ({"spec": …, "sources": [{"path", "content"}]}).
// Sorted by path. NOT_FOUND, INVALID_ARGUMENT naming the file.
absl::StatusOr<std::vector<sassay::v1::SourceFile>> LoadSources(const std::vector<std::string>& paths,
                                                                const SourceLimits& limits = {});

// The sources of a FlashInfer solution, parsed from `untrusted_json`.
absl::StatusOr<std::vector<sassay::v1::SourceFile>> ParseSolution(absl::string_view untrusted_json,
                                                                  const SourceLimits& limits = {});

// A source file that is compiled, not only included.
bool IsCompiled(absl::string_view path);

// INVALID_ARGUMENT unless there is something to compile and every path is relative, plain (letters, digits, "._-+/")
// and unique, and stays inside, and every content is UTF-8 (the message names line and byte).
absl::Status CheckSources(const std::vector<sassay::v1::SourceFile>& sources);

}  // namespace sassay

#endif  // SASSAY_AGENT_COMPILE_SOURCES_H_
