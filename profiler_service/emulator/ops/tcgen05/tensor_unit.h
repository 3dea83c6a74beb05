// What tcgen05 keeps per block: tensor memory, and what its instructions have under way there.
#ifndef SASSAY_PROFILER_SERVICE_EMULATOR_OPS_TCGEN05_TENSOR_UNIT_H_
#define SASSAY_PROFILER_SERVICE_EMULATOR_OPS_TCGEN05_TENSOR_UNIT_H_

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "profiler_service/emulator/exec/block.h"
#include "profiler_service/emulator/exec/decoder.h"
#include "profiler_service/emulator/exec/warp.h"
#include "profiler_service/emulator/memory/tensor_memory.h"

namespace sassay::emulator {

// What the tensor core has been asked to do and has not done yet: mma, cp.
struct TensorOperation {
  absl::string_view name;  // "tcgen05.mma"
  Place where;             // who asked
  bool of_pair = false;    // it works on the same regions of both blocks' tensor memory
  std::vector<TensorRegion> writes, reads;
  std::function<void()> run;
};

// An allocation for a pair that waits for the other block's warp.
struct PairRequest {
  uint32_t columns = 0, warp = 0;
  Place where;
};

// Life cycle: from a block's first tcgen05 instruction to its end; columns that are still held then are a finding.
// Thread-compatible, as its block is. A block has all 512 columns to itself: blocks that would share a multiprocessor
// never wait for each other's columns here.
//
// Operations are done as late as an honest kernel could notice: when somebody looks at the mbarrier of the commit that
// covers them. Code that does not wait finds what was there before, and a checked launch says so. Operations of one
// thread are done in the order in which it asked for them, which is more than the ISA promises (9.7.16.6.2).
//
// Pairs (.cta_group::2): an operation stands in the queue of the block whose thread asked for it, and each unit looks
// into its peer's queue as well. Clocks are a block's own: of what threads of the other block did, a checked launch
// knows operations and transfers that nobody has waited for, but no order.
class TensorUnit : public BlockExtension {
 public:
  static TensorUnit& Of(Warp& warp) { return Of(warp.block()); }
  static TensorUnit& Of(Block& block);

  std::string Waiting(uint32_t warp) const override { return waiting_[warp]; }
  void BlockEnds(Block& block) override;

  TensorMemory& memory() { return *memory_; }
  bool checked() const { return checked_; }

  // ---- the right to allocate (tcgen05.relinquish_alloc_permit) ----
  bool relinquished() const { return relinquished_; }
  void Relinquish() { relinquished_ = true; }
  uint32_t last_columns() const { return last_columns_; }
  void NoteAllocation(uint32_t columns) { last_columns_ = columns; }

  // ---- which blocks work together ----
  // What is wrong about an instruction of this .cta_group here, or nothing. From then on the block keeps to that group.
  // `needs_peer`: the other block of the pair must still be there.
  std::string Enter(Warp& warp, const Inst& inst, uint32_t group, bool needs_peer, Place& first);
  // The other block of the pair: null if the block has none, or has not entered one.
  Block* peer() const { return peer_; }
  // Whose memories an operation of this group works on: the block's own, or those of the even and the odd block.
  std::vector<Block*> Sides(Block& own, uint32_t group) const;
  std::optional<PairRequest>& pair_request() { return pair_request_; }
  std::optional<uint32_t>& pair_grant() { return pair_grant_; }

  void SetWaiting(uint32_t warp, std::string what) { waiting_[warp] = std::move(what); }

  // ---- what is under way ----
  // Notes what is wrong about the moment (checked launches), then queues the operation.
  void Issue(Warp& warp, const Inst& inst, TensorOperation operation);
  // How many have been issued so far.
  uint64_t issued() const { return finished_ + operations_.size(); }
  // Does those among the first `count` that `thread` asked for.
  void Finish(uint32_t thread, uint64_t count);
  // ld and st in checked launches: reports what they meet, and remembers them until the warp waits.
  // True: an operation that is under way will write what is loaded.
  bool NoteLoad(Warp& warp, const Inst& inst, const TensorRegion& region);
  void NoteStore(Warp& warp, const Inst& inst, const TensorRegion& region);
  void WaitLoads(uint32_t warp) { loads_[warp].clear(); }
  void WaitStores(uint32_t warp) { stores_[warp].clear(); }
  // The operation that still works on the region, or null.
  const TensorOperation* UnderWay(const TensorRegion& region, bool writes) const;

