#include "profiler_service/emulator/exec/cluster.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "absl/strings/str_cat.h"

namespace sassay::emulator {

void Cluster::Start(LaunchContext& launch, uint64_t index) {
  const Extent& shape = launch.cluster;
  const Extent& grid = launch.grid;
  const uint64_t across = grid.x / shape.x, down = grid.y / shape.y;
  const uint64_t x = index % across * shape.x, y = index / across % down * shape.y, z = index / across / down * shape.z;
  size_ = static_cast<uint32_t>(shape.count());
  reported_ = 0;
  while (blocks_.size() < size_) blocks_.push_back(std::make_unique<Block>());
  ended_.assign(size_, false);
  arrived_.assign(size_, {});
  arriving_ = by_global_ = Past();
  uint32_t past = 0;
  for (const auto& block : blocks_) past = std::max(past, block->shared().LatestTime());
  for (uint32_t rank = 0; rank < size_; ++rank) {
    const uint64_t at_x = x + rank % shape.x, at_y = y + rank / shape.x % shape.y, at_z = z + rank / shape.x / shape.y;
    blocks_[rank]->Start(launch, (at_z * grid.y + at_y) * grid.x + at_x, *this, rank, past);
  }
}

uint64_t Cluster::Progress() const {
  uint64_t progress = 0;
  for (uint32_t rank = 0; rank < size_; ++rank) progress += blocks_[rank]->progress() + ended_[rank];
  return progress;
}

// Blocks of one cluster take turns; that they see each other's changes rules out what a block proves by itself.
Block::Result Cluster::Run(uint32_t turns, bool undisturbed) {
  if (size_ == 1) return blocks_[0]->Run(turns, undisturbed);
  for (uint32_t turn = 0; turn < turns; ++turn) {
    const uint64_t before = Progress();
    bool goes_on = false, polls = false;
    for (uint32_t rank = 0; rank < size_; ++rank) {
      if (ended_[rank]) continue;
      const Block::Result result = blocks_[rank]->Run(1, false);
      if (result == Block::Result::kStopped || result == Block::Result::kEndless) {
        reported_ = rank;
        return result;
      }
      ended_[rank] = result == Block::Result::kDone;
      goes_on |= result == Block::Result::kHadShare;
      polls |= result == Block::Result::kYielded;
      if (result == Block::Result::kDeadlocked) reported_ = rank;
    }
    if (std::find(ended_.begin(), ended_.end(), false) == ended_.end()) return Block::Result::kDone;
    if (goes_on || Progress() != before) continue;
    return polls ? Block::Result::kYielded : Block::Result::kDeadlocked;
  }
  return Block::Result::kHadShare;
}

bool Cluster::clean() const { return size_ == 1 && blocks_[0]->clean(); }

bool Cluster::idle() const { return size_ == 1 && blocks_[0]->idle(); }

std::string Cluster::MbarrierCause() const {
  std::string likely;
  for (uint32_t rank = 0; rank < size_; ++rank) {
    Mbarriers::Cause cause = blocks_[rank]->MbarrierCause();
    if (cause.certain) return cause.text;
    if (likely.empty()) likely = std::move(cause.text);
  }
  return likely;
}

void Cluster::Arrive(const Warp& warp, uint32_t rank, uint32_t lanes) {
  arrived_[rank][warp.index()] |= lanes;
  blocks_[rank]->shared().Tell(warp.index(), arriving_);
  TryComplete();
}

bool Cluster::Waits(const Warp& warp, uint32_t rank, uint32_t lanes) const {
  return (arrived_[rank][warp.index()] & lanes) != 0;
}

std::string Cluster::DescribeWait() const {
  uint32_t arrived = 0, live = 0;
  for (uint32_t rank = 0; rank < size_; ++rank) {
    for (const auto& warp : blocks_[rank]->warps()) {
      arrived += std::popcount(arrived_[rank][warp->index()]);
      live += std::popcount(warp->live());
    }
  }
  return absl::StrCat("waiting at barrier.cluster, where ", arrived, " of ", live, " threads are");
}

void Cluster::LanesLeft() {
  if (size_ > 1) TryComplete();
}

void Cluster::TryComplete() {
  bool any = false;
  for (uint32_t rank = 0; rank < size_; ++rank) {
    for (const auto& warp : blocks_[rank]->warps()) {
      const uint32_t arrived = arrived_[rank][warp->index()];
      if ((warp->live() & ~arrived) != 0) return;
      any |= arrived != 0;
    }
  }
  if (!any) return;
  for (uint32_t rank = 0; rank < size_; ++rank) {
    const auto& warps = blocks_[rank]->warps();
    // Whoever has exited has arrived.
    if (std::any_of(warps.begin(), warps.end(), [](const auto& warp) { return warp->done(); })) {
      blocks_[rank]->shared().TellAll(arriving_);
    }
  }
  const Past over = std::exchange(arriving_, Past());
  for (uint32_t rank = 0; rank < size_; ++rank) {
    arrived_[rank].fill(0);
    blocks_[rank]->shared().Join(~0u);
    blocks_[rank]->shared().Learn(over);
    blocks_[rank]->WakeUnits();
  }
}

}  // namespace sassay::emulator
