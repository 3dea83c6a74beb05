#include "common/terminal/style.h"

#include "absl/strings/str_cat.h"

namespace sassay {

bool WantColor(absl::string_view setting, bool is_terminal, absl::string_view no_color, absl::string_view term) {
  if (setting == "always") return true;
  if (setting == "never") return false;
  return is_terminal && no_color.empty() && term != "dumb";
}

std::string Style::Wrap(absl::string_view code, absl::string_view text) const {
  if (!color_ || text.empty()) return std::string(text);
  return absl::StrCat("\033[", code, "m", text, "\033[0m");
}

}  // namespace sassay