 private:
  // A ld or st that its warp has not waited for.
  struct Transfer {
    Place where;
    TensorRegion region;
  };
  // Who last wrote, and who last read, sixteen lanes of a column.
  struct History {
    Touch write, read[2];
  };
  static constexpr uint32_t kHistoryLanes = 16;
  static constexpr size_t kMostUnderWay = 1024;

  History& At(uint32_t lane, uint32_t column) { return history_[lane / kHistoryLanes * kTensorColumns + column]; }
  const TensorUnit* PeerUnit() const;
  const TensorOperation* Queued(const TensorRegion& region, bool writes, bool of_pair) const;
  const Transfer* Unwaited(const std::array<std::vector<Transfer>, kMaxWarps>& transfers,
                           const TensorRegion& region) const;
  // True: reported.
  bool MeetsOperation(Warp& warp, const Inst& inst, const TensorRegion& region, bool writes, absl::string_view what);
  bool MeetsTransfer(Warp& warp, const Inst& inst, const TensorRegion& region, bool writes, absl::string_view what);
  bool MeetsUnordered(Warp& warp, const Inst& inst, const TensorRegion& region, bool writes, absl::string_view what);
  bool Check(Warp& warp, const Inst& inst, const TensorRegion& region, bool writes, absl::string_view what);
  void CheckOperation(Warp& warp, const Inst& inst, const TensorOperation& operation);
  void Remember(Warp& warp, const Inst& inst, const TensorRegion& region, bool writes);

  std::deque<TensorOperation> operations_;
  uint64_t finished_ = 0;  // those that have left the queue's front
  std::array<std::vector<Transfer>, kMaxWarps> loads_, stores_;
  std::vector<History> history_;  // checked launches
  std::unique_ptr<TensorMemory> memory_;
  bool checked_ = false;
  bool relinquished_ = false;
  uint32_t last_columns_ = kTensorColumns;
  uint32_t group_ = 0;  // .cta_group; 0: none yet
  Place first_;         // who said so
  Block* peer_ = nullptr;
  std::optional<PairRequest> pair_request_;
  std::optional<uint32_t> pair_grant_;  // the column; the waiting warp is to take it
  std::array<std::string, kMaxWarps> waiting_;
};

// ---- for handlers ----

// The candidate breaks a rule: a finding in checked launches, which go on without the instruction; otherwise the fault
// that hardware would have raised, or undefined behaviour, which ends the launch as well. `other`: where kOtherPlace of
// the message is; null if it names none.
Flow Reject(Warp& warp, const Inst& inst, sassay::v1::VerdictCode code, std::string message,
            const Place* other = nullptr);

// TensorUnit::Enter, and Reject if something is wrong; false: return `flow`.
bool EnterGroup(Warp& warp, const Inst& inst, uint32_t group, bool needs_peer, Flow& flow);

// The value of a source that all lanes must have alike; false if they do not.
bool Uniform(Warp& warp, const Operand& operand, uint32_t& value);

// The address of `inst`'s operand in tensor memory, alike in all lanes.
bool UniformTensorAddress(Warp& warp, const Inst& inst, const Operand& operand, TensorAddress& address);

// "columns 32 to 63", "column 5".
std::string Columns(uint32_t first, uint32_t count);

// Decodes cta_group, which all but ld, st, wait and fence have: 1 or 2; 0 if there is none.
uint32_t CtaGroup(const Decoder& decoder);

absl::Status DecodeAllocate(Decoder& decoder);
absl::Status DecodeDeallocate(Decoder& decoder);
absl::Status DecodeRelinquish(Decoder& decoder);
absl::Status DecodeTensorLoad(Decoder& decoder);
absl::Status DecodeTensorStore(Decoder& decoder);
absl::Status DecodeTensorWait(Decoder& decoder);
absl::Status DecodeTensorFence(Decoder& decoder);
absl::Status DecodeMultiply(Decoder& decoder);
absl::Status DecodeCommit(Decoder& decoder);
absl::Status DecodeTensorCopy(Decoder& decoder);

}  // namespace sassay::emulator

#endif  // SASSAY_PROFILER_SERVICE_EMULATOR_OPS_TCGEN05_TENSOR_UNIT_H_
