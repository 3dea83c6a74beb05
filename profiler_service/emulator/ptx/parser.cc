#include "profiler_service/emulator/ptx/parser.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/status_macros.h"
#include "profiler_service/emulator/ptx/lexer.h"
#include "profiler_service/emulator/ptx/scope.h"

namespace sassay::emulator::ptx {
namespace {

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

class Parser {
 public:
  explicit Parser(Module& module) : module_(module), lexer_(module.text) {}

  absl::Status ParseModule();

 private:
  absl::Status Error(absl::string_view expected) const {
    const Token& token = lexer_.peek();
    return absl::InvalidArgumentError(absl::StrCat("PTX line ", token.line, ": expected ", expected, ", found '",
                                                   token.kind == Token::kEnd ? "end of text" : token.text.substr(0, 80),
                                                   "'"));
  }
  absl::Status Expect(absl::string_view spelling) {
    return lexer_.Accept(spelling) ? absl::OkStatus() : Error(absl::StrCat("'", spelling, "'"));
  }
  absl::StatusOr<absl::string_view> Word(absl::string_view what) {
    if (lexer_.peek().kind != Token::kWord) return Error(what);
    return lexer_.Next().text;
  }
  absl::StatusOr<uint64_t> Integer(absl::string_view what) {
    if (lexer_.peek().kind != Token::kInteger) return Error(what);
    return lexer_.Next().bits;
  }
  absl::Status SkipStatement();

  absl::Status ParseTopLevel();
  absl::Status ParseFile();
  absl::Status SkipSection();
  absl::Status ParseLoc();
  absl::Status ParseFunction(bool is_entry);
  absl::Status ParseParameterList(std::vector<uint32_t>& into);
  absl::Status ParseFunctionAttributes();
  absl::Status ParseBody();
  absl::Status ParseBodyItem();
  absl::Status ParseDirective(absl::string_view word);
  absl::Status ParseLabel(absl::string_view name);
  absl::Status ParseRegisters();
  absl::StatusOr<Variable> ParseVariableHead(Space space);
  absl::Status ParseVariableTail(Variable& variable);
  absl::Status ParseInitial(Variable& variable, int depth);
  absl::Status ParseInitialValue(Variable& variable);
  absl::Status ParseModuleVariable(Space space, bool is_extern);
  absl::Status ParseLocalVariable(Space space);
  absl::Status ParseInstruction(absl::string_view opcode, uint32_t line);
  absl::StatusOr<Operand> ParseOperand(int depth);
  absl::StatusOr<Operand> ParseAtom(int depth);
  absl::StatusOr<Operand> ParseAddress(int depth);
  absl::StatusOr<Operand> ParseVector(absl::string_view close, int depth);
  absl::StatusOr<Operand> ParseName();
  absl::Status ParseOffset(uint64_t& bits);
  absl::Status ResolveLabels();
  absl::Status ResolveLabel(Operand& operand, bool may_be_symbol);
  uint32_t LocationIndex(const Location& location);

