#include "common/base/utf8.h"

#include <cstdint>

namespace sassay {
namespace {

uint8_t At(absl::string_view text, size_t i) { return i < text.size() ? static_cast<uint8_t>(text[i]) : 0; }

bool Continues(absl::string_view text, size_t i) { return (At(text, i) & 0xC0) == 0x80; }

// Bytes of the character at `i`; 0 if it is malformed.
size_t CharacterLength(absl::string_view text, size_t i) {
  const uint8_t first = At(text, i), second = At(text, i + 1);
  if (first < 0x80) return 1;
  if (first < 0xC2 || first > 0xF4 || !Continues(text, i + 1)) return 0;
  if (first < 0xE0) return 2;
  if ((first == 0xE0 && second < 0xA0) || (first == 0xED && second > 0x9F) || !Continues(text, i + 2)) return 0;
  if (first < 0xF0) return 3;
  if ((first == 0xF0 && second < 0x90) || (first == 0xF4 && second > 0x8F) || !Continues(text, i + 3)) return 0;
  return 4;
}

}  // namespace

size_t FirstInvalidUtf8(absl::string_view text) {
  for (size_t i = 0; i < text.size();) {
    const size_t length = CharacterLength(text, i);
    if (length == 0) return i;
    i += length;
  }
  return absl::string_view::npos;
}

std::string ToUtf8(absl::string_view text) {
  std::string result(text);
  for (size_t i = 0; i < result.size();) {
    const size_t length = CharacterLength(result, i);
    if (length == 0) result[i] = '?';
    i += length == 0 ? 1 : length;
  }
  return result;
}

}  // namespace sassay
