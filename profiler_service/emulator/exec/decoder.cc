#include "profiler_service/emulator/exec/decoder.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"

namespace sassay::emulator {
namespace {

constexpr size_t kMaxConstantBytes = size_t{64} << 20;
constexpr uint32_t kMaxLaneBytes = 8;  // what Warp::Lane and SetLane carry

uint64_t ConvertFloatLiteral(const ptx::Operand& operand, Type wanted) {
  if (operand.type == Type::kF64 && SizeOf(wanted) == 4) {
    double value;
    std::memcpy(&value, &operand.bits, sizeof(value));
    const float narrow = static_cast<float>(value);
    uint32_t bits;
    std::memcpy(&bits, &narrow, sizeof(bits));
    return bits;
  }
  if (operand.type == Type::kF32 && wanted == Type::kF64) {
    float value;
    std::memcpy(&value, &operand.bits, sizeof(value));
    const double wide = value;
    uint64_t bits;
    std::memcpy(&bits, &wide, sizeof(bits));
    return bits;
  }
  return operand.bits;
}

}  // namespace

absl::StatusOr<uint32_t> ConstantPool::Offset(uint64_t bits, uint32_t bytes) {
  if (bytes == 0 || bytes > 8) return absl::InvalidArgumentError(absl::StrCat("PTX: constant of ", bytes, " bytes"));
  if (bytes < 8) bits &= (uint64_t{1} << (8 * bytes)) - 1;
  const auto [known, fresh] = known_.try_emplace({bits, bytes}, static_cast<uint32_t>(bytes_.size()));
  if (!fresh) return known->second;
  if (bytes_.size() > kMaxConstantBytes) {
    return absl::ResourceExhaustedError(absl::StrCat("PTX: more than ", kMaxConstantBytes, " bytes of constants"));
  }
  const uint32_t slot = bytes < 2 ? 2 : bytes;
  for (int lane = 0; lane < kLanes; ++lane) {
    const auto* raw = reinterpret_cast<const uint8_t*>(&bits);
    bytes_.insert(bytes_.end(), raw, raw + slot);
  }
  return known->second;
}

Decoder::Decoder(const NameTable& names, ConstantPool& constants, Code& code, const std::vector<Operand>& registers,
                 const ptx::Instruction& source, Inst& inst)
    : names_(names), constants_(constants), code_(code), registers_(registers), source_(source), inst_(inst) {
  for (const absl::string_view part : source.parts) {
    const Type type = ParseType(part);
    if (type != Type::kNone) types_.push_back(type);
  }
}

bool Decoder::Has(absl::string_view modifier) const {
  for (size_t i = 1; i < source_.parts.size(); ++i) {
    if (source_.parts[i] == modifier) return true;
  }
  return false;
}

const ptx::Operand& Decoder::operand(size_t index) const {
  static const ptx::Operand* const kAbsent = new ptx::Operand();
  return index < source_.operands.size() ? source_.operands[index] : *kAbsent;
}

absl::Status Decoder::Lacks() const {
  return absl::UnimplementedError(absl::StrCat("emulator lacks ", source_.opcode, " (PTX line ", source_.line, ")"));
}

absl::Status Decoder::Malformed(absl::string_view expected) const {
  return absl::InvalidArgumentError(
      absl::StrCat("PTX line ", source_.line, ": ", source_.opcode, " expects ", expected));
}

absl::Status Decoder::NeedOperands(size_t least, size_t most) const {
  if (operand_count() >= least && operand_count() <= most) return absl::OkStatus();
  return Malformed(absl::StrCat(least, " to ", most, " operands, not ", operand_count()));
}

absl::Status Decoder::Append(const Operand& operand, bool destination) {
  if (destination && inst_.sources != 0) return Malformed("destinations before sources");
  if (inst_.destinations + inst_.sources >= 250) return Malformed("fewer operands");
  code_.operands.push_back(operand);
  ++(destination ? inst_.destinations : inst_.sources);
  return absl::OkStatus();
}

absl::StatusOr<Operand> Decoder::Resolve(const ptx::Operand& operand, uint32_t bytes) const {
  if (operand.kind == ptx::Operand::kSink) {
    Operand sink;
    sink.offset = code_.register_bytes - kSinkBytes;
    sink.bytes = static_cast<uint8_t>(bytes);
    return sink;
  }
  if (operand.kind != ptx::Operand::kRegister) return Malformed("a register");
  return registers_[operand.index];
}

absl::Status Decoder::Destination(const ptx::Operand& operand, uint32_t bytes) {
  ASSIGN_OR_RETURN(Operand resolved, Resolve(operand, bytes));
  if (resolved.bytes != bytes) return Malformed(absl::StrCat("a destination of ", bytes, " bytes"));
  return Append(resolved, true);
}

absl::Status Decoder::WideDestination(const ptx::Operand& operand, uint32_t least) {
  ASSIGN_OR_RETURN(Operand resolved, Resolve(operand, least < 2 ? 2 : least));
  if (resolved.bytes < least || resolved.bytes == 0 || resolved.bytes > kMaxLaneBytes)
    return Malformed(absl::StrCat("a destination of ", least, " to ", kMaxLaneBytes, " bytes"));
  return Append(resolved, true);
}

absl::Status Decoder::ConstantSource(uint64_t bits, uint32_t bytes) {
  ASSIGN_OR_RETURN(const uint32_t offset, constants_.Offset(bits, bytes));
  Operand constant;
  constant.pool = 1;
  constant.offset = offset;
  constant.bytes = static_cast<uint8_t>(bytes);
  return Append(constant, false);
}

absl::Status Decoder::Source(const ptx::Operand& operand, Type type) {
  if (type == Type::kPred) return Predicate(operand);
  const uint32_t bytes = std::max<uint32_t>(SizeOf(type), 2);
  switch (operand.kind) {
    case ptx::Operand::kInteger:
    case ptx::Operand::kFloat:
      return ConstantSource(ConvertFloatLiteral(operand, type), bytes);
    case ptx::Operand::kVariable: {
      ASSIGN_OR_RETURN(const uint64_t address, AddressOf(operand));
      return ConstantSource(address, bytes);
    }
    default: {
      ASSIGN_OR_RETURN(Operand resolved, Resolve(operand, bytes));
      if (resolved.bytes != bytes) return Malformed(absl::StrCat("a source of ", bytes, " bytes"));
      return Append(resolved, false);
    }
  }
}

absl::Status Decoder::WideSource(const ptx::Operand& operand, Type type) {
  if (operand.kind != ptx::Operand::kRegister) return Source(operand, type);
  ASSIGN_OR_RETURN(Operand resolved, Resolve(operand, SizeOf(type)));
  if (resolved.bytes == 0 || resolved.bytes < SizeOf(type) || resolved.bytes > kMaxLaneBytes) {
    return Malformed(absl::StrCat("a source of ", SizeOf(type), " to ", kMaxLaneBytes, " bytes"));
  }
  return Append(resolved, false);
}

absl::Status Decoder::Predicate(const ptx::Operand& operand) {
  if (operand.kind == ptx::Operand::kInteger) {
    const bool value = (operand.bits != 0) != operand.negated;
    RETURN_IF_ERROR(ConstantSource(value ? 0xffffffff : 0, 4));
    code_.operands.back().bytes = 0;
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(Operand resolved, Resolve(operand, 0));
  if (resolved.bytes != 0) return Malformed("a predicate");
  resolved.negated = operand.negated;
  return Append(resolved, false);
}

absl::Status Decoder::Address(const ptx::Operand& operand) {
  if (operand.kind != ptx::Operand::kAddress || operand.elements.empty()) return Malformed("an address");
  const ptx::Operand& base = operand.elements[0];
  inst_.immediate = static_cast<int64_t>(operand.bits);
  if (base.kind == ptx::Operand::kInteger) return ConstantSource(base.bits, 8);
  if (base.kind == ptx::Operand::kVariable) {
    ASSIGN_OR_RETURN(const uint64_t address, AddressOf(base));
    return ConstantSource(address, 8);
  }
  ASSIGN_OR_RETURN(Operand resolved, Resolve(base, 8));
  if (resolved.bytes != 8 && resolved.bytes != 4) return Malformed("an address of 4 or 8 bytes");
  return Append(resolved, false);
}

std::vector<const ptx::Operand*> Decoder::Elements(const ptx::Operand& operand) {
  std::vector<const ptx::Operand*> elements;
  if (operand.kind != ptx::Operand::kVector && operand.kind != ptx::Operand::kPair) return {&operand};
  for (const ptx::Operand& element : operand.elements) elements.push_back(&element);
  return elements;
}

absl::StatusOr<uint64_t> Decoder::AddressOf(const ptx::Operand& operand) const {
  if (operand.index != ptx::kNoIndex) {
    if (operand.index >= names_.variable_address.size()) return Malformed("a known variable");
    return names_.variable_address[operand.index] + operand.bits;
  }
  const std::string name(operand.name);
  const auto symbol = names_.program->symbols.find(name);
  if (symbol != names_.program->symbols.end()) return symbol->second + operand.bits;
  const auto shared = names_.module_shared.find(operand.name);
  if (shared != names_.module_shared.end()) return shared->second + operand.bits;
  const auto function = names_.functions.find(operand.name);
  if (function != names_.functions.end()) return kFunctionWindow + 16 * uint64_t{function->second};
  return Malformed(absl::StrCat("a known name instead of '", operand.name, "'"));
}

Space Decoder::SpaceOf(const ptx::Operand& operand) const {
  if (operand.kind != ptx::Operand::kVariable) return Space::kGeneric;
  if (operand.index != ptx::kNoIndex) return code_.source->variables[operand.index].space;
  const ptx::Variable* variable = names_.module->FindVariable(operand.name);
  return variable == nullptr ? Space::kGeneric : variable->space;
}

}  // namespace sassay::emulator
