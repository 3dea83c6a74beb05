#include "profiler_service/emulator/ptx/parser.h"

#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/status_macros.h"
#include "profiler_service/emulator/ptx/grammar.h"

namespace sassay::emulator::ptx {

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
