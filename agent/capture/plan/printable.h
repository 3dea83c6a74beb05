// Candidate text for our messages.
#ifndef SASSAY_AGENT_CAPTURE_PLAN_PRINTABLE_H_
#define SASSAY_AGENT_CAPTURE_PLAN_PRINTABLE_H_

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"

namespace sassay::capture {

// `text` as one line of valid UTF-8 of at most `limit` bytes: control characters become blanks, bytes that are not
// UTF-8 become '?', and no character is cut in half. Verdicts and plans are protobuf strings, which must be UTF-8.
std::string Printable(absl::string_view text, size_t limit = 500);

}  // namespace sassay::capture

#endif  // SASSAY_AGENT_CAPTURE_PLAN_PRINTABLE_H_
