// Registers that an asynchronous unit still works on.
#include <bit>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "profiler_service/emulator/exec/block.h"
#include "profiler_service/emulator/exec/warp.h"

namespace sassay::emulator {
namespace {

std::string Touched(const RegisterWork& work) {
  if (work.unit == AsyncUnit::kTensorLoad) {
    return absl::StrCat("a register that the tcgen05.ld at ", kOtherPlace,
                        " fills is touched before a tcgen05.wait::ld has followed");
  }
  return absl::StrCat("a register that the wgmma at ", kOtherPlace, work.written ? " writes" : " reads",
                      " is touched before a wgmma.wait_group has waited for its group");
}

}  // namespace

void Warp::BeginRegister(const Operand& operand, AsyncUnit unit, uint32_t ticket, const Inst& inst, bool written) {
  if (operand.index == ptx::kNoIndex) return;
  Frame& frame = *splits_[current_].frame;
  if (frame.under_way.empty()) frame.under_way.resize(frame.code->register_count);
  frame.under_way[operand.index] = {inst.id, ticket, unit, written};
  registers_under_way_ = true;
}

void Warp::EndRegisters(AsyncUnit unit, uint32_t up_to) {
  if (!registers_under_way_) return;
  registers_under_way_ = false;
  for (const auto& frame : frames_) {
    for (RegisterWork& work : frame->under_way) {
      if (work.unit == unit && work.ticket <= up_to) work = RegisterWork();
      registers_under_way_ |= work.unit != AsyncUnit::kNone;
    }
  }
}

// A copy of a register is as unfinished as the register. Compilers make such copies right behind the instruction, and
// store there what they keep in local memory: neither is the author's doing.
void Warp::CheckRegisters(const Inst& inst) {
  const Frame& frame = *splits_[current_].frame;
  const std::string& opcode = launch_->program->opcodes[inst.opcode];
  if (frame.under_way.empty() || (inst.flags & kRegistersOwn) != 0 || absl::StartsWith(opcode, "st.local")) return;
  RegisterWork met, copied;
  for (int i = 0; i < inst.destinations + inst.sources; ++i) {
    const uint32_t index = inst.o[i].index;
    if (index >= frame.under_way.size()) continue;
    const RegisterWork& work = frame.under_way[index];
    const bool destination = i < inst.destinations;
    if (work.unit == AsyncUnit::kNone || (!destination && !work.written)) continue;
    const bool copies = !destination && absl::StartsWith(opcode, "mov.");
    (copies ? copied : met) = work;
  }
  if (met.unit != AsyncUnit::kNone) return ReportRegister(inst, met);
  for (int i = 0; i < inst.destinations && copied.unit != AsyncUnit::kNone; ++i) {
    BeginRegister(inst.o[i], copied.unit, copied.ticket, *launch_->program->insts[copied.inst].second, true);
  }
}

void Warp::ReportRegister(const Inst& inst, const RegisterWork& work) {
  constexpr auto kCode = sassay::v1::VERDICT_CODE_ASYNC_RACE;
  if (!launch_->report.Wants(kCode, inst.id, block_.index())) return;
  const int lane = std::countr_zero(mask_);
  Misuse misuse;
  misuse.code = kCode;
  misuse.message = Touched(work);
  misuse.where = PlaceOf(inst, lane);
  misuse.other = PlaceOf(*launch_->program->insts[work.inst].second, lane);
  misuse.has_other = true;
  misuse.buffer = "registers";
  launch_->report.Add(std::move(misuse));
}

}  // namespace sassay::emulator
