// Cuts PTX text into tokens. PTX is hostile text here: every token lies inside the input, nothing is copied, and the
// lexer never fails: a byte it does not know becomes a token of its own that the parser refuses.
#ifndef SASSAY_PROFILER_SERVICE_EMULATOR_PTX_LEXER_H_
#define SASSAY_PROFILER_SERVICE_EMULATOR_PTX_LEXER_H_

#include <cstdint>

#include "absl/strings/string_view.h"
#include "profiler_service/emulator/ptx/types.h"

namespace sassay::emulator::ptx {

struct Token {
  enum Kind : uint8_t {
    kEnd,
    kWord,     // identifier, register, opcode with all its modifiers, or directive with its leading dot
    kInteger,  // `bits` holds the value
    kFloat,    // `bits` holds the bit pattern, `type` is kF32 or kF64
    kString,   // `text` without the quotes
    kPunct,    // one character
  };
  Kind kind = kEnd;
  Type type = Type::kNone;
  absl::string_view text;
  uint64_t bits = 0;
  uint32_t line = 1;

  bool Is(absl::string_view spelling) const { return (kind == kWord || kind == kPunct) && text == spelling; }
};

// Streams tokens with one token of look-ahead. `text` must outlive the lexer and every token. Thread-compatible.
class Lexer {
 public:
  explicit Lexer(absl::string_view text) : text_(text) { Advance(); }

  const Token& peek() const { return next_; }
  Token Next() {
    Token token = next_;
    Advance();
    return token;
  }
  // Consumes the next token if it is spelled so.
  bool Accept(absl::string_view spelling) {
    if (!next_.Is(spelling)) return false;
    Advance();
    return true;
  }

 private:
  void Advance();
  void SkipBlanks();
  void LexWord();
  void LexNumber();
  char At(size_t i) const { return i < text_.size() ? text_[i] : '\0'; }

  absl::string_view text_;
  size_t position_ = 0;
  uint32_t line_ = 1;
  Token next_;
};

}  // namespace sassay::emulator::ptx

#endif  // SASSAY_PROFILER_SERVICE_EMULATOR_PTX_LEXER_H_
