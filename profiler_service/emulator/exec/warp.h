// One warp: 32 lanes that run one instruction at a time, and split when they disagree about the way.
#ifndef SASSAY_PROFILER_SERVICE_EMULATOR_EXEC_WARP_H_
#define SASSAY_PROFILER_SERVICE_EMULATOR_EXEC_WARP_H_

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "profiler_service/emulator/exec/launch_context.h"
#include "profiler_service/emulator/exec/loop_watch.h"
#include "profiler_service/emulator/exec/program.h"

namespace sassay::emulator {

class Block;

// A thread's stack, as CUDA's own limit allows, and the depth of calls.
inline constexpr uint32_t kMaxLocalBytes = 512 << 10;
inline constexpr uint32_t kMaxCallDepth = 256;
inline constexpr uint64_t kMaxCalleeRegisterBytes = 16 << 20;  // of the functions that a lane is inside of

// Units that work on registers while the warp goes on.
enum class AsyncUnit : uint8_t { kNone, kTensorLoad, kWgmma };

// What a unit does with a register until it has been waited for.
struct RegisterWork {
  uint32_t inst = 0;    // Inst::id
  uint32_t ticket = 0;  // a wait ends all work of its unit up to a ticket
  AsyncUnit unit = AsyncUnit::kNone;
  bool written = false;  // else read: others may read it as well
};

// One activation of a function by some lanes: registers, and where its local memory begins in each thread's stack.
// Lanes that call together share a frame; it dies when the last of them has returned.
struct Frame {
  const Code* code = nullptr;
  std::vector<uint8_t> registers;
  std::vector<uint32_t> tainted;        // checked: per register, lanes that hold a never written value
  std::vector<uint32_t> taint_origin;   // checked: per register, Inst::id of the load that brought it
  std::vector<RegisterWork> under_way;  // checked: per register; empty until a unit works on one
  Frame* caller = nullptr;
  const Inst* call = nullptr;
  uint32_t return_pc = 0;
  uint32_t lanes = 0;
  uint32_t local_base = 0;
  uint32_t depth = 0;
  uint64_t held_bytes = 0;    // counted by LaunchContext::Hold
  uint64_t callee_bytes = 0;  // registers of this frame and its callers, but for the kernel's own
};

// Lanes that are at one place.
struct Split {
  enum State : uint8_t {
    kReady,
    kBarrier,   // waits at block barrier `barrier`
    kWarpSync,  // waits for the lanes in `wanted`
    kUnit,      // waits until a unit of the multiprocessor has something for it
    kMbarrier,  // waits for the mbarrier at offset `barrier` of shared memory; `wanted`: the phase's parity
  };
  Frame* frame = nullptr;
  uint32_t pc = 0;
  uint32_t mask = 0;
  State state = kReady;
  bool deferred = false;   // it polls: let the others go first
  bool forced = false;     // its missing lanes will never come: go on without
  bool polled = false;     // has polled since its last backward branch
  bool timed_out = false;  // its wait at an mbarrier returns without success
  bool meets = false;      // waits at a bar.warp.sync, where lanes meet from different places
  uint32_t barrier = 0;
  uint32_t wanted = 0;
  uint32_t laps = 0;  // backward branches since it last gave way
};

// Divergence. Lanes at one place form a split. Of the splits that can run, the one deepest in calls and then lowest in
// the text goes first, so that splits meet again where the text joins; splits at one place merge. As on Volta and
// later, every split makes progress: one that polls (atomics, volatile or acquire loads, nanosleep in a loop) or loops
// for very long gives way to the others, so spin locks between lanes of one warp end. `.sync` instructions wait until
// the lanes they name have arrived; those that only ask for the same qualifiers and member mask (shfl, vote, match,
// redux, elect, bar.warp.sync) meet from different places. If lanes can never arrive the present ones go on alone, so
// that the run ends, and a checked launch reports it. The order depends on the program alone: runs are deterministic
// within a block.
//
// Life cycle: Start, then Run until done; reusable. Thread-compatible.
class Warp {
 public:
  enum class Result : uint8_t { kRan, kPolling, kBlocked, kDone, kStopped };

  explicit Warp(Block& block) : block_(block) {}

  void Start(LaunchContext& launch, uint32_t index, uint32_t lanes);
  Result Run(uint32_t budget);
  bool done() const { return live_ == 0; }

