// Foreign text that goes into a prompt: compiler messages, device output, the model's own source.
//
// It must stay a quotation. It may not close a code fence, look like a chat template's own marks, hide characters, or
// fill the prompt: what is not text is spelled out, marks are broken up, lines are shortened and say so.
#ifndef SASSAY_AGENT_FEEDBACK_QUOTE_H_
#define SASSAY_AGENT_FEEDBACK_QUOTE_H_

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"

namespace sassay::agent {

// On one line, at most about `max_bytes`; newlines become " / ".
std::string InertLine(absl::string_view foreign, size_t max_bytes = 400);

// One line of source: as InertLine, but its indentation stays.
std::string InertSource(absl::string_view foreign, size_t max_bytes = 200);

// Several lines, each behind "  | ". At most `max_lines`, of which the first half and the last half are shown.
std::string QuotedBlock(absl::string_view foreign, size_t max_lines, size_t max_line_bytes = 200);

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_FEEDBACK_QUOTE_H_
