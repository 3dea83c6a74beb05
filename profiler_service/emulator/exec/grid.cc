#include "profiler_service/emulator/exec/grid.h"

#include <algorithm>
#include <bit>
#include <deque>
#include <memory>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "profiler_service/emulator/exec/block.h"

namespace sassay::emulator {
namespace {

constexpr size_t kMaxStandings = 4096;

// The blocks of a launch and who runs them. Workers take new blocks in order; a block that yields goes to the back of
// the resident ones, and the worker prefers a fresh block while there is room for one.
class Grid {
 public:
  Grid(LaunchContext& launch, const GridOptions& options)
      : launch_(launch), options_(options), total_(launch.grid.count()), started_at_(absl::Now()) {}

  GridResult Run();

 private:
  using BlockPtr = std::unique_ptr<Block>;

  void Work();
  void Watch() ABSL_LOCKS_EXCLUDED(mutex_);
  BlockPtr Take();
  void Finish(BlockPtr block, Block::Result result);
  void End(GridResult::Kind kind, std::string message) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void CheckEstimate(absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void CollectStandings(const Block& block) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void CollectCounts(Block& block) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool Over() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return done_ == total_ || launch_.stop; }

  LaunchContext& launch_;
  const GridOptions options_;
  const uint64_t total_;
  const absl::Time started_at_;
  absl::Mutex mutex_;
  uint64_t next_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t running_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t done_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Time last_done_at_ ABSL_GUARDED_BY(mutex_);
  std::deque<BlockPtr> waiting_ ABSL_GUARDED_BY(mutex_);
  std::vector<BlockPtr> spare_ ABSL_GUARDED_BY(mutex_);
  GridResult result_ ABSL_GUARDED_BY(mutex_);
};

GridResult Grid::Run() {
  const int threads = static_cast<int>(std::min<uint64_t>(static_cast<uint64_t>(options_.threads), total_));
  std::vector<std::thread> workers;
  for (int i = 0; i < threads; ++i) workers.emplace_back([this] { Work(); });
  Watch();
  for (std::thread& worker : workers) worker.join();
  absl::MutexLock lock(&mutex_);
  for (BlockPtr& block : waiting_) {
    CollectStandings(*block);
    CollectCounts(*block);
  }
  for (BlockPtr& block : spare_) CollectCounts(*block);
  if (!launch_.failure().ok()) result_.kind = GridResult::kFailed;
  if (result_.kind == GridResult::kDone && launch_.faulted()) result_.kind = GridResult::kFault;
  result_.elapsed = absl::Now() - started_at_;
  result_.blocks_done = done_;
  return std::move(result_);
}

void Grid::Work() {
  while (BlockPtr block = Take()) {
    const Block::Result result = block->Run();
    Finish(std::move(block), result);
  }
}

Grid::BlockPtr Grid::Take() {
  BlockPtr block;
  uint64_t index = 0;
  {
    absl::MutexLock lock(&mutex_);
    auto available = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return Over() || next_ < total_ || !waiting_.empty();
    };
    mutex_.Await(absl::Condition(&available));
    if (Over()) return nullptr;
    const bool room = running_ + waiting_.size() < std::max<uint64_t>(options_.resident_blocks, 1);
    ++running_;
    if (next_ == total_ || (!room && !waiting_.empty())) {
      block = std::move(waiting_.front());
      waiting_.pop_front();
      return block;
    }
    index = next_++;
    if (!spare_.empty()) {
      block = std::move(spare_.back());
      spare_.pop_back();
    }
  }
  if (block == nullptr) block = std::make_unique<Block>();
  block->Start(launch_, index);
  return block;
}

void Grid::Finish(BlockPtr block, Block::Result result) {
  absl::MutexLock lock(&mutex_);
  --running_;
  switch (result) {
    case Block::Result::kDone:
      ++done_;
      last_done_at_ = absl::Now();
      spare_.push_back(std::move(block));
      break;
    case Block::Result::kYielded:
      waiting_.push_back(std::move(block));
      break;
    case Block::Result::kDeadlocked:
      if (result_.kind == GridResult::kDone) {
        End(GridResult::kDeadlock, absl::StrCat("block ", block->index(), ": no warp can go on"));
      }
      CollectStandings(*block);
      spare_.push_back(std::move(block));
      break;
    case Block::Result::kStopped:
      CollectStandings(*block);
      spare_.push_back(std::move(block));
      break;
  }
}

void Grid::End(GridResult::Kind kind, std::string message) {
  result_.kind = kind;
  result_.message = std::move(message);
  launch_.stop = true;
}

// Sleeps beside the workers and ends the launch when time is up.
void Grid::Watch() {
  absl::MutexLock lock(&mutex_);
  auto over = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return Over(); };
  absl::Time wake = std::min(options_.deadline, started_at_ + options_.estimate_after);
  while (!mutex_.AwaitWithDeadline(absl::Condition(&over), wake)) {
    const absl::Time now = absl::Now();
    if (now >= options_.deadline) {
      End(GridResult::kTimeout,
          absl::StrCat("the kernel did not end within its deadline; ", done_, " of ", total_,
                       " blocks had ended after ",
                       absl::FormatDuration(absl::Trunc(now - started_at_, absl::Milliseconds(100)))));
      return;
    }
    CheckEstimate(now);
    wake = std::min(options_.deadline, now + options_.estimate_after / 2);
  }
}

