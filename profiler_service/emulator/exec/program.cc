#include "profiler_service/emulator/exec/program.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "profiler_service/emulator/exec/decoder.h"
#include "profiler_service/emulator/exec/op_table.h"
#include "profiler_service/emulator/exec/warp.h"
#include "profiler_service/emulator/memory/global_memory.h"

namespace sassay::emulator {
namespace {

constexpr uint32_t kMaxRegisterBytes = 16 << 20;
constexpr uint32_t kMaxSharedBytes = 8 << 20;  // of declarations; the launch has the device's own limit
constexpr uint64_t kMaxParameterBytes = 64 << 10;

uint64_t AlignUp(uint64_t value, uint64_t alignment) { return (value + alignment - 1) / alignment * alignment; }

// An instruction that the emulator lacks, or that no PTX has: reaching it ends the launch as our trouble.
Flow Refuse(Warp& warp, const Inst& inst) { return warp.Fail(*static_cast<const absl::Status*>(inst.extra)); }

Flow EndOfFunction(Warp& warp, const Inst& inst) { return warp.Return(nullptr); }

class Loader {
 public:
  Loader(Program& program, const OpTable& table, GlobalMemory& memory)
      : program_(program), module_(*program.module), table_(table), memory_(memory), constants_(program.constants) {}

  absl::Status Load();

 private:
  absl::Status PlaceVariables();
  absl::Status InitialiseVariable(const ptx::Variable& variable);
  absl::StatusOr<uint64_t> InitialBits(const ptx::InitialValue& value) const;
  absl::Status PlaceShared();
  absl::Status PlaceFunctionShared(const Code* owner, const ptx::Function& function, uint32_t& end);
  absl::StatusOr<uint32_t> PlaceSharedVariable(const Code* owner, const ptx::Variable& variable, uint32_t& end);
  absl::Status LayOut(Code& code);
  absl::Status LayOutRegisters(Code& code);
  absl::Status LayOutVariables(Code& code);
  absl::Status DecodeFunction(Code& code);
  static void MarkUsedResults(Code& code);
  absl::Status DecodeInstruction(Code& code, const ptx::Instruction& source);
  uint32_t OpcodeIndex(absl::string_view opcode);

