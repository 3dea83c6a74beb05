// From a compilation that failed to a verdict that helps to repair the source.
#ifndef SASSAY_AGENT_COMPILE_MESSAGES_FAILURE_H_
#define SASSAY_AGENT_COMPILE_MESSAGES_FAILURE_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "agent/compile/nvcc_plan.h"
#include "common/process/subprocess.h"
#include "sassay/v1/verdict.pb.h"

namespace sassay {

// How a step failed.
struct StepFailure {
  NvccTool tool = NvccTool::kFrontEnd;
  // As the shell gives it: 128 + N means killed by signal N.
  int status = 0;
  // Everything it printed.
  std::string text;
  std::vector<sassay::v1::Diagnostic> diagnostics;
  // Files that are compiled, not only included.
  size_t compiled_files = 1;
};

// The first cause: the tool's own code, or
//   WRONG_ARCH_PTX     ptxas says that an instruction is not of the target;
//   COMPILE_LIMIT      killed by a limit (processor time, file size), or the tool itself says that memory or disk ran
//                      out (not the source text that it quotes);
//   FORBIDDEN_LIBRARY  a header of a vendor library is missing (the toolkit here has none of them): such a candidate
//                      would be refused at capture anyway.
sassay::v1::VerdictCode ClassifyFailure(const StepFailure& failure);

// What our own rules have to do with the errors, and how to mend them: files outside the candidate's folder, one name
// in two files.
std::vector<std::string> RepairNotes(const StepFailure& failure);

// COMPILE_ERROR with the diagnostics and RepairNotes; `reason` is the first error, or says how the tool ended if it
// printed none.
sassay::v1::Verdict FailureVerdict(const StepFailure& failure, absl::Duration wall);

// COMPILE_ERROR with COMPILE_TIMEOUT.
sassay::v1::Verdict TimeoutVerdict(NvccTool tool, absl::Duration timeout, absl::Duration wall);

}  // namespace sassay

#endif  // SASSAY_AGENT_COMPILE_MESSAGES_FAILURE_H_
