#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/status_macros.h"
#include "profiler_service/emulator/ptx/grammar.h"
#include "profiler_service/emulator/ptx/parser.h"

namespace sassay::emulator::ptx {

absl::Status Parser::ParseBody() {
  for (;;) {
    if (lexer_.peek().kind == Token::kEnd) return Error("'}' at the end of a function");
    if (lexer_.Accept("{")) {
      if (!scopes_.Push(kMaxNesting)) return Error(absl::StrCat("at most ", kMaxNesting, " nested scopes"));
    } else if (lexer_.Accept("}")) {
      if (!scopes_.Pop()) return absl::OkStatus();
    } else {
      RETURN_IF_ERROR(ParseBodyItem());
    }
  }
}

absl::Status Parser::ParseBodyItem() {
  if (lexer_.Accept(";")) return absl::OkStatus();
  const uint32_t line = lexer_.peek().line;
  if (lexer_.peek().Is("@")) return ParseInstruction("@", line);
  ASSIGN_OR_RETURN(const absl::string_view word, Word("an instruction"));
  if (word[0] == '.') return ParseDirective(word);
  if (lexer_.Accept(":")) return ParseLabel(word);
  return ParseInstruction(word, line);
}

absl::Status Parser::ParseDirective(absl::string_view word) {
  if (word == ".reg") return ParseRegisters();
  if (word == ".loc") return ParseLoc();
  if (word == ".pragma") return SkipStatement();
  const Space space = ParseSpace(word);
  if (space == Space::kGeneric) return Error(absl::StrCat("a known directive instead of '", word, "'"));
  return ParseLocalVariable(space);
}

absl::Status Parser::ParseLabel(absl::string_view name) {
  if (lexer_.peek().Is(".callprototype") || lexer_.peek().Is(".calltargets")) return SkipStatement();
  if (!lexer_.Accept(".branchtargets")) {
    scopes_.AddLabel(name, static_cast<uint32_t>(function_->code.size()));
    return absl::OkStatus();
  }
  const uint32_t table = static_cast<uint32_t>(function_->branch_tables.size());
  function_->branch_tables.emplace_back();
  scopes_.AddTable(name, table);
  do {
    ASSIGN_OR_RETURN(const absl::string_view label, Word("a label"));
    table_entries_.push_back({table, {label, scopes_.current()}});
  } while (lexer_.Accept(","));
  return Expect(";");
}

absl::Status Parser::ParseInstruction(absl::string_view opcode, uint32_t line) {
  Instruction instruction;
  instruction.line = line;
  if (opcode == "@") {
    lexer_.Next();
    instruction.guard_negated = lexer_.Accept("!");
    ASSIGN_OR_RETURN(const absl::string_view guard, Word("a predicate"));
    instruction.guard = scopes_.FindRegister(guard);
    if (instruction.guard == kNoIndex || function_->registers[instruction.guard].type != Type::kPred) {
      return Error(absl::StrCat("a predicate register instead of '", guard, "' before this"));
    }
    ASSIGN_OR_RETURN(opcode, Word("an opcode"));
  }
  if (++instructions_ > kMaxInstructions) return Error(absl::StrCat("at most ", kMaxInstructions, " instructions"));
  instruction.opcode = opcode;
  instruction.parts = absl::StrSplit(opcode, '.');
  instruction.location = location_;
  while (!lexer_.Accept(";")) {
    ASSIGN_OR_RETURN(Operand operand, ParseOperand(0));
    instruction.operands.push_back(std::move(operand));
    if (!lexer_.Accept(",") && !lexer_.peek().Is(";")) return Error("',' or ';'");
  }
  function_->code.push_back(std::move(instruction));
  return absl::OkStatus();
}

absl::StatusOr<Operand> Parser::ParseOperand(int depth) {
  ASSIGN_OR_RETURN(Operand first, ParseAtom(depth));
  if (!lexer_.Accept("|")) return first;
  ASSIGN_OR_RETURN(Operand second, ParseAtom(depth));
  Operand pair;
  pair.kind = Operand::kPair;
  pair.elements = {std::move(first), std::move(second)};
  return pair;
}

absl::StatusOr<Operand> Parser::ParseAtom(int depth) {
  if (depth > 4) return Error("at most 4 nested operands");
  if (lexer_.Accept("{")) return ParseVector("}", depth);
  if (lexer_.Accept("(")) return ParseVector(")", depth);
  if (lexer_.Accept("[")) return ParseAddress(depth);
  if (lexer_.Accept("!")) {
    ASSIGN_OR_RETURN(Operand operand, ParseAtom(depth + 1));
    operand.negated = !operand.negated;
    return operand;
  }
  const bool minus = lexer_.Accept("-");
  const Token token = lexer_.peek();
  if (token.kind == Token::kWord && !minus) return ParseName();
  if (token.kind != Token::kInteger && token.kind != Token::kFloat) return Error("an operand");
  lexer_.Next();
  Operand operand;
  operand.kind = token.kind == Token::kInteger ? Operand::kInteger : Operand::kFloat;
  operand.type = token.type;
  operand.bits = token.bits;
  if (minus) operand.bits = token.kind == Token::kInteger ? -token.bits : NegateFloat(token.bits, token.type);
  return operand;
}

absl::StatusOr<Operand> Parser::ParseVector(absl::string_view close, int depth) {
  Operand vector;
  vector.kind = Operand::kVector;
  while (!lexer_.Accept(close)) {
    ASSIGN_OR_RETURN(Operand element, ParseOperand(depth + 1));
    vector.elements.push_back(std::move(element));
    if (vector.elements.size() > 1024) return Error("at most 1024 elements");
    if (!lexer_.Accept(",") && !lexer_.peek().Is(close)) return Error(absl::StrCat("',' or '", close, "'"));
  }
  return vector;
}

absl::StatusOr<Operand> Parser::ParseAddress(int depth) {
  Operand address;
  address.kind = Operand::kAddress;
  ASSIGN_OR_RETURN(Operand base, ParseAtom(depth + 1));
  address.bits = base.kind == Operand::kVariable ? std::exchange(base.bits, 0) : 0;
  address.elements.push_back(std::move(base));
  if (address.bits == 0) RETURN_IF_ERROR(ParseOffset(address.bits));
  while (lexer_.Accept(",")) {
    ASSIGN_OR_RETURN(Operand coordinate, ParseAtom(depth + 1));
    address.elements.push_back(std::move(coordinate));
    if (address.elements.size() > 16) return Error("at most 16 coordinates");
  }
  RETURN_IF_ERROR(Expect("]"));
  return address;
}

absl::StatusOr<Operand> Parser::ParseName() {
  const absl::string_view name = lexer_.Next().text;
  Operand operand;
  operand.name = name;
  if (name == "_") {
    operand.kind = Operand::kSink;
    return operand;
  }
  if (name == "WARP_SZ") {
    operand.kind = Operand::kInteger;
    operand.bits = 32;
    return operand;
  }
  operand.index = scopes_.FindRegister(name);
  if (operand.index != kNoIndex) {
    operand.kind = Operand::kRegister;
    operand.type = function_->registers[operand.index].type;
    return operand;
  }
  if (name[0] == '%') {
    operand.kind = Operand::kSpecial;
    return operand;
  }
  operand.kind = Operand::kVariable;
  operand.index = scopes_.FindVariable(name);
  if (operand.index == kNoIndex) {
    operand.kind = Operand::kLabel;  // or a module's symbol: decided at the function's end
    operand.index = scopes_.current();
  }
  RETURN_IF_ERROR(ParseOffset(operand.bits));
  return operand;
}

absl::Status Parser::ResolveLabel(Operand& operand, bool may_be_symbol) {
  for (Operand& element : operand.elements) RETURN_IF_ERROR(ResolveLabel(element, may_be_symbol));
  if (operand.kind != Operand::kLabel) return absl::OkStatus();
  const uint32_t scope = operand.index;
  operand.index = scopes_.FindLabel(operand.name, scope);
  if (operand.index != kNoIndex) return absl::OkStatus();
  operand.index = scopes_.FindTable(operand.name, scope);
  if (operand.index != kNoIndex) {
    operand.type = Type::kB64;
    return absl::OkStatus();
  }
  operand.kind = Operand::kVariable;
  if (may_be_symbol) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("PTX: unknown label '", operand.name, "' in ", function_->name));
}

absl::Status Parser::ResolveLabels() {
  for (Instruction& instruction : function_->code) {
    const bool may_be_symbol = instruction.parts[0] != "bra" && instruction.parts[0] != "brx";
    for (Operand& operand : instruction.operands) RETURN_IF_ERROR(ResolveLabel(operand, may_be_symbol));
  }
  for (const auto& [table, entry] : table_entries_) {
    const uint32_t target = scopes_.FindLabel(entry.first, entry.second);
    if (target == kNoIndex) {
      return absl::InvalidArgumentError(absl::StrCat("PTX: unknown label '", entry.first, "' in ", function_->name));
    }
    function_->branch_tables[table].push_back(target);
  }
  return absl::OkStatus();
}

}  // namespace sassay::emulator::ptx
