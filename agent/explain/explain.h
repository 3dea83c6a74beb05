// Every verdict code in words: what it means, what usually causes it, how to repair it, and an example. The reader is a
// person or a language model that has one line of verdict and wants the next version of the kernel to be right.
#ifndef SASSAY_AGENT_EXPLAIN_EXPLAIN_H_
#define SASSAY_AGENT_EXPLAIN_EXPLAIN_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "sassay/v1/agent.pb.h"
#include "sassay/v1/verdict.pb.h"

namespace sassay::agent {

// One code. Text is static.
struct Explanation {
  v1::VerdictCode code;
  // The status it usually comes with.
  v1::VerdictStatus status;
  // The stage that finds it.
  v1::Stage stage;
  const char* meaning;
  std::vector<const char*> causes;
  const char* repair;
  const char* example;
};

// The tables, by the stage that finds the code. Together they hold every code but UNSPECIFIED once; a test checks it.
absl::Span<const Explanation> CompileCodes();
absl::Span<const Explanation> CaptureCodes();
absl::Span<const Explanation> AdmissionCodes();
absl::Span<const Explanation> RunCodes();

// All of them in the order of the enum.
std::vector<const Explanation*> AllExplanations();

// By the code's name without prefix, in any case; null if there is none.
const Explanation* FindExplanation(absl::string_view name);

// Null for UNSPECIFIED.
const Explanation* FindExplanation(v1::VerdictCode code);

// Every code's name, for suggestions.
std::vector<std::string> CodeNames();

v1::CodeExplanation ToProto(const Explanation& explanation);

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_EXPLAIN_EXPLAIN_H_
