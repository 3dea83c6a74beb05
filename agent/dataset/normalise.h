// What makes two sources the same for de-duplication: comments, white space and line ends do not count.
#ifndef SASSAY_AGENT_DATASET_NORMALISE_H_
#define SASSAY_AGENT_DATASET_NORMALISE_H_

#include <string>

#include "absl/strings/string_view.h"

namespace sassay::agent {

// The comments' syntax.
enum class SourceLanguage { kCuda, kPython };

// The source without comments, runs of white space as one space and no blank lines. Texts in quotes stay as they are
// (inline assembly lives in them). Python keeps its indentation. Never fails: an unfinished comment or literal ends
// with the text.
std::string NormalisedSource(absl::string_view source, SourceLanguage language);

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_DATASET_NORMALISE_H_
