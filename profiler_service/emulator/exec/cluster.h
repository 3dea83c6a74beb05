// The blocks of one cluster: they run on one host thread, in turns, and see each other's shared memory.
#ifndef SASSAY_PROFILER_SERVICE_EMULATOR_EXEC_CLUSTER_H_
#define SASSAY_PROFILER_SERVICE_EMULATOR_EXEC_CLUSTER_H_

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "profiler_service/emulator/exec/block.h"

namespace sassay::emulator {

// A launch without clusters has clusters of one block.
//
// Life cycle: Start for one cluster of a launch, then Run until it is done; reusable. A block that has ended keeps its
// shared memory until all have. Thread-compatible; it may move between threads from one Run to the next.
class Cluster {
 public:
  // `index`: of the cluster in the launch.
  void Start(LaunchContext& launch, uint64_t index);
  // As Block::Run.
  Block::Result Run(uint32_t turns, bool undisturbed);
  bool clean() const;
  bool idle() const;

  uint32_t size() const { return size_; }
  Block& block(uint32_t rank) { return *blocks_[rank]; }
  bool ended(uint32_t rank) const { return ended_[rank]; }
  // The one that the last Run's result is about.
  uint64_t reported_block() const { return blocks_[reported_]->index(); }
  // Of a deadlock: Block::MbarrierCause of the first block that is certain of it, or else of the first that has one.
  std::string MbarrierCause() const;

  // barrier.cluster: lanes arrive; whether one of them still waits for the others.
  void Arrive(const Warp& warp, uint32_t rank, uint32_t lanes);
  bool Waits(const Warp& warp, uint32_t rank, uint32_t lanes) const;
  // "waiting at barrier.cluster, where 352 of 384 threads are"
  std::string DescribeWait() const;
  // Lanes have exited: the barrier may have become complete.
  void LanesLeft();
  // Checked launches: what blocks tell each other by flags in global memory.
  Past& by_global() { return by_global_; }

 private:
  uint64_t Progress() const;
  void TryComplete();

  uint32_t size_ = 0;
  uint32_t reported_ = 0;
  std::vector<std::unique_ptr<Block>> blocks_;
  std::vector<bool> ended_;
  std::vector<std::array<uint32_t, kMaxWarps>> arrived_;  // by rank: lanes that have come to this phase of the barrier
  Past arriving_;                                         // checked launches: what happens before this phase ends
  Past by_global_;
};

}  // namespace sassay::emulator

#endif  // SASSAY_PROFILER_SERVICE_EMULATOR_EXEC_CLUSTER_H_