  // ---- for handlers ----

  uint32_t mask() const { return mask_; }
  // For a handler that makes one access for some of its lanes only; it puts the mask back.
  void SetMask(uint32_t mask) { mask_ = mask; }
  uint32_t live() const { return live_; }
  uint32_t index() const { return index_; }
  Block& block() { return block_; }
  LaunchContext& launch() { return *launch_; }
  bool checked() const { return checked_; }
  Split& split() { return splits_[current_]; }
  Frame& frame() { return *splits_[current_].frame; }
  const std::vector<Split>& splits() const { return splits_; }
  uint32_t ThreadOf(int lane) const { return index_ * kLanes + static_cast<uint32_t>(lane); }

  template <class T>
  const T* In(const Operand& operand) const {
    return reinterpret_cast<const T*>(base_[operand.pool] + operand.offset);
  }
  template <class T>
  T* Out(const Operand& operand) {
    return reinterpret_cast<T*>(base_[0] + operand.offset);
  }
  uint32_t PredicateIn(const Operand& operand) const {
    const uint32_t value = *In<uint32_t>(operand);
    return operand.negated ? ~value : value;
  }
  // Writes the lanes of mask().
  void SetPredicate(const Operand& operand, uint32_t value) {
    uint32_t* out = Out<uint32_t>(operand);
    *out = (*out & ~mask_) | (value & mask_);
  }
  // One lane's value, zero-extended, whatever its size up to 8 bytes; and its writing, cut to size.
  uint64_t Lane(const Operand& operand, int lane) const {
    uint64_t value = 0;
    std::memcpy(&value, base_[operand.pool] + operand.offset + lane * operand.bytes, operand.bytes);
    return value;
  }
  void SetLane(const Operand& operand, int lane, uint64_t value) {
    std::memcpy(base_[0] + operand.offset + lane * operand.bytes, &value, operand.bytes);
  }

  // The carry flag of add.cc and its kin, one bit per lane.
  uint32_t carry() const { return carry_; }
  void SetCarry(int lane, bool value) { carry_ = (carry_ & ~(1u << lane)) | (uint32_t{value} << lane); }

  // Local memory of one thread: a stack that grows by frames.
  uint8_t* Local(int lane) { return local_.data() + static_cast<size_t>(lane) * local_stride_; }
  uint8_t* LocalUnwritten(int lane) {
    return local_unwritten_.empty() ? nullptr : local_unwritten_.data() + static_cast<size_t>(lane) * local_stride_;
  }
  uint32_t LocalEnd() const { return splits_[current_].frame->local_base + splits_[current_].frame->code->local_bytes; }

  // The lanes of mask() go to `target`, the others to the next instruction.
  Flow Branch(uint32_t target);
  Flow BranchIndexed(const std::vector<uint32_t>& targets, const Operand& index);
  Flow Exit();
  // The lanes of mask() that are not in `first` become a split of their own at the same instruction; both run it again.
  Flow Part(uint32_t first);
  // Enters `callee`; arguments and results are the caller's local slots.
  Flow Call(const Inst& inst, const Code& callee, const std::vector<LocalSlot>& arguments);
  Flow Return(const std::vector<LocalSlot>* results_of_call);
  // Whether the lanes that `members` names are all here; if not the split waits: return Flow::kBlocked. Where the
  // instruction kJoins, lanes that wait at others of its kind count, too.
  bool Gathered(uint32_t members);
  // The same for bar.warp.sync, which lanes may reach at different places of the program (PTX ISA, sm_70 and later).
  bool Met(uint32_t members);
  // The split waits at a barrier of the block.
  Flow WaitAtBarrier(uint32_t barrier);
  // The split runs its instruction again after the next Block::WakeUnits.
  Flow WaitForUnit();
  // The split waits until the phase of this parity is over at an mbarrier; then, or when the wait times out, it runs
  // this instruction again.
  Flow WaitAtMbarrier(uint32_t offset, bool odd);
  // For the proof of endless loops: the lanes have read memory that others may change; `bytes` bytes of a lane's local
  // memory are about to become those at `to`. Changes of memory that others see, and whatever else no register holds,
  // are the block's to know (Block::NoteChange, NoteOutside).
  void NoteRead() { ++facts_.reads; }
  void NoteLocal(const uint8_t* from, const void* to, uint32_t bytes);
  // Whether the warp is known to go round in a circle while the block stands as it does.
  bool idle() const;
  // Other blocks may have changed memory unseen.
  void WorldChanged();

