#include <algorithm>

#include "absl/strings/ascii.h"
#include "agent/knowledge/knowledge.h"

namespace sassay::agent {
namespace {

enum class Kind { kLetters, kDigits, kSpace, kOther };

Kind KindOf(char c) {
  const auto byte = static_cast<unsigned char>(c);
  if (absl::ascii_isalpha(byte)) return Kind::kLetters;
  if (absl::ascii_isdigit(byte)) return Kind::kDigits;
  return absl::ascii_isspace(byte) ? Kind::kSpace : Kind::kOther;
}

// Tokenizers keep whole words and split identifiers where a capital begins; about eight letters go into a token.
uint64_t LettersTokens(absl::string_view run) {
  uint64_t tokens = 0;
  for (size_t begin = 0; begin < run.size();) {
    size_t end = begin + 1;
    const bool capitals = absl::ascii_isupper(run[begin]) && end < run.size() && absl::ascii_isupper(run[end]);
    while (end < run.size() && (capitals ? absl::ascii_isupper(run[end]) : absl::ascii_islower(run[end]))) ++end;
    tokens += (end - begin + 7) / 8;
    begin = end;
  }
  return tokens;
}

uint64_t RunTokens(Kind kind, absl::string_view run) {
  switch (kind) {
    case Kind::kLetters:
      return LettersTokens(run);
    case Kind::kDigits:
      return (run.size() + 2) / 3;
    case Kind::kSpace:  // one blank goes with the word behind it
      return run == " " ? 0 : 1;
    case Kind::kOther:
      return (run.size() + 1) / 2;
  }
  return 0;
}

}  // namespace

uint64_t EstimateTokens(absl::string_view text) {
  uint64_t tokens = 0;
  for (size_t begin = 0; begin < text.size();) {
    const Kind kind = KindOf(text[begin]);
    size_t end = begin;
    while (end < text.size() && KindOf(text[end]) == kind) ++end;
    tokens += RunTokens(kind, text.substr(begin, end - begin));
    begin = end;
  }
  return tokens;
}

}  // namespace sassay::agent
