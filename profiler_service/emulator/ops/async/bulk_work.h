// Copies of TMA that are under way: into shared memory, told to an mbarrier, and out of it, in groups of their thread.
#ifndef SASSAY_PROFILER_SERVICE_EMULATOR_OPS_ASYNC_BULK_WORK_H_
#define SASSAY_PROFILER_SERVICE_EMULATOR_OPS_ASYNC_BULK_WORK_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "profiler_service/emulator/descriptor/shared_matrix.h"
#include "profiler_service/emulator/exec/async/mbarriers.h"
#include "profiler_service/emulator/exec/block.h"
#include "profiler_service/emulator/ops/memory/reduction.h"

namespace sassay::emulator {

// Counts what copies hold of host memory, against one limit for the launch.
class HeldCopies {
 public:
  static constexpr int64_t kMost = int64_t{1} << 22;  // rows of all copies under way
  HeldCopies() = default;
  HeldCopies(HeldCopies&& other) noexcept { *this = std::move(other); }
  HeldCopies& operator=(HeldCopies&& other) noexcept {
    std::swap(launch_, other.launch_);
    std::swap(count_, other.count_);
    return *this;
  }
  ~HeldCopies() {
    if (launch_ != nullptr) launch_->copies_under_way -= count_;
  }
  // False if the launch holds too much.
  bool Hold(LaunchContext& launch, int64_t count) {
    launch_ = &launch;
    count_ = count;
    return (launch.copies_under_way += count) <= kMost;
  }

 private:
  LaunchContext* launch_ = nullptr;
  int64_t count_ = 0;
};

// Bytes [begin, end) of a row of 16-byte pieces at `offset` of shared memory (before the swizzle), and where they lie
// in global memory. The other bytes of the row lie outside of the tensor. Pointers stay valid: memory does not move
// during a launch.
struct BulkRow {
  uint32_t offset = 0, bytes = 0;
  uint32_t begin = 0, end = 0;
  uint8_t* global = nullptr;
  uint8_t* unwritten = nullptr;  // checked launches
  bool input = false;
};

// What a copy moves, by whom it was asked for, and how.
struct BulkTransfer {
  std::vector<BulkRow> rows;
  Swizzle swizzle = Swizzle::kNone;
  bool by_map = false;  // of a tensor
  uint32_t bytes = 0;   // of all rows, those outside of the tensor too
  uint64_t fill = 0;    // eight bytes of what stands for bytes outside
  bool reduces = false;
  Reduction reduction;
  const Inst* inst = nullptr;
  uint32_t warp = 0;
  int lane = 0;
  Past cause;  // checked launches
  HeldCopies held;

  // Where 16-byte piece `piece` of `row` lies in the shared memory of a block.
  uint32_t PieceAt(const BulkRow& row, uint32_t piece) const {
    return SwizzleAddress(kSharedBase + row.offset + 16 * piece, swizzle) - kSharedBase;
  }
};

// Into the shared memory of one block; it signals a barrier there, or in the other block of its pair.
class BulkLoad : public AsyncWork {
 public:
  // `barrier`: an offset in the shared memory of the block that finishes it. `asked_by`: whose warp asked.
  BulkLoad(std::shared_ptr<const BulkTransfer> transfer, Block& into, Block& asked_by, uint32_t barrier)
      : transfer_(std::move(transfer)), into_(into), asked_by_(asked_by), barrier_(barrier) {}
  // Checked launches: from now on these bytes may change at any time.
  void Begin(Warp& warp) const;
  void Finish(Block& signals) override;

 private:
  void Land(const BulkRow& row) const;

  std::shared_ptr<const BulkTransfer> transfer_;
  Block& into_;
  Block& asked_by_;
  const uint32_t barrier_;
};

// Per thread: stores since its last commit, and its groups, oldest first. A store happens when it is waited for, even
// if only its reads are, or when its block has ended.
class BulkGroups : public BlockExtension {
 public:
  static constexpr size_t kMost = 4096;  // groups of a thread, and stores of a group

  // Both: false if there are too many.
  bool Add(Warp& warp, BulkTransfer store);
  bool Commit(Warp& warp, int lane);
  // Until at most `stay` groups are under way.
  void Wait(Warp& warp, int lane, size_t stay);
  void BlockEnds(Block& block) override;

 private:
  struct Groups {
    std::vector<BulkTransfer> open;
    std::vector<std::vector<BulkTransfer>> committed;
  };
  Groups& Of(Warp& warp, int lane);
  static void Store(Warp& warp, const BulkTransfer& store);

  std::vector<Groups> groups_;
};

}  // namespace sassay::emulator

#endif  // SASSAY_PROFILER_SERVICE_EMULATOR_OPS_ASYNC_BULK_WORK_H_