  // Ends the launch by the candidate's fault; the message is the finding's.
  Flow Fault(sassay::v1::VerdictCode code, const Inst& inst, std::string message, int lane);
  // Ends the launch by ours.
  Flow Fail(absl::Status status);

  // Moves every split that waits at `barrier` past it. For the block.
  void Release(uint32_t barrier, uint32_t popc, bool all, bool any);
  void WakeUnits();
  void WakeAtMbarrier(uint32_t offset);
  // Whether any split waited.
  bool TimeOutAtMbarriers();
  // Runnable again after something outside the warp changed.
  bool blocked() const { return blocked_; }

  Place PlaceOf(const Inst& inst, int lane) const;

  // Registers that a unit works on (checked launches): until EndRegisters, touching one is a finding, but for
  // instructions that are kRegistersOwn. `written`: the unit writes it; else it reads it.
  void BeginRegister(const Operand& operand, AsyncUnit unit, uint32_t ticket, const Inst& inst, bool written);
  void EndRegisters(AsyncUnit unit, uint32_t up_to);

  // Uninitialised values (checked launches). Marks `lanes` of a register as never written, brought by `inst`.
  void Taint(const Operand& operand, uint32_t lanes, const Inst& inst);
  void Taint(const Operand& operand, uint32_t lanes, uint32_t origin);
  uint32_t Tainted(const Operand& operand) const;
  uint32_t TaintOrigin(const Operand& operand) const;
  bool any_taint() const { return any_taint_; }
  // Where a never written value came from.
  struct Origin {
    std::string buffer;
    bool global = false;
  };
  void NoteOrigin(uint32_t inst, Origin origin) { origins_.try_emplace(inst, std::move(origin)); }
  Origin OriginOf(uint32_t inst) const {
    const auto known = origins_.find(inst);
    return known == origins_.end() ? Origin() : known->second;
  }

 private:
  template <bool kChecked, bool kCounted>
  Result Loop(uint32_t budget);
  bool Select();
  void MergeSplits();
  bool WakeGathered();
  bool WakeMet();
  bool RunJoined();
  void Join(const std::vector<size_t>& together, uint32_t present);
  const Inst& InstOf(const Split& split) const;
  bool ForceProgress();
  int Best(bool deferred) const;
  void ChooseMergePoint();
  void Divide(uint32_t mask);
  Frame* NewFrame(const Code& code);
  void LeaveFrame(Frame* frame, uint32_t lanes);
  bool GrowLocal(uint32_t bytes);
  void CopyLocal(uint32_t from_base, const std::vector<LocalSlot>& from, uint32_t to_base,
                 const std::vector<LocalSlot>& to, uint32_t lanes);
  bool GiveWay(uint32_t target);
  void WatchLoop();
  void PropagateTaint(const Inst& inst);
  void CheckBranch(const Inst& inst);
  void CheckRegisters(const Inst& inst);
  void ReportRegister(const Inst& inst, const RegisterWork& work);

  Block& block_;
  LaunchContext* launch_ = nullptr;
  uint8_t* base_[2] = {nullptr, nullptr};
  uint32_t mask_ = 0;
  uint32_t live_ = 0;
  uint32_t index_ = 0;
  uint32_t carry_ = 0;
  size_t current_ = 0;
  uint32_t merge_pc_ = ptx::kNoIndex;
  bool checked_ = false;
  bool blocked_ = false;
  bool polling_ = false;
  bool any_taint_ = false;
  bool registers_under_way_ = false;
  bool watching_ = false;
  LoopFacts facts_;
  LoopWatch loop_;
  uint64_t idle_since_ = 0;  // Block::changes() when it was found going round
  std::vector<Split> splits_;
  absl::flat_hash_map<uint32_t, Origin> origins_;
  std::vector<std::unique_ptr<Frame>> frames_;
  std::vector<Frame*> free_frames_;
  std::vector<uint8_t> local_, local_unwritten_;
  uint32_t local_stride_ = 0;
  int64_t local_held_ = 0;  // counted by LaunchContext::Hold
};

}  // namespace sassay::emulator

#endif  // SASSAY_PROFILER_SERVICE_EMULATOR_EXEC_WARP_H_
