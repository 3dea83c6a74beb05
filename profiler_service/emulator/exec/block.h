// One block: its warps, its shared memory, its barriers, and the order in which the warps take turns.
#ifndef SASSAY_PROFILER_SERVICE_EMULATOR_EXEC_BLOCK_H_
#define SASSAY_PROFILER_SERVICE_EMULATOR_EXEC_BLOCK_H_

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <typeindex>
#include <unordered_map>
#include <vector>

#include "profiler_service/emulator/exec/async/mbarriers.h"
#include "profiler_service/emulator/exec/launch_context.h"
#include "profiler_service/emulator/exec/warp.h"
#include "profiler_service/emulator/memory/copies.h"
#include "profiler_service/emulator/memory/shared_memory.h"

namespace sassay::emulator {

class Cluster;

// State that a family of instructions keeps per block (async-copy groups, mbarriers, tensor memory). Made on first use.
class BlockExtension {
 public:
  virtual ~BlockExtension() = default;
  // A sentence about what warp `warp` waits for here; empty if nothing.
  virtual std::string Waiting(uint32_t warp) const { return ""; }
  // Every thread of the block has exited: what must not be left behind is reported here.
  virtual void BlockEnds(Block& block) {}
};

// Life cycle: Start for one block of a launch, then Run until it is done; reusable for the next block.
// Thread-compatible; it may move between threads from one Run to the next.
class Block {
 public:
  static constexpr int kBarriers = 16;

  enum class Result : uint8_t {
    kDone,
    kYielded,     // alive, but it waits for other blocks
    kHadShare,    // alive, and it could go on at once
    kDeadlocked,  // no warp can ever go on
    kEndless,     // a warp goes round in a circle for ever
    kStopped,     // the launch was stopped
  };

  Block() = default;
  // `index`: in the grid; `rank`: in its cluster; `past`: SharedMemory::Life.
  void Start(LaunchContext& launch, uint64_t index, Cluster& cluster, uint32_t rank, uint32_t past);
  // Runs until every warp waits, or for about `turns` turns of 2^14 instructions. `undisturbed`: no other block has
  // changed memory since the last share began.
  Result Run(uint32_t turns, bool undisturbed);

  LaunchContext& launch() { return *launch_; }
  SharedMemory& shared() { return shared_; }
  CopiesUnderWay& copies() { return copies_; }  // checked launches
  Mbarriers& mbarriers() { return mbarriers_; }
  uint64_t index() const { return index_; }
  const Extent& position() const { return position_; }  // blockIdx
  Cluster& cluster() { return *cluster_; }
  uint32_t rank() const { return rank_; }  // in its cluster
  uint32_t threads() const { return threads_; }
  const std::vector<std::unique_ptr<Warp>>& warps() const { return warps_; }
  uint32_t warp_count() const { return warp_count_; }
  std::vector<Count>& counts() { return counts_; }
  // The last allocation that an instruction touched, by a hash of the instruction: saves the search.
  const Allocation*& Hint(uint32_t inst) { return hints_[inst % hints_.size()]; }

  template <class T>
  T& Extension() {
    NoteOutside();
    auto& slot = extensions_[std::type_index(typeid(T))];
    if (slot == nullptr) slot = std::make_unique<T>();
    return static_cast<T&>(*slot);
  }

  // ---- the proof of endless loops (loop_watch.h) ----

  bool watching() const { return watching_; }
  uint64_t changes() const { return changes_; }
  // Counts whatever may let somebody go on who waited.
  uint64_t progress() const { return progress_; }
  uint64_t outside() const { return outside_; }
  // Memory that other warps may see has changed.
  void NoteChange() { ++changes_, ++progress_; }
  // Something has happened that no snapshot of a warp holds: a barrier, state of an extension; and what is no progress
  // by itself, a look at the clock or lanes that meet.
  void NoteOutside() { ++changes_, ++outside_, ++progress_; }
  void NoteOutsideIdly() { ++changes_, ++outside_; }
  // A warp will never leave its loop.
  void NoteEndless() { endless_ = true; }
  // Whether the last Run changed nothing that others may see; and whether it has shown, besides, that every warp that
  // can run goes round in a circle for as long as nobody else changes anything.
  bool clean() const { return changes_ == share_began_; }
  bool idle() const;

  // ---- barriers ----

  // Lanes of `warp` arrive at barrier `id`; `wanted` threads complete it, 0 for the whole block. Whoever waits also
  // calls Warp::WaitAtBarrier. `votes` are the lanes whose predicate was true (barrier.red).
  void Arrive(Warp& warp, uint32_t id, uint32_t wanted, uint32_t lanes, bool waits, uint32_t votes);
  // Lanes have exited: barriers may have become complete.
  void LanesLeft();
  // What splits wait for in Warp::WaitForUnit may have come: they look again.
  void WakeUnits();
  // The phase of the mbarrier at `offset` is over.
  void WakeAtMbarrier(uint32_t offset);
  // Of a deadlock: why those who wait at mbarriers wait for ever, in one sentence; empty if nobody waits at one.
  Mbarriers::Cause MbarrierCause() const;

  // "offset 16 of full": a place in shared memory as its author knows it.
  std::string NameOfShared(uint32_t offset) const;

  // Who stands where, for a report: (split's first lane, what it does). Exited lanes are left out.
  std::string Describe(const Warp& warp, const Split& split) const;

 private:
  struct Barrier {
    bool active = false;
    uint32_t wanted = 0;
    uint32_t votes = 0, arrivals = 0;
    uint64_t only_arrived_threads = 0;
    std::array<uint32_t, kMaxWarps> lanes{};
    std::array<uint32_t, kMaxWarps> waiting{};
    std::array<uint32_t, kMaxWarps> arrived{};  // complete arrivals without waiting, in warps
  };
  void BeginShare(bool undisturbed);
  Result End();
  std::string WhereArriversAre(uint32_t offset) const;
  void TryComplete(uint32_t id);
  bool TimeOutMbarrierWaits();
  void ReportDivergence(uint32_t id, Warp& warp);

  LaunchContext* launch_ = nullptr;
  Cluster* cluster_ = nullptr;
  uint32_t rank_ = 0;
  uint64_t index_ = 0;
  Extent position_;
  uint32_t threads_ = 0, warp_count_ = 0;
  uint32_t polling_rounds_ = 0;
  uint32_t timed_out_rounds_ = 0;  // since `timed_out_at_`
  uint64_t progress_ = 0, timed_out_at_ = 0;
  bool watching_ = false, endless_ = false;
  uint64_t changes_ = 1, outside_ = 0, share_began_ = 0;
  SharedMemory shared_;
  CopiesUnderWay copies_;
  Mbarriers mbarriers_{*this};
  std::vector<std::unique_ptr<Warp>> warps_;
  std::array<Barrier, kBarriers> barriers_;
  std::vector<Count> counts_;
  std::array<const Allocation*, 256> hints_{};
  std::unordered_map<std::type_index, std::unique_ptr<BlockExtension>> extensions_;
};

}  // namespace sassay::emulator

#endif  // SASSAY_PROFILER_SERVICE_EMULATOR_EXEC_BLOCK_H_
