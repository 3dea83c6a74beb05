#include "agent/capture/plan/printable.h"

#include <cstdint>

namespace sassay::capture {
namespace {

size_t LengthByLead(uint8_t lead) {
  if (lead < 0x80) return 1;
  if (lead >= 0xC2 && lead < 0xE0) return 2;
  if (lead >= 0xE0 && lead < 0xF0) return 3;
  return lead >= 0xF0 && lead < 0xF5 ? 4 : 0;
}

// Overlong forms, surrogates and what lies past U+10FFFF show in the second byte.
bool SecondByteFits(uint8_t lead, uint8_t second) {
  if (lead == 0xE0) return second >= 0xA0;
  if (lead == 0xED) return second < 0xA0;
  if (lead == 0xF0) return second >= 0x90;
  return lead != 0xF4 || second < 0x90;
}

}  // namespace

size_t Utf8Length(absl::string_view text) {
  if (text.empty()) return 0;
  const size_t length = LengthByLead(static_cast<uint8_t>(text[0]));
  if (length == 0 || length > text.size()) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((text[i] & 0xC0) != 0x80) return 0;
  }
  return length == 1 || SecondByteFits(static_cast<uint8_t>(text[0]), static_cast<uint8_t>(text[1])) ? length : 0;
}

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