  Program& program_;
  const ptx::Module& module_;
  const OpTable& table_;
  GlobalMemory& memory_;
  NameTable names_;
  ConstantPool constants_;
  std::vector<Operand> registers_;
  absl::flat_hash_map<const ptx::Variable*, uint32_t> shared_address_;
  absl::flat_hash_map<std::string, uint32_t> opcode_index_;
};

absl::Status Loader::Load() {
  names_.module = &module_;
  names_.program = &program_;
  for (const auto& function : module_.functions) {
    names_.functions[function->name] = static_cast<uint32_t>(program_.functions.size());
    auto code = std::make_unique<Code>();
    code->name = std::string(function->name);
    code->source = function.get();
    code->is_entry = function->is_entry;
    program_.functions.push_back(std::move(code));
  }
  RETURN_IF_ERROR(PlaceVariables());
  RETURN_IF_ERROR(PlaceShared());
  for (auto& code : program_.functions) {
    RETURN_IF_ERROR(LayOut(*code));
    if (code->source->has_body) RETURN_IF_ERROR(DecodeFunction(*code));
    if (code->is_entry && code->source->has_body) program_.entries[code->name] = code.get();
  }
  // Handlers read 32 lanes of their own width, which may be wider than a constant that hostile PTX gave them.
  program_.constants.resize(program_.constants.size() + kSinkBytes);
  return absl::OkStatus();
}

absl::Status Loader::PlaceVariables() {
  for (const ptx::Variable& variable : module_.variables) {
    if (variable.space != Space::kGlobal && variable.space != Space::kConst) continue;
    ASSIGN_OR_RETURN(const uint64_t address, memory_.Allocate(variable.size_bytes, std::string(variable.name), true));
    program_.symbols[std::string(variable.name)] = address;
    program_.symbol_bytes[std::string(variable.name)] = variable.size_bytes;
  }
  for (const ptx::Variable& variable : module_.variables) {
    if (!variable.initial.empty()) RETURN_IF_ERROR(InitialiseVariable(variable));
  }
  return absl::OkStatus();
}

absl::Status Loader::InitialiseVariable(const ptx::Variable& variable) {
  const auto symbol = program_.symbols.find(std::string(variable.name));
  if (symbol == program_.symbols.end()) return absl::OkStatus();
  ASSIGN_OR_RETURN(uint8_t * host, memory_.Host(symbol->second, variable.size_bytes));
  for (const ptx::InitialValue& value : variable.initial) {
    ASSIGN_OR_RETURN(const uint64_t bits, InitialBits(value));
    std::memcpy(host, &bits, std::min<uint32_t>(variable.initial_bytes, 8));
    host += variable.initial_bytes;
  }
  return absl::OkStatus();
}

absl::StatusOr<uint64_t> Loader::InitialBits(const ptx::InitialValue& value) const {
  if (value.symbol.empty()) return value.bits;
  const auto symbol = program_.symbols.find(std::string(value.symbol));
  if (symbol != program_.symbols.end()) return symbol->second + value.bits;
  const auto function = names_.functions.find(value.symbol);
  if (function != names_.functions.end()) return kFunctionWindow + 16 * uint64_t{function->second};
  return absl::InvalidArgumentError(absl::StrCat("PTX: initialiser names '", value.symbol, "', which is not declared"));
}

absl::StatusOr<uint32_t> Loader::PlaceSharedVariable(const Code* owner, const ptx::Variable& variable, uint32_t& end) {
  const uint64_t address = AlignUp(end, variable.alignment);
  if (address + variable.size_bytes > kMaxSharedBytes) {
    return absl::InvalidArgumentError(absl::StrCat("PTX: shared variable '", variable.name, "' of ",
                                                   variable.size_bytes, " bytes; at most ", kMaxSharedBytes,
                                                   " may be declared"));
  }
  end = static_cast<uint32_t>(address + variable.size_bytes);
  program_.shared_variables.push_back(
      {std::string(variable.name), owner, static_cast<uint32_t>(address), static_cast<uint32_t>(variable.size_bytes)});
  return static_cast<uint32_t>(address);
}

absl::Status Loader::PlaceFunctionShared(const Code* owner, const ptx::Function& function, uint32_t& end) {
  for (const ptx::Variable& variable : function.variables) {
    if (variable.space != Space::kShared || variable.is_extern) continue;
    ASSIGN_OR_RETURN(const uint32_t address, PlaceSharedVariable(owner, variable, end));
    shared_address_[&variable] = address;
  }
  return absl::OkStatus();
}

// The module's variables and those of device functions come first and are in every kernel; then the kernel's own; then,
// at one place for all kernels (device functions may use it too), dynamic shared memory.
absl::Status Loader::PlaceShared() {
  uint32_t common = kSharedBase;
  for (const ptx::Variable& variable : module_.variables) {
    if (variable.space != Space::kShared || variable.is_extern) continue;
    ASSIGN_OR_RETURN(const uint32_t address, PlaceSharedVariable(nullptr, variable, common));
    names_.module_shared[variable.name] = address;
  }
  for (const auto& code : program_.functions) {
    if (!code->is_entry) RETURN_IF_ERROR(PlaceFunctionShared(nullptr, *code->source, common));
  }
  uint32_t furthest = common;
  for (const auto& code : program_.functions) {
    if (!code->is_entry) continue;
    uint32_t end = common;
    RETURN_IF_ERROR(PlaceFunctionShared(code.get(), *code->source, end));
    code->shared_bytes = end - kSharedBase;
    furthest = std::max(furthest, end);
  }
  program_.dynamic_shared_base = static_cast<uint32_t>(AlignUp(furthest, 1024));
  for (const ptx::Variable& variable : module_.variables) {
    if (variable.space != Space::kShared || !variable.is_extern) continue;
    names_.module_shared[variable.name] = program_.dynamic_shared_base;
  }
  return absl::OkStatus();
}

absl::Status Loader::LayOutRegisters(Code& code) {
  uint64_t offset = 0;
  uint32_t index = 0;
  registers_.clear();
  for (const ptx::Register& declared : code.source->registers) {
    Operand slot;
    slot.bytes = declared.type == Type::kPred ? 0 : static_cast<uint8_t>(std::max<uint32_t>(SizeOf(declared.type), 2));
    if (slot.bytes != 0) offset = AlignUp(offset, 32);
    slot.offset = static_cast<uint32_t>(offset);
    slot.index = index++;
    registers_.push_back(slot);
    offset += slot.bytes == 0 ? 4 : uint64_t{slot.bytes} * kLanes;
    if (offset > kMaxRegisterBytes) {
      return absl::InvalidArgumentError(absl::StrCat("PTX: ", code.name, " declares ", code.source->registers.size(),
                                                     " registers, more than the emulator takes"));
    }
  }
  code.register_count = index;
  code.register_bytes = static_cast<uint32_t>(AlignUp(offset, 32)) + kSinkBytes;
  return absl::OkStatus();
}

absl::Status Loader::LayOutVariables(Code& code) {
  const ptx::Function& function = *code.source;
  names_.variable_address.assign(function.variables.size(), 0);
  auto place = [&](uint32_t index, uint64_t& end) {
    const ptx::Variable& variable = function.variables[index];
    const uint64_t address = AlignUp(end, variable.alignment);
    end = address + variable.size_bytes;
    return LocalSlot{static_cast<uint32_t>(address), static_cast<uint32_t>(variable.size_bytes)};
  };
  std::vector<bool> placed(function.variables.size(), false);
  uint64_t local = 0, parameters = 0;
  for (const uint32_t index : function.returns) {
    code.returns.push_back(place(index, local));
    names_.variable_address[index] = code.returns.back().offset;
    placed[index] = true;
  }
  for (const uint32_t index : function.parameters) {
    code.parameters.push_back(place(index, code.is_entry ? parameters : local));
    names_.variable_address[index] = code.parameters.back().offset + (code.is_entry ? kParamWindow : 0);
    placed[index] = true;
  }
  for (uint32_t index = 0; index < function.variables.size(); ++index) {
    const ptx::Variable& variable = function.variables[index];
    if (placed[index]) continue;
    if (variable.space == Space::kShared) names_.variable_address[index] = shared_address_[&variable];
    if (variable.space == Space::kLocal || variable.space == Space::kParam) {
      names_.variable_address[index] = place(index, local).offset;
    }
    if (variable.space == Space::kGlobal || variable.space == Space::kConst) {
      ASSIGN_OR_RETURN(const uint64_t address, memory_.Allocate(variable.size_bytes, variable.name, true));
      names_.variable_address[index] = address;
      program_.symbols.emplace(std::string(variable.name), address);
      RETURN_IF_ERROR(InitialiseVariable(variable));
    }
  }
  if (local > kMaxLocalBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("PTX: ", code.name, " declares more than ", kMaxLocalBytes, " bytes of local memory"));
  }
  if (parameters > kMaxParameterBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("PTX: ", code.name, " declares more than ", kMaxParameterBytes, " bytes of parameters"));
  }
  code.local_bytes = static_cast<uint32_t>(local);
  code.parameter_bytes = static_cast<uint32_t>(parameters);
  return absl::OkStatus();
}