void Grid::CheckEstimate(absl::Time now) {
  if (done_ == 0 || launch_.stop) return;
  // From the last block that ended: blocks that hang afterwards are a time-out, not a large grid.
  const absl::Duration elapsed = last_done_at_ - started_at_;
  const double rest = absl::ToDoubleSeconds(elapsed) * static_cast<double>(total_ - done_) / static_cast<double>(done_);
  const absl::Duration left = options_.deadline - now;
  if (absl::Seconds(rest) <= left * 1.25) return;
  const double fits = absl::ToDoubleSeconds(elapsed + left) / (absl::ToDoubleSeconds(elapsed) + rest);
  End(GridResult::kTooLarge,
      absl::StrCat("too large for the emulated device: ", done_, " of ", total_, " blocks took ",
                   absl::FormatDuration(absl::Trunc(elapsed, absl::Milliseconds(1))), ", all would take about ",
                   absl::FormatDuration(absl::Trunc(elapsed + absl::Seconds(rest), absl::Seconds(1))), ", ",
                   absl::FormatDuration(absl::Trunc(elapsed + left, absl::Seconds(1))), " are given; about ",
                   static_cast<uint64_t>(fits * static_cast<double>(total_)), " blocks would fit"));
}

void Grid::CollectStandings(const Block& block) {
  if (result_.kind != GridResult::kTimeout && result_.kind != GridResult::kDeadlock) return;
  for (const auto& warp : block.warps()) {
    for (const Split& split : warp->splits()) {
      if (split.mask == 0 || result_.standings.size() >= kMaxStandings) continue;
      const Inst& inst = split.frame->code->insts[split.pc];
      result_.standings.push_back(
          {warp->PlaceOf(inst, std::countr_zero(split.mask)), warp->index(), block.Describe(*warp, split)});
    }
    if (warp->done() && result_.standings.size() < kMaxStandings) {
      result_.standings.push_back(
          {Place{block.index(), warp->index() * kLanes, ptx::kNoIndex}, warp->index(), "exited"});
    }
  }
}

void Grid::CollectCounts(Block& block) {
  if (!launch_.counted) return;
  result_.counts.resize(launch_.program->insts.size());
  for (size_t i = 0; i < block.counts().size(); ++i) {
    result_.counts[i].warps += block.counts()[i].warps;
    result_.counts[i].threads += block.counts()[i].threads;
    block.counts()[i] = Count();
  }
}

}  // namespace

GridResult RunGrid(LaunchContext& launch, const GridOptions& options) { return Grid(launch, options).Run(); }

}  // namespace sassay::emulator
