// What compilers print, as data: who spoke, where, what, and the line it is about.
#ifndef SASSAY_AGENT_COMPILE_MESSAGES_DIAGNOSTICS_H_
#define SASSAY_AGENT_COMPILE_MESSAGES_DIAGNOSTICS_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "agent/compile/nvcc_plan.h"
#include "sassay/v1/bundle.pb.h"
#include "sassay/v1/verdict.pb.h"

namespace sassay {

// What a parser needs to know about the compilation.
struct DiagnosticContext {
  const std::vector<sassay::v1::SourceFile>* sources = nullptr;
  // Folders that the compiler saw, with what people call them instead: {"/candidate/", ""}, {"/cuda/", "cuda/"}, … The
  // first that fits is used; what fits none is cut down to the file's name, so that no path of a machine gets out.
  std::vector<std::pair<std::string, std::string>> path_names;
  // The PTX, for ptxas's messages.
  absl::string_view ptx;
};

// The path as people know it.
std::string ShownPath(const DiagnosticContext& context, absl::string_view path);

// Reads the messages of one step: EDG's (cudafe++, cicc), gcc's, the assembler's, ptxas's and the linker's. ptxas's
// lines of PTX and kernel names become source lines; its notes on registers are not diagnostics. Repeated messages
// (nvcc reads the source twice) are given once. Lines that belong to no message are dropped. Never fails.
std::vector<sassay::v1::Diagnostic> ParseDiagnostics(NvccTool tool, absl::string_view output,
                                                     const DiagnosticContext& context);

// Errors first, otherwise in order; without repetitions; at most `limit`.
std::vector<sassay::v1::Diagnostic> OrderDiagnostics(std::vector<sassay::v1::Diagnostic> diagnostics,
                                                     size_t limit = 50);

// "kernel.cu:10: error: expected a \";\"".
std::string DiagnosticLine(const sassay::v1::Diagnostic& diagnostic);

}  // namespace sassay

#endif  // SASSAY_AGENT_COMPILE_MESSAGES_DIAGNOSTICS_H_
