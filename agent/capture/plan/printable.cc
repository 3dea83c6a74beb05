#include "agent/capture/plan/printable.h"

#include "common/base/utf8.h"

namespace sassay::capture {
std::string Printable(absl::string_view text, size_t limit) {
  std::string out;
  while (!text.empty()) {
    const size_t length = Utf8Length(text);
    const bool control = length == 1 && (text[0] < ' ' || text[0] == 0x7F);
    const absl::string_view shown = length == 0 ? "?" : control ? " " : text.substr(0, length);
    if (out.size() + shown.size() > limit) break;
    out.append(shown.data(), shown.size());
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return out;
}

}  // namespace sassay::capture
