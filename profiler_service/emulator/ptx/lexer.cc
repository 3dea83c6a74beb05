#include "profiler_service/emulator/ptx/lexer.h"

#include <cstdlib>
#include <cstring>
#include <string>

#include "absl/strings/ascii.h"

namespace sassay::emulator::ptx {
namespace {

bool StartsWord(char c) { return absl::ascii_isalpha(c) || c == '_' || c == '$' || c == '%' || c == '.'; }
bool ContinuesWord(char c) { return absl::ascii_isalnum(c) || c == '_' || c == '$' || c == '.'; }

int Digit(char c) {
  if (absl::ascii_isdigit(c)) return c - '0';
  if (absl::ascii_isxdigit(c)) return absl::ascii_tolower(c) - 'a' + 10;
  return 99;
}

// False past 64 bits.
bool ParseDigits(absl::string_view digits, int radix, uint64_t& value) {
  value = 0;
  for (const char c : digits) {
    const unsigned __int128 wide =
        static_cast<unsigned __int128>(value) * static_cast<unsigned>(radix) + static_cast<unsigned>(Digit(c));
    if (wide >> 64 != 0) return false;
    value = static_cast<uint64_t>(wide);
  }
  return true;
}

}  // namespace

void Lexer::SkipBlanks() {
  for (;;) {
    const char c = At(position_);
    if (c == '\n') ++line_;
    if (position_ >= text_.size()) return;
    if (c == '\0' || absl::ascii_isspace(c)) {
      ++position_;
    } else if (c == '/' && At(position_ + 1) == '/') {
      const size_t end = text_.find('\n', position_);
      position_ = end == absl::string_view::npos ? text_.size() : end;
    } else if (c == '/' && At(position_ + 1) == '*') {
      const size_t end = text_.find("*/", position_ + 2);
      const size_t stop = end == absl::string_view::npos ? text_.size() : end + 2;
      for (; position_ < stop; ++position_) line_ += text_[position_] == '\n';
    } else {
      return;
    }
  }
}

void Lexer::Advance() {
  SkipBlanks();
  next_ = Token();
  next_.line = line_;
  const char c = At(position_);
  if (position_ >= text_.size()) return;
  if (StartsWord(c)) {
    LexWord();
  } else if (absl::ascii_isdigit(c)) {
    LexNumber();
  } else if (c == '"') {
    size_t end = position_ + 1;
    while (end < text_.size() && text_[end] != '"' && text_[end] != '\n') end += text_[end] == '\\' ? 2 : 1;
    end = end < text_.size() ? end : text_.size();
    next_.kind = Token::kString;
    next_.text = text_.substr(position_ + 1, end - position_ - 1);
    position_ = end < text_.size() ? end + 1 : end;
  } else {
    next_.kind = Token::kPunct;
    next_.text = text_.substr(position_++, 1);
  }
}

void Lexer::LexWord() {
  size_t end = position_ + 1;
  const bool directive = text_[position_] == '.';  // ".reg.b32 x" are two of them
  while (end < text_.size()) {
    if (directive && text_[end] == '.') break;
    if (ContinuesWord(text_[end])) {
      ++end;
    } else if (text_[end] == ':' && At(end + 1) == ':' && absl::ascii_isalnum(At(end + 2))) {
      end += 2;
    } else {
      break;
    }
  }
  next_.kind = Token::kWord;
  next_.text = text_.substr(position_, end - position_);
  position_ = end;
}

void Lexer::LexNumber() {
  const size_t start = position_;
  auto span = [&](size_t from, int radix) {
    size_t end = from;
    while (end < text_.size() && Digit(text_[end]) < radix) ++end;
    return end;
  };
  const char second = absl::ascii_tolower(At(start + 1));
  next_.kind = Token::kInteger;
  if (At(start) == '0' && (second == 'f' || second == 'd')) {
    const size_t digits = second == 'f' ? 8 : 16;
    const size_t end = span(start + 2, 16);
    next_.kind = end - start - 2 == digits ? Token::kFloat : Token::kPunct;
    next_.type = second == 'f' ? Type::kF32 : Type::kF64;
    if (!ParseDigits(text_.substr(start + 2, end - start - 2), 16, next_.bits)) next_.kind = Token::kPunct;
    position_ = end;
  } else if (At(start) == '0' && (second == 'x' || second == 'b')) {
    const int radix = second == 'x' ? 16 : 2;
    position_ = span(start + 2, radix);
    if (!ParseDigits(text_.substr(start + 2, position_ - start - 2), radix, next_.bits)) next_.kind = Token::kPunct;
  } else {
    position_ = span(start, 10);
    const bool real = At(position_) == '.' && absl::ascii_isdigit(At(position_ + 1));
    if (real) {
      position_ = span(position_ + 1, 10);
      if (absl::ascii_tolower(At(position_)) == 'e') {
        const size_t sign = At(position_ + 1) == '-' || At(position_ + 1) == '+' ? 1 : 0;
        position_ = span(position_ + 1 + sign, 10);
      }
      const double value = std::strtod(std::string(text_.substr(start, position_ - start)).c_str(), nullptr);
      next_.kind = Token::kFloat;
      next_.type = Type::kF64;
      std::memcpy(&next_.bits, &value, sizeof(value));
    } else {
      const int radix = At(start) == '0' && position_ - start > 1 ? 8 : 10;
      if (!ParseDigits(text_.substr(start, position_ - start), radix, next_.bits)) next_.kind = Token::kPunct;
    }
  }
  if (next_.kind == Token::kInteger && At(position_) == 'U') ++position_;
  if (position_ == start) position_ = start + 1;
  next_.text = text_.substr(start, position_ - start);
}

}  // namespace sassay::emulator::ptx