absl::Status Loader::LayOut(Code& code) {
  RETURN_IF_ERROR(LayOutRegisters(code));
  return LayOutVariables(code);
}

uint32_t Loader::OpcodeIndex(absl::string_view opcode) {
  const auto [known, fresh] =
      opcode_index_.try_emplace(std::string(opcode), static_cast<uint32_t>(program_.opcodes.size()));
  if (fresh) program_.opcodes.emplace_back(opcode);
  return known->second;
}

absl::Status Loader::DecodeInstruction(Code& code, const ptx::Instruction& source) {
  Inst& inst = code.insts.emplace_back();
  inst.line = source.line;
  inst.location = source.location;
  inst.opcode = OpcodeIndex(source.opcode);
  const size_t first_operand = code.operands.size();
  if (source.guard != ptx::kNoIndex) {
    inst.guarded = true;
    inst.guard_negated = source.guard_negated;
    inst.guard = registers_[source.guard].offset;
    inst.guard_index = source.guard;
  }
  Decoder decoder(names_, constants_, code, registers_, source, inst);
  const emulator::DecodeFunction decode = table_.Find(source.parts[0]);
  absl::Status status = decode == nullptr ? decoder.Lacks() : decode(decoder);
  if (status.code() == absl::StatusCode::kResourceExhausted) return status;
  if (!status.ok()) {
    code.operands.resize(first_operand);
    inst.destinations = inst.sources = 0;
    inst.flags = 0;
    decoder.Attach(std::move(status));
    inst.run = Refuse;
  }
  return absl::OkStatus();
}

void Loader::MarkUsedResults(Code& code) {
  std::vector<bool> read(code.register_count);
  const auto note = [&read](uint32_t index) {
    if (index < read.size()) read[index] = true;
  };
  for (const Inst& inst : code.insts) {
    if (inst.guarded) note(inst.guard_index);
    for (int i = 0; i < inst.sources; ++i) note(inst.o[inst.destinations + i].index);
  }
  for (Inst& inst : code.insts) {
    for (int i = 0; i < inst.destinations; ++i) {
      const uint32_t index = inst.o[i].index;
      if (index < read.size() && read[index]) inst.flags |= kResultUsed;
    }
  }
}

absl::Status Loader::DecodeFunction(Code& code) {
  for (const ptx::Instruction& source : code.source->code) RETURN_IF_ERROR(DecodeInstruction(code, source));
  code.branch_tables = code.source->branch_tables;
  Inst& end = code.insts.emplace_back();
  end.run = EndOfFunction;
  end.opcode = OpcodeIndex("ret");
  end.line = code.source->code.empty() ? code.source->line : code.source->code.back().line;
  size_t operand = 0;
  for (Inst& inst : code.insts) {
    inst.o = code.operands.data() + operand;
    operand += inst.destinations + inst.sources;
    inst.id = static_cast<uint32_t>(program_.insts.size());
    program_.insts.emplace_back(&code, &inst);
  }
  MarkUsedResults(code);
  return absl::OkStatus();
}

}  // namespace

const absl::Status* RefusalOf(const Inst& inst) {
  return inst.run == Refuse ? static_cast<const absl::Status*>(inst.extra) : nullptr;
}

absl::StatusOr<std::unique_ptr<Program>> LoadProgram(std::unique_ptr<ptx::Module> module, const OpTable& table,
                                                     GlobalMemory& memory) {
  auto program = std::make_unique<Program>();
  program->module = std::move(module);
  RETURN_IF_ERROR(Loader(*program, table, memory).Load());
  return program;
}

}  // namespace sassay::emulator
