#include <bit>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "profiler_service/emulator/exec/access.h"
#include "profiler_service/emulator/exec/block.h"
#include "profiler_service/emulator/ops/families.h"
#include "profiler_service/emulator/ops/lanes.h"
#include "profiler_service/emulator/ops/system_calls.h"

namespace sassay::emulator {
namespace {

Flow Branch(Warp& warp, const Inst& inst) { return warp.Branch(static_cast<uint32_t>(inst.immediate)); }
Flow Exit(Warp& warp, const Inst&) { return warp.Exit(); }

struct CallFacts {
  const Program* program = nullptr;
  const Code* callee = nullptr;  // null: indirect
  std::vector<LocalSlot> arguments, results;
};

Flow Return(Warp& warp, const Inst&) {
  const Inst* call = warp.frame().call;
  return warp.Return(call == nullptr ? nullptr : &static_cast<const CallFacts*>(call->extra)->results);
}

Flow Call(Warp& warp, const Inst& inst) {
  const CallFacts& facts = *static_cast<const CallFacts*>(inst.extra);
  return warp.Call(inst, *facts.callee, facts.arguments);
}

// Lanes that call the same function go together; the others call again.
Flow CallIndirect(Warp& warp, const Inst& inst) {
  const CallFacts& facts = *static_cast<const CallFacts*>(inst.extra);
  const uint64_t* targets = warp.In<uint64_t>(inst.o[0]);
  const uint64_t target = targets[std::countr_zero(warp.mask())];
  const uint64_t index = (target - kFunctionWindow) / 16;
  if (target < kFunctionWindow || target % 16 != 0 || index >= facts.program->functions.size() ||
      facts.program->functions[index]->insts.empty() || facts.program->functions[index]->is_entry) {
    return warp.Fault(sassay::v1::VERDICT_CODE_ILLEGAL_INSTRUCTION, inst,
                      absl::StrCat("call of 0x", absl::Hex(target), ", where no function begins"),
                      std::countr_zero(warp.mask()));
  }
  const uint32_t same = Collect([&](int i) { return targets[i] == target; });
  if ((warp.mask() & ~same) != 0) return warp.Part(same);
  return warp.Call(inst, *facts.program->functions[index], facts.arguments);
}

Flow BranchIndexed(Warp& warp, const Inst& inst) {
  return warp.BranchIndexed(warp.frame().code->branch_tables[inst.a], inst.o[0]);
}

Flow Trap(Warp& warp, const Inst& inst) {
  return warp.Fault(sassay::v1::VERDICT_CODE_TRAP, inst, "the kernel executed a trap", std::countr_zero(warp.mask()));
}

Flow Nothing(Warp&, const Inst&) { return Flow::kNext; }

absl::Status DecodeBranch(Decoder& d) {
  RETURN_IF_ERROR(d.NeedOperands(1, 1));
  if (d.operand(0).kind != ptx::Operand::kLabel || d.operand(0).type == Type::kB64) return d.Malformed("a label");
  d.inst().immediate = d.operand(0).index;
  return d.Set(Branch, kBranches);
}

absl::Status DecodeBranchIndexed(Decoder& d) {
  RETURN_IF_ERROR(d.NeedOperands(2, 2));
  const ptx::Operand& table = d.operand(1);
  if (!d.Has("idx") || table.kind != ptx::Operand::kLabel || table.type != Type::kB64)
    return d.Malformed("a branch table");
  d.inst().a = table.index;
  RETURN_IF_ERROR(d.Source(d.operand(0), Type::kU32));
  return d.Set(BranchIndexed, kBranches);
}

absl::Status DecodeExit(Decoder& d) { return d.Set(Exit, kBranches); }
absl::Status DecodeReturn(Decoder& d) { return d.Set(Return, kBranches); }
absl::Status DecodeTrap(Decoder& d) { return d.Set(Trap); }
absl::Status DecodeNothing(Decoder& d) { return d.Set(Nothing); }

absl::Status Slots(Decoder& d, const ptx::Operand& list, std::vector<LocalSlot>& slots) {
  for (const ptx::Operand& element : list.elements) {
    if (element.kind != ptx::Operand::kVariable || element.index == ptx::kNoIndex || element.bits != 0)
      return d.Malformed("whole parameters in memory");
    ASSIGN_OR_RETURN(const uint64_t address, d.AddressOf(element));
    const ptx::Variable& variable = d.code().source->variables[element.index];
    if (variable.space != Space::kParam || address >= kParamWindow) return d.Malformed("parameters of the call");
    slots.push_back({static_cast<uint32_t>(address), static_cast<uint32_t>(variable.size_bytes)});
  }
  return absl::OkStatus();
}

absl::Status DecodeCall(Decoder& d) {
  CallFacts facts;
  facts.program = d.names().program;
  size_t at = 0;
  if (d.operand(0).kind == ptx::Operand::kVector) RETURN_IF_ERROR(Slots(d, d.operand(at++), facts.results));
  const ptx::Operand& target = d.operand(at++);
  if (d.operand(at).kind == ptx::Operand::kVector) RETURN_IF_ERROR(Slots(d, d.operand(at++), facts.arguments));
  if (target.kind == ptx::Operand::kRegister) {
    RETURN_IF_ERROR(d.Source(target, Type::kU64));
    d.Attach(std::move(facts));
    return d.Set(CallIndirect);
  }
  if (target.kind != ptx::Operand::kVariable) return d.Malformed("a function");
  const auto function = d.names().functions.find(target.name);
  if (function == d.names().functions.end()) return d.Malformed("a declared function");
  facts.callee = facts.program->functions[function->second].get();
  if (facts.callee->is_entry) return d.Malformed("a function that is no entry");
  if (!facts.callee->source->has_body) return DecodeSystemCall(d, target.name, facts.arguments, facts.results);
  d.Attach(std::move(facts));
  return d.Set(Call);
}

}  // namespace

void RegisterControl(OpTable& table) {
  table.Add("bra", DecodeBranch);
  table.Add("brx", DecodeBranchIndexed);
  table.Add("call", DecodeCall);
  table.Add("ret", DecodeReturn);
  table.Add("exit", DecodeExit);
  table.Add("trap", DecodeTrap);
  table.Add("brkpt", DecodeNothing);
  table.Add("pmevent", DecodeNothing);
  table.Add("griddepcontrol", DecodeNothing);
}

}  // namespace sassay::emulator