  Module& module_;
  Lexer lexer_;
  Function* function_ = nullptr;
  Scopes scopes_;
  std::vector<std::pair<uint32_t, std::pair<absl::string_view, uint32_t>>> table_entries_;  // table -> (label, scope)
  std::map<std::tuple<uint32_t, uint32_t, uint32_t>, uint32_t> latest_location_;
  uint32_t location_ = kNoIndex;
  size_t instructions_ = 0;
  uint64_t registers_ = 0;
  uint64_t variable_bytes_ = 0;
};

absl::Status Parser::SkipStatement() {
  while (lexer_.peek().kind != Token::kEnd) {
    if (lexer_.Next().Is(";")) return absl::OkStatus();
  }
  return Error("';'");
}

absl::Status Parser::ParseModule() {
  while (lexer_.peek().kind != Token::kEnd) RETURN_IF_ERROR(ParseTopLevel());
  return absl::OkStatus();
}

absl::Status Parser::ParseTopLevel() {
  bool is_extern = false;
  while (lexer_.peek().Is(".extern") || lexer_.peek().Is(".visible") || lexer_.peek().Is(".weak") ||
         lexer_.peek().Is(".common")) {
    is_extern |= lexer_.Next().Is(".extern");
  }
  if (lexer_.Accept(";")) return absl::OkStatus();
  if (lexer_.Accept(".version") || lexer_.Accept(".address_size")) {
    const Token value = lexer_.Next();  // "9.0" is lexed as a number
    return value.kind == Token::kEnd ? Error("a number") : absl::OkStatus();
  }
  if (lexer_.Accept(".target")) {
    ASSIGN_OR_RETURN(module_.target, Word("a target"));
    while (lexer_.Accept(",")) RETURN_IF_ERROR(Word("a target option").status());
    return absl::OkStatus();
  }
  if (lexer_.Accept(".file")) return ParseFile();
  if (lexer_.Accept(".loc")) return ParseLoc();
  if (lexer_.Accept(".section")) return SkipSection();
  if (lexer_.Accept(".pragma") || lexer_.Accept(".alias")) return SkipStatement();
  if (lexer_.Accept(".entry")) return ParseFunction(true);
  if (lexer_.Accept(".func")) return ParseFunction(false);
  const Space space = ParseSpace(lexer_.peek().text);
  if (lexer_.peek().kind != Token::kWord || space == Space::kGeneric) return Error("a directive");
  lexer_.Next();
  return ParseModuleVariable(space, is_extern);
}

absl::Status Parser::ParseFile() {
  ASSIGN_OR_RETURN(const uint64_t index, Integer("a file number"));
  if (lexer_.peek().kind != Token::kString) return Error("a file name");
  module_.files[static_cast<uint32_t>(index)] = std::string(lexer_.Next().text);
  while (lexer_.Accept(",")) RETURN_IF_ERROR(Integer("a time stamp or size").status());
  return absl::OkStatus();
}

absl::Status Parser::SkipSection() {
  while (lexer_.peek().kind != Token::kEnd && !lexer_.peek().Is("{")) lexer_.Next();
  int depth = 0;
  while (lexer_.peek().kind != Token::kEnd) {
    const Token token = lexer_.Next();
    if (token.Is("{")) ++depth;
    if (token.Is("}") && --depth == 0) return absl::OkStatus();
  }
  return Error("'}' of a .section");
}

uint32_t Parser::LocationIndex(const Location& location) {
  const auto key = std::make_tuple(location.file, location.line, location.column);
  const auto known = latest_location_.find(key);
  if (known != latest_location_.end() && module_.locations[known->second].inlined_at == location.inlined_at) {
    return known->second;
  }
  module_.locations.push_back(location);
  return latest_location_[key] = static_cast<uint32_t>(module_.locations.size() - 1);
}

absl::Status Parser::ParseLoc() {
  Location location;
  auto triple = [&](Location& into) -> absl::Status {
    ASSIGN_OR_RETURN(const uint64_t file, Integer("a file number"));
    ASSIGN_OR_RETURN(const uint64_t line, Integer("a line number"));
    ASSIGN_OR_RETURN(const uint64_t column, Integer("a column"));
    into.file = static_cast<uint32_t>(file);
    into.line = static_cast<uint32_t>(line);
    into.column = static_cast<uint32_t>(column);
    return absl::OkStatus();
  };
  RETURN_IF_ERROR(triple(location));
  while (lexer_.Accept(",")) {
    if (lexer_.Accept("function_name")) {
      RETURN_IF_ERROR(Word("a label").status());
      if (lexer_.Accept("+")) RETURN_IF_ERROR(Integer("an offset").status());
    } else if (lexer_.Accept("inlined_at")) {
      Location outer;
      RETURN_IF_ERROR(triple(outer));
      const auto known = latest_location_.find(std::make_tuple(outer.file, outer.line, outer.column));
      location.inlined_at = known != latest_location_.end() ? known->second : LocationIndex(outer);
    } else {
      return Error("function_name or inlined_at");
    }
  }
  location_ = LocationIndex(location);
  return absl::OkStatus();
}

absl::Status Parser::ParseFunction(bool is_entry) {
  auto function = std::make_unique<Function>();
  function_ = function.get();
  scopes_ = Scopes();
  table_entries_.clear();
  location_ = kNoIndex;
  function->is_entry = is_entry;
  function->line = lexer_.peek().line;
  if (lexer_.peek().Is("(")) RETURN_IF_ERROR(ParseParameterList(function->returns));
  ASSIGN_OR_RETURN(function->name, Word("a function name"));
  if (lexer_.peek().Is("(")) RETURN_IF_ERROR(ParseParameterList(function->parameters));
  RETURN_IF_ERROR(ParseFunctionAttributes());
  if (!lexer_.Accept(";")) {
    RETURN_IF_ERROR(Expect("{"));
    RETURN_IF_ERROR(ParseBody());
    RETURN_IF_ERROR(ResolveLabels());
    function->has_body = true;
  }
  const auto known = module_.function_index.find(function->name);
  if (known == module_.function_index.end()) {
    module_.function_index[function->name] = static_cast<uint32_t>(module_.functions.size());
    module_.functions.push_back(std::move(function));
  } else if (function->has_body) {
    module_.functions[known->second] = std::move(function);
  }
  function_ = nullptr;
  return absl::OkStatus();
}

absl::Status Parser::ParseParameterList(std::vector<uint32_t>& into) {
  RETURN_IF_ERROR(Expect("("));
  while (!lexer_.peek().Is(")")) {
    if (!lexer_.Accept(".param") && !lexer_.Accept(".reg")) return Error("'.param'");
    ASSIGN_OR_RETURN(Variable variable, ParseVariableHead(Space::kParam));
    RETURN_IF_ERROR(ParseVariableTail(variable));
    into.push_back(static_cast<uint32_t>(function_->variables.size()));
    scopes_.AddVariable(variable.name, into.back());
    function_->variables.push_back(std::move(variable));
    if (!lexer_.Accept(",")) break;
  }
  return Expect(")");
}

absl::Status Parser::ParseFunctionAttributes() {
  std::vector<uint32_t>* extents = nullptr;
  while (!lexer_.peek().Is(";") && !lexer_.peek().Is("{")) {
    const Token token = lexer_.peek();
    if (token.kind == Token::kEnd) return Error("'{' or ';'");
    lexer_.Next();
    if (token.Is(".reqntid")) {
      extents = &function_->required_threads;
    } else if (token.Is(".maxntid")) {
      extents = &function_->most_threads;
    } else if (token.Is(".reqnctapercluster")) {
      extents = &function_->required_cluster;
    } else if (token.kind == Token::kInteger && extents != nullptr && extents->size() < 3) {
      extents->push_back(static_cast<uint32_t>(token.bits));
    } else if (!token.Is(",")) {
      extents = nullptr;
    }
  }
  return absl::OkStatus();
}

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

}  // namespace

const Function* Module::FindFunction(absl::string_view name) const {
  const auto found = function_index.find(name);
  return found == function_index.end() ? nullptr : functions[found->second].get();
}

const Variable* Module::FindVariable(absl::string_view name) const {
  const auto found = variable_index.find(name);
  return found == variable_index.end() ? nullptr : &variables[found->second];
}

absl::StatusOr<std::unique_ptr<Module>> Parse(std::string text) {
  if (text.size() > kMaxTextBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("PTX of ", text.size(), " bytes; at most ", kMaxTextBytes, " are taken"));
  }
  auto module = std::make_unique<Module>();
  module->text = std::move(text);
  module->lines = absl::StrSplit(module->text, '\n');
  Parser parser(*module);
  RETURN_IF_ERROR(parser.ParseModule());
  return module;
}

}  // namespace sassay::emulator::ptx
