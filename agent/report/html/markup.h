// HTML by string, with one way in for foreign text.
#ifndef SASSAY_AGENT_REPORT_HTML_MARKUP_H_
#define SASSAY_AGENT_REPORT_HTML_MARKUP_H_

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"

namespace sassay::agent {

// Foreign text (labels, models, reasons) as text of a page or of a quoted attribute: valid UTF-8, on one line, control
// characters visible, markup escaped, and at most about `max_bytes` long as it stands in the page.
std::string Escaped(absl::string_view untrusted, size_t max_bytes = 400);

// Numbers as people read them.
std::string PercentText(double share);
std::string SpeedupText(double speedup);
// "1.2 s", "340 ms", "2.1 h".
std::string SecondsText(double seconds);
// Coordinates: at most two decimals.
std::string Coordinate(double value);

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_REPORT_HTML_MARKUP_H_
