// What a family's decode function works with: the instruction as written, and the instruction to fill in.
#ifndef SASSAY_PROFILER_SERVICE_EMULATOR_EXEC_DECODER_H_
#define SASSAY_PROFILER_SERVICE_EMULATOR_EXEC_DECODER_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "profiler_service/emulator/exec/program.h"

namespace sassay::emulator {

// The addresses that names stand for while one function is decoded.
struct NameTable {
  const ptx::Module* module = nullptr;
  const Program* program = nullptr;
  absl::flat_hash_map<absl::string_view, uint32_t> functions;      // index in Program::functions
  absl::flat_hash_map<absl::string_view, uint32_t> module_shared;  // address in shared space
  std::vector<uint64_t> variable_address;                          // of the function under decoding, by index
};

// The pool of constants: each value once, repeated for 32 lanes.
class ConstantPool {
 public:
  explicit ConstantPool(std::vector<uint8_t>& bytes) : bytes_(bytes) {}
  // RESOURCE_EXHAUSTED past 64 MiB.
  absl::StatusOr<uint32_t> Offset(uint64_t bits, uint32_t bytes);

 private:
  std::vector<uint8_t>& bytes_;
  absl::flat_hash_map<std::pair<uint64_t, uint32_t>, uint32_t> known_;
};

// Decodes one instruction. The slots of every operand are checked against the size that the handler will touch, so that
// no PTX, however hostile, makes a handler read or write outside its register. Thread-compatible.
class Decoder {
 public:
  Decoder(const NameTable& names, ConstantPool& constants, Code& code, const std::vector<Operand>& registers,
          const ptx::Instruction& source, Inst& inst);

  const ptx::Instruction& source() const { return source_; }
  Inst& inst() { return inst_; }
  Code& code() { return code_; }
  const NameTable& names() const { return names_; }

  // Modifiers, as written after the root.
  bool Has(absl::string_view modifier) const;
  absl::string_view Part(size_t index) const { return index < source_.parts.size() ? source_.parts[index] : ""; }
  // The types among the modifiers, in order.
  const std::vector<Type>& types() const { return types_; }
  Type type(size_t index = 0) const { return index < types_.size() ? types_[index] : Type::kNone; }

  size_t operand_count() const { return source_.operands.size(); }
  const ptx::Operand& operand(size_t index) const;

  // Append an operand, destinations before sources. `bytes` is the slot's size (0: predicate).
  absl::Status Destination(const ptx::Operand& operand, uint32_t bytes);
  // A destination of any size from `least` bytes up.
  absl::Status WideDestination(const ptx::Operand& operand, uint32_t least);
  absl::Status Source(const ptx::Operand& operand, Type type);
  // A source whose register may be wider than the type; only the low bytes count.
  absl::Status WideSource(const ptx::Operand& operand, Type type);
  absl::Status Predicate(const ptx::Operand& operand);
  absl::Status ConstantSource(uint64_t bits, uint32_t bytes);
  // The base of an address, as a 64- or 32-bit source; its displacement goes to inst().immediate.
  absl::Status Address(const ptx::Operand& operand);
  // Elements of a vector operand, or the operand itself.
  static std::vector<const ptx::Operand*> Elements(const ptx::Operand& operand);

  // The address that a variable or function name stands for, as an operand of mov sees it.
  absl::StatusOr<uint64_t> AddressOf(const ptx::Operand& operand) const;
  // State space of a named variable; kGeneric if the name is a function's.
  Space SpaceOf(const ptx::Operand& operand) const;

  // Keeps `object` for as long as the code lives and hangs it on the instruction.
  template <class T>
  T& Attach(T object) {
    auto owned = std::make_shared<T>(std::move(object));
    inst_.extra = owned.get();
    T& reference = *owned;
    code_.extras.push_back(std::move(owned));
    return reference;
  }

  absl::Status Set(Handler handler, uint16_t flags = 0) {
    inst_.run = handler;
    inst_.flags |= flags;
    return absl::OkStatus();
  }
  absl::Status Lacks() const;
  absl::Status Malformed(absl::string_view expected) const;
  absl::Status NeedOperands(size_t least, size_t most) const;

 private:
  absl::Status Append(const Operand& operand, bool destination);
  absl::StatusOr<Operand> Resolve(const ptx::Operand& operand, uint32_t bytes) const;

  const NameTable& names_;
  ConstantPool& constants_;
  Code& code_;
  const std::vector<Operand>& registers_;
  const ptx::Instruction& source_;
  Inst& inst_;
  std::vector<Type> types_;
};

}  // namespace sassay::emulator

#endif  // SASSAY_PROFILER_SERVICE_EMULATOR_EXEC_DECODER_H_
