// nvcc's own list of commands, so that each can be run, bounded and blamed by itself.
#ifndef SASSAY_AGENT_COMPILE_NVCC_PLAN_H_
#define SASSAY_AGENT_COMPILE_NVCC_PLAN_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace sassay {

// Who speaks in a step: Diagnostic.tool.
enum class NvccTool { kFrontEnd, kPtxas, kFatbinary, kHostCompiler, kLinker };

// "nvcc", "ptxas", "nvcc", "host compiler", "linker".
const char* ToolName(NvccTool tool);

// One command, as a line for the shell.
struct NvccStep {
  NvccTool tool = NvccTool::kFrontEnd;
  std::string command;
};

// What `nvcc --dryrun` prints for one .cu file and one architecture: assignments of variables that the commands use,
// then preprocessor, cudafe++, preprocessor, cicc, ptxas, fatbinary, host compiler and linker.
//
// nvcc is not left to run them, because its ptxas would see the sources, and then nobody else could make the same cubin
// (common/toolchain/ptxas.h); and because a failure is then known to be that step's.
struct NvccPlan {
  std::vector<std::string> assignments;  // NAME=VALUE, shell syntax
  std::vector<NvccStep> before_ptxas;
  std::vector<NvccStep> after_ptxas;
  // Files of the ptxas step.
  std::string ptx_file;
  std::string cubin_file;
};

// INTERNAL if the output is not of that shape (a toolkit that we do not know).
absl::StatusOr<NvccPlan> ParseNvccPlan(absl::string_view dryrun_output);

// A script that sets the assignments and runs the steps, stopping at the first that fails. Before each step, and after
// a failing one, it prints a line of its own to stderr, begun with `marker`: SplitOutput takes them apart again.
std::string MakeScript(const NvccPlan& plan, const std::vector<NvccStep>& steps, absl::string_view marker);

// What one step printed, and its exit status as the shell gives it (128 + N: killed by signal N).
struct StepOutput {
  size_t step = 0;
  int status = 0;
  std::string text;
};

std::vector<StepOutput> SplitOutput(absl::string_view output, absl::string_view marker);

}  // namespace sassay

#endif  // SASSAY_AGENT_COMPILE_NVCC_PLAN_H_
