// How lanes of one warp that have gone different ways wait for one another.
#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "profiler_service/emulator/exec/block.h"
#include "profiler_service/emulator/exec/warp.h"

namespace sassay::emulator {
namespace {

// The widest value of 32 lanes.
constexpr uint32_t kSlotBytes = 8 * kLanes;

// One operand's values for the lanes of `mask`.
void CopyLanes(uint8_t* to, const Operand& to_operand, const uint8_t* from, const Operand& from_operand,
               uint32_t mask) {
  if (to_operand.bytes == 0) {
    uint32_t value = 0, old = 0;
    std::memcpy(&value, from, sizeof(value));
    std::memcpy(&old, to, sizeof(old));
    if (from_operand.negated) value = ~value;
    value = (old & ~mask) | (value & mask);
    std::memcpy(to, &value, sizeof(value));
    return;
  }
  for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
    const uint32_t at = static_cast<uint32_t>(std::countr_zero(rest)) * to_operand.bytes;
    std::memcpy(to + at, from + at, to_operand.bytes);
  }
}

bool SameKind(const Inst& a, const Inst& b) {
  return (a.flags & kJoins) != 0 && a.opcode == b.opcode && a.run == b.run && a.destinations == b.destinations &&
         a.sources == b.sources;
}

}  // namespace

// Lanes that wait for the same members at bar.warp.sync, wherever each of them does, pass it together.
bool Warp::WakeMet() {
  bool woken = false;
  for (const Split& split : splits_) {
    if (split.state != Split::kWarpSync || !split.meets) continue;
    const auto together = [wanted = split.wanted](const Split& other) {
      return other.state == Split::kWarpSync && other.meets && other.wanted == wanted;
    };
    uint32_t present = 0;
    for (const Split& other : splits_) present |= together(other) ? other.mask : 0;
    if ((split.wanted & live_ & ~present) != 0) continue;
    for (Split& other : splits_) {
      if (!together(other)) continue;
      other.state = Split::kReady;
      other.meets = false;
      ++other.pc;
    }
    woken = true;
  }
  return woken;
}

bool Warp::WakeGathered() {
  bool woken = false;
  for (Split& split : splits_) {
    if (split.state != Split::kWarpSync || (split.wanted & live_ & ~split.mask) != 0) continue;
    split.state = Split::kReady;
    woken = true;
  }
  return woken;
}

// No split can run, and none will by itself: the lanes at the first warp-wide instruction go on without those that
// cannot come.
bool Warp::ForceProgress() {
  Split* first = nullptr;
  for (Split& split : splits_) {
    if (split.state == Split::kMbarrier) return false;
    if (split.state == Split::kWarpSync && (first == nullptr || split.pc < first->pc)) first = &split;
  }
  if (first == nullptr) return false;
  first->state = Split::kReady;
  first->forced = true;
  return true;
}

const Inst& Warp::InstOf(const Split& split) const { return split.frame->code->insts[split.pc]; }

// The same for what lanes execute together "with the same qualifiers and the same membermask", as the PTX ISA says of
// shfl, vote, match and redux: that it is one instruction at one place, it asks only before sm_70.
bool Warp::RunJoined() {
  for (size_t i = 0; i < splits_.size(); ++i) {
    if (splits_[i].state != Split::kWarpSync || splits_[i].meets) continue;
    std::vector<size_t> together;
    uint32_t present = 0;
    for (size_t j = i; j < splits_.size(); ++j) {
      const Split& other = splits_[j];
      if (other.state != Split::kWarpSync || other.meets || other.wanted != splits_[i].wanted) continue;
      if (!SameKind(InstOf(other), InstOf(splits_[i]))) continue;
      together.push_back(j);
      present |= other.mask;
    }
    if ((splits_[i].wanted & live_ & ~present) != 0) continue;
    Join(together, present);
    return true;
  }
  return false;
}

// Executes the instruction once, on registers of its own to which each split brings what its lanes have, and from which
// it takes what they get.
void Warp::Join(const std::vector<size_t>& together, uint32_t present) {
  Inst inst = InstOf(splits_[together[0]]);
  const size_t count = inst.destinations + inst.sources;
  std::vector<Operand> operands(inst.o, inst.o + count);
  for (size_t k = 0; k < count; ++k) {
    operands[k].offset = static_cast<uint32_t>(k) * kSlotBytes;
    operands[k].pool = 0;
    operands[k].negated = false;
  }
  Frame joint;
  joint.code = splits_[together[0]].frame->code;
  joint.registers.resize(count * kSlotBytes);
  const auto slot = [&](size_t k) { return joint.registers.data() + k * kSlotBytes; };
  for (const size_t index : together) {
    const Split& split = splits_[index];
    const Operand* own = InstOf(split).o;
    for (size_t k = inst.destinations; k < count; ++k) {
      const uint8_t* base = own[k].pool == 0 ? split.frame->registers.data() : base_[1];
      CopyLanes(slot(k), operands[k], base + own[k].offset, own[k], split.mask);
    }
  }
  inst.o = operands.data();
  Split all = splits_[together[0]];
  all.frame = &joint;
  all.mask = mask_ = present;
  splits_.push_back(all);
  current_ = splits_.size() - 1;
  base_[0] = joint.registers.data();
  inst.run(*this, inst);
  splits_.pop_back();
  for (const size_t index : together) {
    Split& split = splits_[index];
    const Operand* own = InstOf(split).o;
    for (size_t k = 0; k < inst.destinations; ++k) {
      CopyLanes(split.frame->registers.data() + own[k].offset, own[k], slot(k), operands[k], split.mask);
    }
    split.state = Split::kReady;
    ++split.pc;
  }
}

bool Warp::Gathered(uint32_t members) {
  if (splits_.size() > 1) block_.NoteOutsideIdly();
  Split& split = splits_[current_];
  const uint32_t missing = members & live_ & ~split.mask;
  if (missing == 0) return true;
  if (std::exchange(split.forced, false)) {
    const Inst& inst = split.frame->code->insts[split.pc];
    constexpr auto kCode = sassay::v1::VERDICT_CODE_BARRIER_DIVERGENCE;
    if (checked_ && launch_->report.Wants(kCode, inst.id, block_.index())) {
      Misuse misuse;
      misuse.code = kCode;
      misuse.message = absl::StrCat(launch_->program->opcodes[inst.opcode], " names lanes 0x", absl::Hex(members),
                                    ", of which 0x", absl::Hex(missing), " never arrive");
      misuse.where = PlaceOf(inst, std::countr_zero(split.mask));
      launch_->report.Add(std::move(misuse));
    }
    return true;
  }
  split.state = Split::kWarpSync;
  split.wanted = members;
  split.meets = false;
  return false;
}

bool Warp::Met(uint32_t members) {
  if (Gathered(members)) return true;
  splits_[current_].meets = true;
  return false;
}

}  // namespace sassay::emulator
