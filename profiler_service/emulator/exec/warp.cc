#include "profiler_service/emulator/exec/warp.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "absl/strings/str_cat.h"
#include "profiler_service/emulator/exec/access.h"
#include "profiler_service/emulator/exec/block.h"

namespace sassay::emulator {
namespace {

// Polls before a split gives way, and laps of any loop before it does.
constexpr uint32_t kPatiencePolling = 2;
constexpr uint32_t kPatienceLooping = 100000;

}  // namespace

void Warp::Start(LaunchContext& launch, uint32_t index, uint32_t lanes) {
  launch_ = &launch;
  index_ = index;
  checked_ = launch.checked;
  blocked_ = any_taint_ = registers_under_way_ = false;
  splits_.clear();
  origins_.clear();
  free_frames_.clear();
  for (auto& frame : frames_) free_frames_.push_back(frame.get());
  base_[1] = const_cast<uint8_t*>(launch.program->constants.data());
  local_stride_ = 0;
  local_.clear();
  local_unwritten_.clear();
  launch.Hold(-local_held_);
  local_held_ = 0;
  loop_.Forget();
  facts_ = LoopFacts();
  idle_since_ = 0;
  carry_ = 0;
  live_ = lanes >= kLanes ? ~0u : (1u << lanes) - 1;
  Split split;
  split.frame = NewFrame(*launch.kernel);
  split.frame->lanes = split.mask = live_;
  GrowLocal(launch.kernel->local_bytes);
  splits_.push_back(split);
  current_ = 0;
}

Frame* Warp::NewFrame(const Code& code) {
  if (free_frames_.empty()) {
    frames_.push_back(std::make_unique<Frame>());
    free_frames_.push_back(frames_.back().get());
  }
  Frame* frame = free_frames_.back();
  free_frames_.pop_back();
  frame->code = &code;
  const uint64_t bytes = code.register_bytes + (checked_ ? 8 * uint64_t{code.register_count} : 0);
  if (bytes > frame->held_bytes) {
    launch_->Hold(static_cast<int64_t>(bytes - frame->held_bytes));
    frame->held_bytes = bytes;
  }
  frame->registers.assign(code.register_bytes, 0);
  frame->tainted.assign(checked_ ? code.register_count : 0, 0);
  frame->taint_origin.assign(checked_ ? code.register_count : 0, 0);
  frame->under_way.clear();
  frame->caller = nullptr;
  frame->call = nullptr;
  frame->local_base = frame->depth = 0;
  frame->callee_bytes = 0;
  return frame;
}

// Lanes leave `frame` and, if it is then empty, it becomes free. Its callers keep their own counts.
void Warp::LeaveFrame(Frame* frame, uint32_t lanes) {
  frame->lanes &= ~lanes;
  if (frame->lanes == 0) free_frames_.push_back(frame);
}

Warp::Result Warp::Run(uint32_t budget) {
  watching_ = block_.watching();
  if (checked_) return Loop<true, false>(budget);
  return launch_->counted ? Loop<false, true>(budget) : Loop<false, false>(budget);
}

template <bool kChecked, bool kCounted>
Warp::Result Warp::Loop(uint32_t budget) {
  polling_ = false;
  if (!Select()) return live_ == 0 ? Result::kDone : Result::kBlocked;
  while (budget-- > 0) {
    Split& split = splits_[current_];
    const Inst& inst = split.frame->code->insts[split.pc];
    uint32_t mask = split.mask;
    if (inst.guarded) {
      uint32_t guard;
      std::memcpy(&guard, base_[0] + inst.guard, sizeof(guard));
      mask &= inst.guard_negated ? ~guard : guard;
    }
    if constexpr (kCounted) {
      Count& count = block_.counts()[inst.id];
      ++count.warps;
      count.threads += std::popcount(mask);
    }
    if constexpr (kChecked) {
      if (any_taint_ && inst.guarded && (inst.flags & kBranches) != 0) CheckBranch(inst);
    }
    if (mask == 0) {
      if (++split.pc >= merge_pc_ && !Select()) return Result::kBlocked;
      continue;
    }
    if ((inst.flags & kSync) != 0 && mask != split.mask) {
      Divide(mask);
      Select();
      continue;
    }
    mask_ = mask;
    if ((inst.flags & kSpins) != 0) {
      split.polled = true;
      for (Split& other : splits_) other.deferred = other.deferred && &other == &split;
    }
    if constexpr (kChecked) {
      if (any_taint_) PropagateTaint(inst);
      if (registers_under_way_) CheckRegisters(inst);
    }
    const Flow flow = inst.run(*this, inst);
    if (flow == Flow::kNext) {
      if (++splits_[current_].pc < merge_pc_) continue;
    } else if (launch_->stop.load(std::memory_order_relaxed)) {
      return Result::kStopped;
    }
    if (!Select()) return live_ == 0 ? Result::kDone : Result::kBlocked;
    if (polling_) return Result::kPolling;
  }
  return Result::kRan;
}

// Splits the current split: the lanes of `mask` stay, the others go on with the next instruction.
void Warp::Divide(uint32_t mask) {
  Split others = splits_[current_];
  others.mask &= ~mask;
  ++others.pc;
  splits_[current_].mask = mask;
  splits_.push_back(others);
}

void Warp::MergeSplits() {
  for (size_t i = 0; i < splits_.size(); ++i) {
    if (splits_[i].state == Split::kBarrier || splits_[i].state == Split::kMbarrier) continue;
    for (size_t j = splits_.size(); j-- > i + 1;) {
      if (splits_[j].frame != splits_[i].frame || splits_[j].pc != splits_[i].pc) continue;
      if (splits_[j].state == Split::kBarrier || splits_[j].state == Split::kMbarrier) continue;
      if (splits_[j].state != splits_[i].state) splits_[i].state = Split::kReady;
      splits_[i].mask |= splits_[j].mask;
      splits_[i].deferred = splits_[i].deferred && splits_[j].deferred;
      splits_.erase(splits_.begin() + static_cast<std::ptrdiff_t>(j));
    }
  }
}

int Warp::Best(bool deferred) const {
  int best = -1;
  for (size_t i = 0; i < splits_.size(); ++i) {
    const Split& split = splits_[i];
    if (split.state != Split::kReady || (split.deferred && !deferred)) continue;
    if (best < 0) {
      best = static_cast<int>(i);
      continue;
    }
    const Split& other = splits_[static_cast<size_t>(best)];
    const bool deeper = split.frame->depth > other.frame->depth;
    const bool earlier = split.frame->depth == other.frame->depth && split.pc < other.pc;
    if (deeper || earlier) best = static_cast<int>(i);
  }
  return best;
}

// Chooses the split to run. False if none can.
bool Warp::Select() {
  if (splits_.size() > 1) {
    std::erase_if(splits_, [](const Split& split) { return split.mask == 0; });
    MergeSplits();
  }
  if (live_ == 0) return false;
  WakeGathered();
  if (splits_.size() > 1 && (WakeMet() || RunJoined())) MergeSplits();
  int best = Best(false);
  if (best < 0 && (best = Best(true)) >= 0) {
    for (Split& split : splits_) split.deferred = false;
    polling_ = true;
  }
  if (best < 0 && ForceProgress()) best = Best(true);
  blocked_ = best < 0;
  if (blocked_) return false;
  current_ = static_cast<size_t>(best);
  base_[0] = splits_[current_].frame->registers.data();
  ChooseMergePoint();
  return true;
}

void Warp::ChooseMergePoint() {
  merge_pc_ = ptx::kNoIndex;
  const Split& split = splits_[current_];
  for (const Split& other : splits_) {
    if (other.frame == split.frame && other.pc > split.pc) merge_pc_ = std::min(merge_pc_, other.pc);
  }
}

// Whether the current split, about to jump back to `target`, should let others go first.
bool Warp::GiveWay(uint32_t target) {
  Split& current = splits_[current_];
  if (target > current.pc) return false;
  ++current.laps;
  const bool polled = std::exchange(current.polled, false);
  if (!(polled && current.laps >= kPatiencePolling) && current.laps < kPatienceLooping) return false;
  current.laps = 0;
  return true;
}

// All lanes of the current split are about to jump back.
void Warp::WatchLoop() {
  for (const Split& split : splits_) {
    if (split.state == Split::kReady && &split != &splits_[current_]) return;
  }
  LoopFacts facts = facts_;
  facts.reads += block_.outside();
  facts.changes = block_.changes();
  facts.carry = carry_;
  const LoopWatch::Verdict verdict = loop_.AtBackwardBranch(splits_[current_], facts);
  if (verdict == LoopWatch::kIdle) idle_since_ = block_.changes();
  if (verdict == LoopWatch::kEndless) block_.NoteEndless();
}

void Warp::WorldChanged() { loop_.WorldChanged(facts_.reads + block_.outside()); }

// The hash is a sum over bytes, so that it depends on the contents alone; bytes that are zero add nothing.
void Warp::NoteLocal(const uint8_t* from, const void* to, uint32_t bytes) {
  const auto* wanted = static_cast<const uint8_t*>(to);
  const uint64_t offset = static_cast<uint64_t>(from - local_.data());
  const uint64_t place = (offset / local_stride_) << 32 | offset % local_stride_;
  for (uint32_t k = 0; k < bytes; ++k) {
    if (from[k] == wanted[k]) continue;
    uint64_t key = (place + k + 1) * 0x9e3779b97f4a7c15u;
    key = ((key ^ (key >> 29)) * 0xbf58476d1ce4e5b9u) | 1;
    facts_.local += key * (uint64_t{wanted[k]} - from[k]);
  }
}

bool Warp::idle() const { return idle_since_ == block_.changes(); }

Flow Warp::Branch(uint32_t target) {
  Split& current = splits_[current_];
  const bool give_way = GiveWay(target);
  if (mask_ == current.mask) {
    if (watching_ && target <= current.pc) WatchLoop();
    current.pc = target;
    current.deferred |= give_way;
    return Flow::kRedirected;
  }
  Split taken = current;
  taken.mask = mask_;
  taken.pc = target;
  taken.deferred |= give_way;
  current.mask &= ~mask_;
  ++current.pc;
  splits_.push_back(taken);
  return Flow::kRedirected;
}

Flow Warp::BranchIndexed(const std::vector<uint32_t>& targets, const Operand& index) {
  const uint32_t* values = In<uint32_t>(index);
  Split original = splits_[current_];
  splits_[current_].mask &= ~mask_;
  ++splits_[current_].pc;
  for (uint32_t rest = mask_; rest != 0;) {
    const uint32_t value = values[std::countr_zero(rest)];
    uint32_t same = 0;
    for (uint32_t lanes = rest; lanes != 0; lanes &= lanes - 1) {
      const int lane = std::countr_zero(lanes);
      if (values[lane] == value) same |= 1u << lane;
    }
    if (value >= targets.size()) {
      return Fault(sassay::v1::VERDICT_CODE_ILLEGAL_INSTRUCTION, original.frame->code->insts[original.pc],
                   absl::StrCat("brx.idx with index ", value, " into a table of ", targets.size()),
                   std::countr_zero(rest));
    }
    original.mask = same;
    original.pc = targets[value];
    splits_.push_back(original);
    rest &= ~same;
  }
  std::erase_if(splits_, [](const Split& split) { return split.mask == 0; });
  current_ = 0;
  return Flow::kRedirected;
}

Flow Warp::Part(uint32_t first) {
  // Splits at one place would merge: the first group must run before anything else, so it is done here and now.
  Split rest = splits_[current_];
  rest.mask = splits_[current_].mask & ~(mask_ & first);
  const Inst& inst = rest.frame->code->insts[rest.pc];
  splits_[current_].mask = mask_ = mask_ & first;
  splits_.push_back(rest);
  return inst.run(*this, inst);
}

Flow Warp::Exit() {
  const uint32_t leaving = mask_;
  live_ &= ~leaving;
  Frame* frame = splits_[current_].frame;
  splits_[current_].mask &= ~leaving;
  ++splits_[current_].pc;
  while (frame != nullptr) {
    Frame* caller = frame->caller;
    LeaveFrame(frame, leaving);
    frame = caller;
  }
  std::erase_if(splits_, [](const Split& split) { return split.mask == 0; });
  current_ = 0;
  block_.LanesLeft();
  return Flow::kRedirected;
}

bool Warp::GrowLocal(uint32_t bytes) {
  if (bytes <= local_stride_) return true;
  if (bytes > kMaxLocalBytes) return false;
  const uint32_t stride = (std::max(bytes, std::min(local_stride_ * 2, kMaxLocalBytes)) + 15) / 16 * 16;
  const int64_t held = static_cast<int64_t>(stride) * kLanes * (checked_ ? 2 : 1);
  launch_->Hold(held - local_held_);
  local_held_ = held;
  auto widen = [&](std::vector<uint8_t>& memory, uint8_t fill) {
    std::vector<uint8_t> wider(static_cast<size_t>(stride) * kLanes, fill);
    for (int lane = 0; lane < kLanes && local_stride_ > 0; ++lane) {
      std::memcpy(&wider[static_cast<size_t>(lane) * stride], &memory[static_cast<size_t>(lane) * local_stride_],
                  local_stride_);
    }
    memory = std::move(wider);
  };
  widen(local_, 0);
  if (checked_) widen(local_unwritten_, 1);
  local_stride_ = stride;
  return true;
}

void Warp::CopyLocal(uint32_t from_base, const std::vector<LocalSlot>& from, uint32_t to_base,
                     const std::vector<LocalSlot>& to, uint32_t lanes) {
  for (size_t i = 0; i < std::min(from.size(), to.size()); ++i) {
    const uint32_t bytes = std::min(from[i].bytes, to[i].bytes);
    if (bytes == 0) continue;
    for (uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
      const int lane = std::countr_zero(rest);
      uint8_t* there = Local(lane) + to_base + to[i].offset;
      const uint8_t* here = Local(lane) + from_base + from[i].offset;
      NoteLocal(there, here, bytes);
      std::memcpy(there, here, bytes);
      if (!checked_) continue;
      std::memcpy(LocalUnwritten(lane) + to_base + to[i].offset, LocalUnwritten(lane) + from_base + from[i].offset,
                  bytes);
    }
  }
}

Flow Warp::Call(const Inst& inst, const Code& callee, const std::vector<LocalSlot>& arguments) {
  Frame* caller = splits_[current_].frame;
  const uint32_t base = (caller->local_base + caller->code->local_bytes + 15) / 16 * 16;
  const uint64_t callee_bytes = caller->callee_bytes + callee.register_bytes;
  if (caller->depth >= kMaxCallDepth || callee_bytes > kMaxCalleeRegisterBytes + kSinkBytes ||
      !GrowLocal(base + callee.local_bytes)) {
    return Fault(sassay::v1::VERDICT_CODE_LAUNCH_FAILED, inst,
                 absl::StrCat("stack overflow: call of ", callee.name, " at depth ", caller->depth + 1, " with ", base,
                              " bytes of local memory in use"),
                 std::countr_zero(mask_));
  }
  Frame* frame = NewFrame(callee);
  frame->caller = caller;
  frame->call = &inst;
  frame->depth = caller->depth + 1;
  frame->callee_bytes = callee_bytes;
  frame->return_pc = splits_[current_].pc + 1;
  frame->lanes = mask_;
  frame->local_base = base;
  for (uint32_t rest = checked_ && callee.local_bytes > 0 ? mask_ : 0; rest != 0; rest &= rest - 1) {
    std::memset(LocalUnwritten(std::countr_zero(rest)) + base, 1, callee.local_bytes);
  }
  CopyLocal(caller->local_base, arguments, base, callee.parameters, mask_);
  Split inside = splits_[current_];
  inside.frame = frame;
  inside.pc = 0;
  inside.mask = mask_;
  splits_[current_].mask &= ~mask_;
  ++splits_[current_].pc;
  splits_.push_back(inside);
  std::erase_if(splits_, [](const Split& split) { return split.mask == 0; });
  current_ = 0;
  return Flow::kRedirected;
}

Flow Warp::Return(const std::vector<LocalSlot>* results_of_call) {
  Frame* frame = splits_[current_].frame;
  if (frame->caller == nullptr) return Exit();
  if (results_of_call != nullptr) {
    CopyLocal(frame->local_base, frame->code->returns, frame->caller->local_base, *results_of_call, mask_);
  }
  Split back = splits_[current_];
  back.frame = frame->caller;
  back.pc = frame->return_pc;
  back.mask = mask_;
  splits_[current_].mask &= ~mask_;
  ++splits_[current_].pc;
  splits_.push_back(back);
  LeaveFrame(frame, mask_);
  std::erase_if(splits_, [](const Split& split) { return split.mask == 0; });
  current_ = 0;
  return Flow::kRedirected;
}

Flow Warp::WaitAtBarrier(uint32_t barrier) {
  splits_[current_].state = Split::kBarrier;
  splits_[current_].barrier = barrier;
  return Flow::kBlocked;
}

Flow Warp::WaitForUnit() {
  splits_[current_].state = Split::kUnit;
  if (launch_->counted) {  // it counts when it runs again
    Count& count = block_.counts()[InstOf(splits_[current_]).id];
    --count.warps;
    count.threads -= std::popcount(mask_);
  }
  return Flow::kBlocked;
}

void Warp::WakeUnits() {
  for (Split& split : splits_) {
    if (split.state != Split::kUnit) continue;
    split.state = Split::kReady;
    blocked_ = false;
  }
}

void Warp::Release(uint32_t barrier, uint32_t popc, bool all, bool any) {
  for (Split& split : splits_) {
    if (split.state != Split::kBarrier || split.barrier != barrier) continue;
    const Inst& inst = split.frame->code->insts[split.pc];
    if (inst.destinations == 1) {
      uint8_t* out = split.frame->registers.data() + inst.o[0].offset;
      if (inst.o[0].bytes == 0) {
        uint32_t value;
        std::memcpy(&value, out, sizeof(value));
        value = (inst.a == 1 ? all : any) ? value | split.mask : value & ~split.mask;
        std::memcpy(out, &value, sizeof(value));
      } else {
        for (uint32_t rest = split.mask; rest != 0; rest &= rest - 1) {
          std::memcpy(out + std::countr_zero(rest) * 4, &popc, sizeof(popc));
        }
      }
    }
    split.state = Split::kReady;
    ++split.pc;
  }
  blocked_ = false;
}

Flow Warp::WaitAtMbarrier(uint32_t offset, bool odd) {
  Split& split = splits_[current_];
  split.state = Split::kMbarrier;
  split.barrier = offset;
  split.wanted = odd ? 1 : 0;
  return Flow::kBlocked;
}

void Warp::WakeAtMbarrier(uint32_t offset) {
  for (Split& split : splits_) {
    if (split.state != Split::kMbarrier || split.barrier != offset) continue;
    split.state = Split::kReady;
    blocked_ = false;
  }
}

bool Warp::TimeOutAtMbarriers() {
  bool any = false;
  for (Split& split : splits_) {
    if (split.state != Split::kMbarrier) continue;
    split.state = Split::kReady;
    split.timed_out = any = true;
    blocked_ = false;
  }
  return any;
}

Place Warp::PlaceOf(const Inst& inst, int lane) const {
  return Place{block_.index(), index_ * kLanes + static_cast<uint32_t>(lane), inst.id};
}

Flow Warp::Fault(sassay::v1::VerdictCode code, const Inst& inst, std::string message, int lane) {
  Misuse misuse;
  misuse.code = code;
  misuse.message = std::move(message);
  misuse.where = PlaceOf(inst, lane);
  launch_->Fault(std::move(misuse));
  return Flow::kRedirected;
}

Flow Warp::Fail(absl::Status status) {
  launch_->Fail(std::move(status));
  return Flow::kRedirected;
}

void Warp::Taint(const Operand& operand, uint32_t lanes, const Inst& inst) { Taint(operand, lanes, inst.id); }

void Warp::Taint(const Operand& operand, uint32_t lanes, uint32_t origin) {
  if (operand.index == ptx::kNoIndex) return;
  Frame& frame = *splits_[current_].frame;
  uint32_t& tainted = frame.tainted[operand.index];
  tainted = (tainted & ~mask_) | (lanes & mask_);
  if ((lanes & mask_) == 0) return;
  frame.taint_origin[operand.index] = origin;
  any_taint_ = true;
}

uint32_t Warp::Tainted(const Operand& operand) const {
  if (operand.index == ptx::kNoIndex || !any_taint_) return 0;
  return splits_[current_].frame->tainted[operand.index];
}

uint32_t Warp::TaintOrigin(const Operand& operand) const {
  return operand.index == ptx::kNoIndex ? 0 : splits_[current_].frame->taint_origin[operand.index];
}

// A way chosen by what global memory never held is a finding; shared memory's leftovers may steer lanes that do not
// count.
void Warp::CheckBranch(const Inst& inst) {
  const Frame& frame = *splits_[current_].frame;
  const uint32_t tainted = frame.tainted[inst.guard_index] & splits_[current_].mask;
  const uint32_t origin = frame.taint_origin[inst.guard_index];
  if (tainted != 0 && OriginOf(origin).global)
    ReportUninitialized(*this, inst, origin, tainted, "what a branch depends on");
}

// A result is as uninitialised as what it was made of, lane by lane.
void Warp::PropagateTaint(const Inst& inst) {
  if ((inst.flags & kTaintOwn) != 0) return;
  uint32_t lanes = 0, origin = 0;
  for (int i = 0; i < inst.sources && (inst.flags & kTaintStops) == 0; ++i) {
    const Operand& source = inst.o[inst.destinations + i];
    const uint32_t tainted = Tainted(source);
    if (tainted != 0) origin = TaintOrigin(source);
    lanes |= tainted;
  }
  for (int i = 0; i < inst.destinations; ++i) Taint(inst.o[i], lanes, origin);
}

}  // namespace sassay::emulator
