// From a model's answer to the one candidate in it. The answer is hostile text.
#ifndef SASSAY_AGENT_MODELS_ANSWER_H_
#define SASSAY_AGENT_MODELS_ANSWER_H_

#include <string>

#include "absl/strings/string_view.h"
#include "sassay/v1/trajectory.pb.h"

namespace sassay::agent {

// What a candidate is written in.
enum class Language { kCuda, kTriton };

// The candidate in an answer, or why there is none.
struct ExtractedCode {
  v1::Extraction extraction = v1::EXTRACTION_UNSPECIFIED;
  // Valid UTF-8, as it stood between the fences; empty unless EXTRACTION_CODE.
  std::string code;
  // One line for the model, where there is no candidate.
  std::string reason;
};

// Finds the fenced code block that is the candidate. With several blocks the one that is meant must be beyond doubt
// (only one has the entry point, or only one is in the language); else EXTRACTION_AMBIGUOUS. Whatever a fence or a
// comment says about paths or names is not heeded. `cut`: the provider stopped the answer for its length.
ExtractedCode ExtractCode(absl::string_view untrusted_answer, Language language, bool cut);

// The answer without its fenced blocks, whatever they hold, and trimmed: what a model says about its code.
std::string ProseOf(absl::string_view untrusted_answer);

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_MODELS_ANSWER_H_
