// Numbers with units, aligned columns, and foreign text made harmless.
#ifndef SASSAY_COMMON_TERMINAL_TEXT_H_
#define SASSAY_COMMON_TERMINAL_TEXT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace sassay {

// What a candidate (its source, its printf, its symbols), a model or a service says may hold escape sequences that
// repaint a terminal, and characters that nobody sees or that turn the order of others around. Control characters but
// newline and tab, and bytes that are no UTF-8, become "\x1b"; other controls and what is invisible becomes "\u{202e}".
// Everything foreign that reaches a terminal, a log, a page or a prompt goes through here.
std::string Printable(absl::string_view text);

// The same on one line: newlines become " / ".
std::string PrintableLine(absl::string_view text);

// "850 ns", "1.23 ms", "4.50 s", "2 min 5 s".
std::string DurationText(double nanoseconds);

// "96 B", "128.0 KiB", "1.5 GiB".
std::string BytesText(uint64_t bytes);

// "65,536".
std::string CountText(uint64_t count);

// Six significant digits.
std::string NumberText(double value);

// Rows of cells, padded to columns two spaces apart; every line begins with `indent`. No trailing spaces. Cells must be
// free of colours.
std::string Columns(const std::vector<std::vector<std::string>>& rows, absl::string_view indent);

// Every line of `text` behind `indent`, each ended by a newline.
std::string Indented(absl::string_view text, absl::string_view indent);

// "passed" for "PASSED".
std::string LowerCase(absl::string_view text);

}  // namespace sassay

#endif  // SASSAY_COMMON_TERMINAL_TEXT_H_
