// PTX after parsing: names resolved to registers, variables and labels, nothing yet decided about execution.
#ifndef SASSAY_PROFILER_SERVICE_EMULATOR_PTX_IR_H_
#define SASSAY_PROFILER_SERVICE_EMULATOR_PTX_IR_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "profiler_service/emulator/ptx/types.h"

namespace sassay::emulator::ptx {

inline constexpr uint32_t kNoIndex = 0xffffffff;

// One operand as written.
struct Operand {
  enum Kind : uint8_t {
    kNone,
    kRegister,  // `index` into Function::registers
    kSpecial,   // special register; `name` as written ("%tid.x")
    kInteger,   // `bits`
    kFloat,     // `bits`; `type` is kF32 or kF64
    kVariable,  // `index` into Function::variables, or kNoIndex and a module variable or function called `name`
    kLabel,     // `index` into Function::code (one past the end is legal)
    kAddress,   // [elements[0] + bits]; elements[1..] hold further coordinates, where there are any
    kVector,    // {a, b} or (a, b)
    kPair,      // p|q
    kSink,      // _
  };
  Kind kind = kNone;
  Type type = Type::kNone;
  bool negated = false;  // !p, or -x on an immediate already applied
  uint32_t index = kNoIndex;
  uint64_t bits = 0;
  absl::string_view name;
  std::vector<Operand> elements;
};

// One instruction. `parts` is the opcode cut at its dots: {"ld", "global", "f32"}.
struct Instruction {
  absl::string_view opcode;
  std::vector<absl::string_view> parts;
  std::vector<Operand> operands;
  uint32_t guard = kNoIndex;  // predicate register
  bool guard_negated = false;
  uint32_t line = 0;
  uint32_t location = kNoIndex;  // index into Module::locations
};

// One value of an initialiser: a number, or the address of something plus an offset.
struct InitialValue {
  uint64_t bits = 0;  // number, or offset
  absl::string_view symbol;
};

struct Variable {
  absl::string_view name;
  Space space = Space::kGlobal;
  Type type = Type::kB8;
  uint32_t alignment = 1;
  uint64_t size_bytes = 0;
  bool is_extern = false;  // .extern .shared x[]: dynamic shared memory
  std::vector<InitialValue> initial;
  uint32_t initial_bytes = 1;  // size of each initial value
};

struct Register {
  Type type = Type::kB32;
};

struct Function {
  absl::string_view name;
  bool is_entry = false;
  bool has_body = false;
  std::vector<uint32_t> returns, parameters;  // indices into `variables`
  std::vector<Variable> variables;
  std::vector<Register> registers;
  std::vector<Instruction> code;
  std::vector<std::vector<uint32_t>> branch_tables;  // .branchtargets; an operand kLabel with `type` kB64 names one
  uint32_t line = 0;
  // What the entry demands of a launch; empty where it demands nothing.
  std::vector<uint32_t> required_threads, most_threads, required_cluster;
};

// Where an instruction comes from. `inlined_at` is the location of the call it was inlined into.
struct Location {
  uint32_t file = 0, line = 0, column = 0;
  uint32_t inlined_at = kNoIndex;
};

struct Module {
  std::string text;  // everything else points into it
  std::vector<absl::string_view> lines;
  std::vector<Variable> variables;
  std::vector<std::unique_ptr<Function>> functions;
  std::vector<Location> locations;
  std::map<uint32_t, std::string> files;
  absl::string_view target;

  const Function* FindFunction(absl::string_view name) const;
  const Variable* FindVariable(absl::string_view name) const;

  absl::flat_hash_map<absl::string_view, uint32_t> function_index, variable_index;
};

}  // namespace sassay::emulator::ptx

#endif  // SASSAY_PROFILER_SERVICE_EMULATOR_PTX_IR_H_
