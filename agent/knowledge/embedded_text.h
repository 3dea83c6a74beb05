// Text files of this folder that are compiled in, so that one binary is enough.
#ifndef SASSAY_AGENT_KNOWLEDGE_EMBEDDED_TEXT_H_
#define SASSAY_AGENT_KNOWLEDGE_EMBEDDED_TEXT_H_

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace sassay::agent {

struct EmbeddedText {
  // Relative to the folder that the list is about.
  absl::string_view path;
  absl::string_view content;
};

// include/: the template headers, by the path that an #include names ("sassay/ptx/tma.cuh").
absl::Span<const EmbeddedText> PtxHeaders();
// text/: pieces of prompts.
absl::Span<const EmbeddedText> PromptTexts();

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_KNOWLEDGE_EMBEDDED_TEXT_H_
