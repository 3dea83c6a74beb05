// What compilation hands to capture and to the bundle: the same bytes that are later judged and timed.
#ifndef SASSAY_AGENT_COMPILE_COMPILED_CANDIDATE_H_
#define SASSAY_AGENT_COMPILE_COMPILED_CANDIDATE_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "sassay/v1/bundle.pb.h"
#include "sassay/v1/verdict.pb.h"

namespace sassay {

// Where a candidate's sources lie while they are compiled.
inline constexpr absl::string_view kCandidateFolder = "/candidate";

// A candidate that nvcc accepted. Plain data.
//
// The shared object is the candidate's whole host code: position-independent, unoptimised, with debug information (-g:
// capture reads lines and the entry point's parameters), without a CUDA runtime: its cuda* symbols are undefined and it
// names no runtime library. It embeds the cubin in a fat binary. Source paths in its line tables, in the PTX and in the
// cubin are kCandidateFolder + "/PATH" (without a sandbox: a temporary folder that ends in it).
struct CompiledCandidate {
  // Sources in path order, as given, with the headers <sassay/ptx/…> that they name.
  std::vector<sassay::v1::SourceFile> sources;
  sassay::v1::Compilation compilation;
  // The one ELF image with every kernel.
  std::string cubin;
  // The PTX that ptxas turned into it.
  std::string ptx;
  // The host code as an ELF shared library.
  std::string shared_object;
  // Sorted by symbol; sass_families filled where a disassembler was found.
  std::vector<sassay::v1::KernelFacts> kernels;
  // Why sass_families are empty, in words for the user; empty where they are not.
  std::string sass_families_missing;
  // Warnings; errors never come with a CompiledCandidate.
  std::vector<sassay::v1::Diagnostic> diagnostics;
  // The candidate was compiled without a sandbox, because the caller insisted; why.
  std::string unsandboxed_reason;
  bool from_cache = false;
  absl::Duration wall;
};

}  // namespace sassay

#endif  // SASSAY_AGENT_COMPILE_COMPILED_CANDIDATE_H_
