#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "profiler_service/emulator/ptx/grammar.h"
#include "profiler_service/emulator/ptx/parser.h"

namespace sassay::emulator::ptx {

Space ParseSpace(absl::string_view text) {
  if (text == ".global") return Space::kGlobal;
  if (text == ".const") return Space::kConst;
  if (text == ".shared") return Space::kShared;
  if (text == ".local") return Space::kLocal;
  if (text == ".param") return Space::kParam;
  return Space::kGeneric;
}

uint64_t NegateFloat(uint64_t bits, Type type) {
  return bits ^ (type == Type::kF32 ? uint64_t{1} << 31 : uint64_t{1} << 63);
}

absl::Status Parser::ParseRegisters() {
  ASSIGN_OR_RETURN(absl::string_view word, Word("a type"));
  uint32_t elements = 1;
  if (word == ".v2" || word == ".v4") {
    elements = word[2] - '0';
    ASSIGN_OR_RETURN(word, Word("a type"));
  }
  const Type type = ParseType(word);
  if (type == Type::kNone || elements != 1) return Error("a scalar register type");
  do {
    ASSIGN_OR_RETURN(const absl::string_view name, Word("a register name"));
    const uint32_t first = static_cast<uint32_t>(function_->registers.size());
    uint64_t count = 1;
    if (lexer_.Accept("<")) {
      ASSIGN_OR_RETURN(count, Integer("a register count"));
      RETURN_IF_ERROR(Expect(">"));
      if (count > kMaxRegistersPerFunction)
        return Error(absl::StrCat("at most ", kMaxRegistersPerFunction, " registers"));
      scopes_.AddRegisters(name, first, static_cast<uint32_t>(count));
    } else {
      scopes_.AddRegister(name, first);
    }
    if (first + count > kMaxRegistersPerFunction) {
      return Error(absl::StrCat("at most ", kMaxRegistersPerFunction, " registers"));
    }
    if (registers_ += count; registers_ > kMaxRegisters) {
      return Error(absl::StrCat("at most ", kMaxRegisters, " registers in all functions"));
    }
    function_->registers.resize(first + count, Register{type});
  } while (lexer_.Accept(","));
  return Expect(";");
}

// Everything up to and including the name and its array extents.
absl::StatusOr<Variable> Parser::ParseVariableHead(Space space) {
  Variable variable;
  variable.space = space;
  uint64_t vector = 1;
  bool typed = false;
  while (lexer_.peek().kind == Token::kWord && lexer_.peek().text[0] == '.') {
    const Token token = lexer_.Next();
    if (token.text == ".align") {
      ASSIGN_OR_RETURN(const uint64_t alignment, Integer("an alignment"));
      if (alignment == 0 || alignment > 65536 || (alignment & (alignment - 1)) != 0) return Error("a power of two");
      variable.alignment = static_cast<uint32_t>(alignment);
    } else if (token.text == ".v2" || token.text == ".v4") {
      vector = token.text[2] - '0';
    } else if (token.text == ".attribute") {
      RETURN_IF_ERROR(Expect("("));
      while (!lexer_.Accept(")")) {
        if (lexer_.Next().kind == Token::kEnd) return Error("')'");
      }
    } else if (ParseType(token.text) != Type::kNone) {
      variable.type = ParseType(token.text);
      typed = true;
    }  // .ptr and the space it points to say nothing about layout
  }
  if (!typed) return Error("a type");
  const uint64_t element = SizeOf(variable.type);
  variable.alignment = std::max<uint32_t>(variable.alignment, static_cast<uint32_t>(element * vector));
  variable.initial_bytes = static_cast<uint32_t>(element);
  variable.size_bytes = element * vector;
  ASSIGN_OR_RETURN(variable.name, Word("a variable name"));
  while (lexer_.Accept("[")) {
    uint64_t extent = 0;
    if (!lexer_.peek().Is("]")) {
      ASSIGN_OR_RETURN(extent, Integer("an array extent"));
    }
    RETURN_IF_ERROR(Expect("]"));
    if (extent > kMaxVariableBytes || variable.size_bytes > kMaxVariableBytes) return Error("a smaller variable");
    variable.size_bytes *= extent;
  }
  return variable;
}

absl::Status Parser::ParseVariableTail(Variable& variable) {
  if (lexer_.Accept("=")) RETURN_IF_ERROR(ParseInitial(variable, 0));
  const uint64_t initial = variable.initial.size() * uint64_t{variable.initial_bytes};
  if (variable.size_bytes == 0 && initial > 0) variable.size_bytes = initial;
  if (initial > variable.size_bytes) return Error("an initialiser that fits");
  variable_bytes_ += variable.size_bytes;
  if (variable_bytes_ > kMaxVariableBytes) return Error(absl::StrCat("at most ", kMaxVariableBytes, " variable bytes"));
  return absl::OkStatus();
}

absl::Status Parser::ParseInitial(Variable& variable, int depth) {
  if (depth > 8) return Error("at most 8 nested braces");
  if (!lexer_.Accept("{")) return ParseInitialValue(variable);
  while (!lexer_.Accept("}")) {
    RETURN_IF_ERROR(ParseInitial(variable, depth + 1));
    if (!lexer_.Accept(",") && !lexer_.peek().Is("}")) return Error("',' or '}'");
  }
  return absl::OkStatus();
}

absl::Status Parser::ParseInitialValue(Variable& variable) {
  InitialValue value;
  const bool negative = lexer_.Accept("-");
  const Token token = lexer_.Next();
  if (token.kind == Token::kInteger || token.kind == Token::kFloat) {
    value.bits = token.bits;
    if (negative) value.bits = token.kind == Token::kFloat ? NegateFloat(token.bits, token.type) : -token.bits;
  } else if (token.Is("generic")) {
    RETURN_IF_ERROR(Expect("("));
    ASSIGN_OR_RETURN(value.symbol, Word("a symbol"));
    RETURN_IF_ERROR(Expect(")"));
  } else if (token.kind == Token::kWord) {
    value.symbol = token.text;
  } else {
    return Error("an initial value");
  }
  if (!value.symbol.empty()) RETURN_IF_ERROR(ParseOffset(value.bits));
  variable.initial.push_back(value);
  return absl::OkStatus();
}

absl::Status Parser::ParseOffset(uint64_t& bits) {
  if (!lexer_.peek().Is("+") && !lexer_.peek().Is("-")) return absl::OkStatus();
  bool negative = lexer_.Next().Is("-");
  if (lexer_.Accept("-")) negative = !negative;
  ASSIGN_OR_RETURN(const uint64_t offset, Integer("an offset"));
  bits = negative ? -offset : offset;
  return absl::OkStatus();
}

absl::Status Parser::ParseModuleVariable(Space space, bool is_extern) {
  ASSIGN_OR_RETURN(Variable variable, ParseVariableHead(space));
  RETURN_IF_ERROR(ParseVariableTail(variable));
  variable.is_extern = is_extern;
  if (module_.variable_index.emplace(variable.name, module_.variables.size()).second) {
    module_.variables.push_back(std::move(variable));
  }
  return Expect(";");
}

absl::Status Parser::ParseLocalVariable(Space space) {
  ASSIGN_OR_RETURN(Variable variable, ParseVariableHead(space));
  RETURN_IF_ERROR(ParseVariableTail(variable));
  scopes_.AddVariable(variable.name, static_cast<uint32_t>(function_->variables.size()));
  function_->variables.push_back(std::move(variable));
  return Expect(";");
}

}  // namespace sassay::emulator::ptx
