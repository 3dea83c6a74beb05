// The decoded form of a module: what the interpreter's loop runs. Decoding happens once, at load: operands are resolved
// to positions in a warp's register file or in the pool of constants, opcodes to functions specialised by type.
#ifndef SASSAY_PROFILER_SERVICE_EMULATOR_EXEC_PROGRAM_H_
#define SASSAY_PROFILER_SERVICE_EMULATOR_EXEC_PROGRAM_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "profiler_service/emulator/ptx/ir.h"

namespace sassay::emulator {

class Warp;
class GlobalMemory;
class OpTable;
struct Inst;

inline constexpr int kLanes = 32;
// Room behind a frame's registers for results that nobody wants (_): 16 bytes a lane.
inline constexpr uint32_t kSinkBytes = 16 * kLanes;

// Where generic addresses of each space begin. Global allocations lie below all windows.
inline constexpr uint64_t kSharedWindow = 0x7fa000000000;
inline constexpr uint64_t kLocalWindow = 0x7fb000000000;
inline constexpr uint64_t kParamWindow = 0x7fc000000000;
inline constexpr uint64_t kFunctionWindow = 0x7fd000000000;
inline constexpr uint64_t kWindowBytes = uint64_t{1} << 32;

// Shared memory begins here, as on sm_90 (the first KiB belongs to the system), so that a null pointer is out of
// bounds.
inline constexpr uint32_t kSharedBase = 1024;

// A block's shared memory as the others of its cluster address it: the rank stands above the offset, as on sm_90.
inline constexpr int kRankShift = 24;
inline constexpr uint32_t kRankMask = (1u << kRankShift) - 1;

// What an instruction did to the flow of control.
enum class Flow : uint8_t {
  kNext,        // go on with the next instruction
  kRedirected,  // the warp's splits have changed: choose anew
  kBlocked,     // the split waits; it will run this instruction again, or be moved on by whoever releases it
};

// One instruction for the lanes in Warp::mask(). Never called with an empty mask.
using Handler = Flow (*)(Warp&, const Inst&);

// 32 values of `bytes` each, one per lane (a predicate: one 32-bit mask).
struct Operand {
  uint32_t offset = 0;
  uint8_t pool = 0;                // 0: registers of the frame, 1: constants
  uint8_t bytes = 0;               // size of one lane's value; 0 for a predicate
  bool negated = false;            // predicates only
  uint32_t index = ptx::kNoIndex;  // register number; kNoIndex for constants
};

enum InstFlag : uint16_t {
  kSync = 1,            // lanes gather here; lanes whose guard is false go on first
  kTaintStops = 2,      // results count as initialised whatever the operands were
  kTaintOwn = 4,        // the handler deals with uninitialised operands itself
  kBranches = 16,       // its guard decides the way
  kSpins = 8,           // what a waiting loop polls with (atomics, volatile loads, nanosleep)
  kResultUsed = 32,     // some instruction of the function reads what it writes
  kRegistersOwn = 128,  // the handler deals with registers that a unit works on itself
  kJoins = 64,          // lanes make it together from different places; its last source is the member mask
};

struct Inst {
  Handler run = nullptr;
  const Operand* o = nullptr;  // destinations first, then sources
  uint8_t destinations = 0, sources = 0;
  bool guarded = false, guard_negated = false;
  uint16_t flags = 0;
  uint32_t guard = 0;            // offset of the guard's mask in the frame
  uint32_t guard_index = 0;      // its register number
  int64_t immediate = 0;         // address displacement, branch target
  uint32_t a = 0, b = 0, c = 0;  // the family's own facts
  const void* extra = nullptr;   // the family's own object, owned by the Code
  uint32_t line = 0, location = ptx::kNoIndex;
  uint32_t opcode = 0;  // index into Program::opcodes
  uint32_t id = 0;      // index into Program::insts
};

// A place in a thread's local memory, relative to its frame.
struct LocalSlot {
  uint32_t offset = 0, bytes = 0;
};

// One function, ready to run. Immutable after loading.
struct Code {
  std::string name;
  const ptx::Function* source = nullptr;
  bool is_entry = false;
  std::vector<Inst> insts;  // ends with a return
  std::vector<Operand> operands;
  std::vector<std::shared_ptr<const void>> extras;
  uint32_t register_bytes = 0, register_count = 0;
  uint32_t local_bytes = 0;                    // .local, and .param of a non-entry
  std::vector<LocalSlot> parameters, returns;  // entries: offsets into the parameter block
  uint32_t parameter_bytes = 0;                // entries only
  uint32_t shared_bytes = 0;                   // static shared memory, from kSharedBase on
  std::vector<std::vector<uint32_t>> branch_tables;
};

// A named piece of shared memory, for messages.
struct SharedVariable {
  std::string name;
  const Code* owner = nullptr;  // nullptr: of the module
  uint32_t offset = 0, bytes = 0;
};

// A module, ready to run. Immutable after loading, so any number of threads may run it.
struct Program {
  std::unique_ptr<ptx::Module> module;
  std::vector<std::unique_ptr<Code>> functions;  // index: address - kFunctionWindow, in units of 16
  absl::flat_hash_map<std::string, const Code*> entries;
  std::vector<uint8_t> constants;
  std::vector<std::string> opcodes;
  std::vector<std::pair<const Code*, const Inst*>> insts;  // of all functions
  absl::flat_hash_map<std::string, uint64_t> symbols;      // .global and .const variables
  absl::flat_hash_map<std::string, uint64_t> symbol_bytes;
  std::vector<SharedVariable> shared_variables;
  uint32_t dynamic_shared_base = kSharedBase;
};

// Why the emulator does not run this instruction (reaching it ends the kernel so); null: it does. Lives as long as the
// program.
const absl::Status* RefusalOf(const Inst& inst);

// Decodes `module` with the operations of `table`, and allocates and initialises its variables in `memory`. An
// operation that the table lacks is no error here: reaching it is. INVALID_ARGUMENT names the PTX line.
absl::StatusOr<std::unique_ptr<Program>> LoadProgram(std::unique_ptr<ptx::Module> module, const OpTable& table,
                                                     GlobalMemory& memory);

}  // namespace sassay::emulator

#endif  // SASSAY_PROFILER_SERVICE_EMULATOR_EXEC_PROGRAM_H_
