// The recursive descent behind Parse(): parser.cc reads modules and functions, declarations.cc registers and variables,
// statements.cc labels, instructions and operands. No other file has a use for it.
//
// Ownership: the module and its text outlive the parser, whose tokens point into the text. A failure leaves the module
// half filled; the caller drops it.
#ifndef SASSAY_PROFILER_SERVICE_EMULATOR_PTX_GRAMMAR_H_
#define SASSAY_PROFILER_SERVICE_EMULATOR_PTX_GRAMMAR_H_

#include <cstdint>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "profiler_service/emulator/ptx/ir.h"
#include "profiler_service/emulator/ptx/lexer.h"
#include "profiler_service/emulator/ptx/scope.h"

namespace sassay::emulator::ptx {

// ".shared" and its like; kGeneric for any other word.
Space ParseSpace(absl::string_view text);

// The bits of -x, for the bits of an f32 or f64.
uint64_t NegateFloat(uint64_t bits, Type type);

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

}  // namespace sassay::emulator::ptx

#endif  // SASSAY_PROFILER_SERVICE_EMULATOR_PTX_GRAMMAR_H_
