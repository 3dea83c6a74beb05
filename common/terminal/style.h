// Colours, only where somebody sees them.
#ifndef SASSAY_COMMON_TERMINAL_STYLE_H_
#define SASSAY_COMMON_TERMINAL_STYLE_H_

#include <string>

#include "absl/strings/string_view.h"

namespace sassay {

// Whether to colour: `setting` is auto, always or never; auto asks for a terminal and honours NO_COLOR and TERM=dumb.
bool WantColor(absl::string_view setting, bool is_terminal, absl::string_view no_color, absl::string_view term);

// Wraps text in ANSI colours, or leaves it as it is. Text must already be printable. Value type.
class Style {
 public:
  explicit Style(bool color) : color_(color) {}

  std::string Bold(absl::string_view text) const { return Wrap("1", text); }
  std::string Dim(absl::string_view text) const { return Wrap("2", text); }
  std::string Good(absl::string_view text) const { return Wrap("32", text); }
  std::string Bad(absl::string_view text) const { return Wrap("31", text); }
  std::string Warn(absl::string_view text) const { return Wrap("33", text); }
  std::string Name(absl::string_view text) const { return Wrap("36", text); }

 private:
  std::string Wrap(absl::string_view code, absl::string_view text) const;
  bool color_;
};

}  // namespace sassay

#endif  // SASSAY_COMMON_TERMINAL_STYLE_H_
