#include "profiler_service/emulator/exec/grid.h"

#include <pthread.h>
#include <time.h>

#include <algorithm>
#include <bit>
#include <deque>
#include <memory>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "common/base/steady_time.h"
#include "profiler_service/emulator/exec/cluster.h"
#include "profiler_service/emulator/memory/private_pages.h"
#include "profiler_service/emulator/pace/estimate.h"

namespace sassay::emulator {
namespace {

constexpr size_t kMaxStandings = 4096;

constexpr uint32_t kShareTurns = 16;     // of a block, before the grid looks at it again
constexpr uint32_t kSharesInARow = 256;  // before other blocks
constexpr uint32_t kSampleTurns = 4;
constexpr absl::Duration kLookEvery = absl::Milliseconds(100);
// Of the workers' time, once a launch is past its first seconds.
constexpr double kTrialPart = 0.125;
constexpr int64_t kTrialHeldBytes = int64_t{64} << 20;

double Seconds(clockid_t clock) {
  timespec now = {};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

double ThreadSeconds() { return Seconds(CLOCK_THREAD_CPUTIME_ID); }

double ThreadSeconds(std::thread& thread) {
  clockid_t clock = 0;
  return pthread_getcpuclockid(thread.native_handle(), &clock) == 0 ? Seconds(clock) : 0;
}

// A block's run in a world of its own: it reads the launch's memory, and nothing that it does is seen.
struct Trial {
  explicit Trial(const LaunchFacts& facts) {
    static_cast<LaunchFacts&>(launch) = facts;
    launch.counted = false;
    launch.pages = &pages;
    launch.most_held_bytes = kTrialHeldBytes;
    launch.watch_loops = true;
  }
  LaunchContext launch;
  PrivatePages pages;
};

// A block, with what the grid knows of it.
struct Resident {
  static constexpr size_t kNoSample = ~size_t{0};

  Cluster cluster;
  size_t sample = kNoSample;  // its place among the samples
  bool tried = false;         // it is a trial; its turn comes later
  uint32_t shares = 0;        // since it last gave way
  uint64_t began_in = 0;      // the quiet period in which its share began
  uint64_t lived_in = 0;      // the quiet period in which the share before began
  uint64_t idle_in = 0;       // the quiet period in which it was last shown to go round in a circle
};

// The blocks of a launch and who runs them. Workers take new blocks in order; a block that yields goes to the back of
// the resident ones, and the worker prefers a fresh block while there is room for one.
//
// After a while some blocks from all over the grid go first, in short shares, for the estimate. Where all blocks that
// are left fit at once, as a GPU may begin them in any order, they simply run. Where they do not, no block may do
// anything before its turn: it might be what earlier blocks wait for in vain on a GPU. Then the samples are trials,
// which are thrown away; they run again in their turn.
//
// Endless: a quiet period is one in which no share ended that had changed memory. When every block that there is has
// been shown, by a share that lies in the same quiet period, to go round in a circle for as long as memory stays as it
// is, then the first change of memory could be made by none of them.
class Grid {
 public:
  Grid(LaunchContext& launch, const GridOptions& options)
      : launch_(launch),
        options_(options),
        cluster_size_(launch.cluster.count()),
        total_(launch.grid.count() / cluster_size_),
        room_(std::max<uint64_t>(options.resident_blocks / cluster_size_, 1)),
        parallel_(static_cast<int>(std::min({static_cast<uint64_t>(options.threads), total_, room_}))),
        started_at_(SteadyNow()) {}

  GridResult Run();

 private:
  using ResidentPtr = std::unique_ptr<Resident>;

  void Work();
  void Watch() ABSL_LOCKS_EXCLUDED(mutex_);
  ResidentPtr Take();
  // Null, or the block that goes on at once.
  ResidentPtr FinishShare(ResidentPtr resident, Block::Result result, double seconds) ABSL_LOCKS_EXCLUDED(mutex_);
  void FinishTrial(ResidentPtr resident, Block::Result result, double seconds) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  ResidentPtr Finish(ResidentPtr resident, Block::Result result, double seconds) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  ResidentPtr TakeWaiting(std::deque<ResidentPtr>& queue) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  ResidentPtr TakeFresh(uint64_t& index) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void NoteSample(Resident& resident, Block::Result result, double seconds) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void NoteQuiet(Resident& resident, Block::Result result) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void CheckEndless() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void End(GridResult::Kind kind, std::string message) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void EndAtDeadline(absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void ChooseSamples() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void LimitTrials(absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void StopTrials() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void CheckEstimate(absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void CollectStandings(Cluster& cluster) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void CollectStandings(const Block& block) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void CollectCounts(Cluster& cluster) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool Over() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return done_ == total_ || launch_.stop; }
  bool AllStarted() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return started_ == total_; }
  bool HasRoom() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return started_ - done_ < room_; }
  bool SamplesGo() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return trials_.empty() || !(trials_pause_ || AllStarted());
  }
  bool FreshSample() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return samples_started_ < samples_.size() && SamplesGo();
  }
  bool WaitingSample() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return !waiting_samples_.empty() && SamplesGo(); }
  bool FreshBlock() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return !AllStarted() && HasRoom(); }
  bool CanTake() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return Over() || FreshSample() || WaitingSample() || FreshBlock() || !waiting_.empty();
  }

  LaunchContext& launch_;
  const GridOptions options_;
  const uint64_t cluster_size_;
  const uint64_t total_;  // clusters; whoever counts blocks here counts clusters of them
  const uint64_t room_;   // for resident blocks
  const int parallel_;
  const absl::Time started_at_;
  std::vector<std::thread> workers_;
  absl::Mutex mutex_;
  uint64_t next_ ABSL_GUARDED_BY(mutex_) = 0;  // the first block that no order has reached yet
  uint64_t started_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t done_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Time last_done_at_ ABSL_GUARDED_BY(mutex_);
  std::deque<ResidentPtr> waiting_ ABSL_GUARDED_BY(mutex_);
  std::vector<ResidentPtr> spare_ ABSL_GUARDED_BY(mutex_);
  std::vector<BlockSample> samples_ ABSL_GUARDED_BY(mutex_);
  std::vector<uint64_t> sampled_ ABSL_GUARDED_BY(mutex_);  // their blocks, ascending
  size_t samples_started_ ABSL_GUARDED_BY(mutex_) = 0;
  std::vector<std::unique_ptr<Trial>> trials_ ABSL_GUARDED_BY(mutex_);  // by sample; empty where samples are no trials
  double trial_seconds_ ABSL_GUARDED_BY(mutex_) = 0;
  bool trials_pause_ ABSL_GUARDED_BY(mutex_) = false;
  std::deque<ResidentPtr> waiting_samples_ ABSL_GUARDED_BY(mutex_);
  uint64_t quiet_ ABSL_GUARDED_BY(mutex_) = 1;  // the number of this quiet period
  uint64_t idle_ ABSL_GUARDED_BY(mutex_) = 0;   // blocks shown to go round in it
  GridResult result_ ABSL_GUARDED_BY(mutex_);
};

GridResult Grid::Run() {
  {
    absl::MutexLock lock(&mutex_);  // nobody takes a block before all are here
    for (int i = 0; i < parallel_; ++i) workers_.emplace_back([this] { Work(); });
  }
  Watch();
  for (std::thread& worker : workers_) worker.join();
  absl::MutexLock lock(&mutex_);
  for (auto* queue : {&waiting_, &waiting_samples_}) {
    for (ResidentPtr& resident : *queue) {
      if (resident->tried) continue;
      CollectStandings(resident->cluster);
      CollectCounts(resident->cluster);
    }
  }
  for (ResidentPtr& resident : spare_) CollectCounts(resident->cluster);
  if (!launch_.failure().ok()) result_.kind = GridResult::kFailed;
  if (result_.kind == GridResult::kDone && launch_.faulted()) result_.kind = GridResult::kFault;
  result_.elapsed = SteadyNow() - started_at_;
  result_.cost /= parallel_;
  result_.blocks_done = done_ * cluster_size_;
  return std::move(result_);
}

void Grid::Work() {
  while (ResidentPtr resident = Take()) {
    while (resident != nullptr) {
      const bool sampled = resident->sample != Resident::kNoSample;
      const double before = sampled ? ThreadSeconds() : 0;
      const bool undisturbed = std::exchange(resident->lived_in, resident->began_in) == resident->began_in;
      const Block::Result result = resident->cluster.Run(sampled ? kSampleTurns : kShareTurns, undisturbed);
      resident = FinishShare(std::move(resident), result, sampled ? ThreadSeconds() - before : 0);
    }
  }
  absl::MutexLock lock(&mutex_);
  result_.cost += absl::Seconds(ThreadSeconds());
}

Grid::ResidentPtr Grid::Take() {
  ResidentPtr resident;
  LaunchContext* launch = &launch_;
  uint64_t index = 0;
  {
    absl::MutexLock lock(&mutex_);
    mutex_.Await(absl::Condition(this, &Grid::CanTake));
    if (Over()) return nullptr;
    if (!FreshSample() && WaitingSample()) return TakeWaiting(waiting_samples_);
    if (!FreshSample() && !FreshBlock()) return TakeWaiting(waiting_);
    resident = TakeFresh(index);
    if (resident->tried) launch = &trials_[resident->sample]->launch;
  }
  resident->cluster.Start(*launch, index);
  return resident;
}

Grid::ResidentPtr Grid::TakeWaiting(std::deque<ResidentPtr>& queue) {
  ResidentPtr resident = std::move(queue.front());
  queue.pop_front();
  resident->began_in = quiet_;
  return resident;
}

// Samples first; then in order, but for the blocks that have run as samples. A trial's block is used for nothing else:
// what it holds is counted elsewhere.
Grid::ResidentPtr Grid::TakeFresh(uint64_t& index) {
  const bool tried = FreshSample() && !trials_.empty();
  ResidentPtr resident;
  if (tried || spare_.empty()) {
    resident = std::make_unique<Resident>();
  } else {
    resident = std::move(spare_.back());
    spare_.pop_back();
  }
  resident->sample = FreshSample() ? samples_started_++ : Resident::kNoSample;
  resident->tried = tried;
  resident->shares = 0;
  resident->lived_in = resident->idle_in = 0;
  resident->began_in = quiet_;
  if (!tried) ++started_;
  if (resident->sample != Resident::kNoSample) {
    index = sampled_[resident->sample];
    return resident;
  }
  while (trials_.empty() && std::binary_search(sampled_.begin(), sampled_.end(), next_)) ++next_;
  index = next_++;
  return resident;
}

Grid::ResidentPtr Grid::FinishShare(ResidentPtr resident, Block::Result result, double seconds) {
  absl::MutexLock lock(&mutex_);
  if (!resident->tried) return Finish(std::move(resident), result, seconds);
  FinishTrial(std::move(resident), result, seconds);
  return nullptr;
}

// One that waits, or goes round in a circle, does so in its own world: that share says nothing.
void Grid::FinishTrial(ResidentPtr resident, Block::Result result, double seconds) {
  BlockSample& sample = samples_[resident->sample];
  trial_seconds_ += seconds;
  if (result == Block::Result::kDone || result == Block::Result::kHadShare || result == Block::Result::kStopped) {
    sample.seconds += seconds;
  }
  sample.ended = result == Block::Result::kDone;
  if (result == Block::Result::kHadShare) {
    waiting_samples_.push_back(std::move(resident));
  } else {
    trials_[resident->sample]->pages.Clear();
  }
}

Grid::ResidentPtr Grid::Finish(ResidentPtr resident, Block::Result result, double seconds) {
  NoteQuiet(*resident, result);
  if (resident->sample != Resident::kNoSample) NoteSample(*resident, result, seconds);
  const bool sampled = resident->sample != Resident::kNoSample;
  Cluster& cluster = resident->cluster;
  switch (result) {
    case Block::Result::kDone:
      ++done_;
      if (Over()) StopTrials();
      last_done_at_ = SteadyNow();
      spare_.push_back(std::move(resident));
      break;
    case Block::Result::kHadShare: {
      const bool go_on =
          !sampled && !FreshSample() && !WaitingSample() && !launch_.stop && ++resident->shares < kSharesInARow;
      resident->began_in = quiet_;
      if (go_on) return resident;
      resident->shares = 0;
      (sampled ? waiting_samples_ : waiting_).push_back(std::move(resident));
      break;
    }
    case Block::Result::kYielded:
      waiting_.push_back(std::move(resident));
      break;
    case Block::Result::kDeadlocked:
    case Block::Result::kEndless:
      if (result_.kind == GridResult::kDone) result_.mbarrier_cause = cluster.MbarrierCause();
      if (result_.kind == GridResult::kDone && result == Block::Result::kDeadlocked) {
        End(GridResult::kDeadlock, absl::StrCat("block ", cluster.reported_block(), ": no warp can go on"));
      } else if (result_.kind == GridResult::kDone) {
        End(GridResult::kEndless,
            absl::StrCat("block ", cluster.reported_block(),
                         " never ends, whatever its deadline: a loop has come back to the values it had, and reads "
                         "nothing that could change them"));
      }
      [[fallthrough]];
    case Block::Result::kStopped:
      CollectStandings(cluster);
      spare_.push_back(std::move(resident));
      break;
  }
  CheckEndless();
  return nullptr;
}

// A block that waits for others costs nothing that could be extrapolated: it is a sample no longer.
void Grid::NoteSample(Resident& resident, Block::Result result, double seconds) {
  BlockSample& sample = samples_[resident.sample];
  if (result != Block::Result::kYielded) sample.seconds += seconds;
  sample.ended = result == Block::Result::kDone;
  if (result == Block::Result::kYielded) resident.sample = Resident::kNoSample;
}

void Grid::NoteQuiet(Resident& resident, Block::Result result) {
  if (!resident.cluster.clean()) {
    ++quiet_;
    idle_ = 0;
    return;
  }
  if (result != Block::Result::kYielded || !resident.cluster.idle()) return;
  if (resident.began_in != quiet_ || resident.idle_in == quiet_) return;
  resident.idle_in = quiet_;
  ++idle_;
}

void Grid::CheckEndless() {
  const bool nobody_comes = AllStarted() || (!HasRoom() && options_.residents_as_on_gpu);
  if (result_.kind != GridResult::kDone || launch_.stop || idle_ == 0 || idle_ < started_ - done_ || !nobody_comes)
    return;
  End(GridResult::kEndless,
      absl::StrCat("never ends, whatever its deadline: every thread that is left waits in a loop for memory that "
                   "no thread will ever change"));
}

void Grid::End(GridResult::Kind kind, std::string message) {
  result_.kind = kind;
  result_.message = std::move(message);
  launch_.stop = true;
  StopTrials();
}

void Grid::StopTrials() {
  for (const auto& trial : trials_) trial->launch.stop = true;
}

// Sleeps beside the workers and ends the launch when time is up.
void Grid::Watch() {
  absl::MutexLock lock(&mutex_);
  auto over = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return Over(); };
  absl::Time wake = std::min(options_.deadline, started_at_ + kLookEvery);
  while (!AwaitUntil(mutex_, absl::Condition(&over), wake)) {
    const absl::Time now = SteadyNow();
    if (now >= options_.deadline) return EndAtDeadline(now);
    launch_.watch_loops = true;
    if (samples_.empty() && now >= started_at_ + options_.estimate_after / 4) ChooseSamples();
    if (now >= started_at_ + options_.estimate_after) CheckEstimate(now);
    LimitTrials(now);
    wake = std::min(options_.deadline, now + kLookEvery);
  }
}

// A launch whose blocks end one after the other is too large; one whose blocks do not end hangs.
void Grid::EndAtDeadline(absl::Time now) {
  const absl::Duration elapsed = now - started_at_;
  const uint64_t done = done_ * cluster_size_;
  const std::string ended =
      absl::StrCat(done, " of ", total_ * cluster_size_, " blocks had ended after ", Rough(elapsed));
  const absl::Duration pace = elapsed * parallel_ / static_cast<double>(std::max<uint64_t>(done_, 1));
  if (done_ == 0 || AllStarted() || now - last_done_at_ > 2 * pace + kLookEvery) {
    return End(GridResult::kTimeout, absl::StrCat("the kernel did not end within its deadline; ", ended));
  }
  const absl::Duration all = elapsed * (static_cast<double>(total_) / static_cast<double>(done_));
  End(GridResult::kTooLarge, absl::StrCat("too large for the emulated device: ", ended, ", all would take about ",
                                          Rough(all), "; ", done, " blocks of this size would fit"));
}

// Not where memory holds few blocks at once, nor for clusters, whose blocks wait for each other.
void Grid::ChooseSamples() {
  if (cluster_size_ > 1) return;
  if (next_ >= total_ || total_ - next_ < 2 * kSampledBlocks) return;
  if (!options_.residents_as_on_gpu && room_ < 4 * kSampledBlocks) return;
  sampled_ = SpreadIndices(next_, total_, kSampledBlocks);
  samples_.resize(sampled_.size());
  if (total_ - done_ <= room_) return;
  for (size_t i = 0; i < samples_.size(); ++i) trials_.push_back(std::make_unique<Trial>(launch_));
}

// Trials go first while the launch is young; from then on they take a part of the workers' time.
void Grid::LimitTrials(absl::Time now) {
  if (trials_.empty() || now < started_at_ + 2 * options_.estimate_after) return;
  double seconds = 0;
  for (std::thread& worker : workers_) seconds += ThreadSeconds(worker);
  trials_pause_ = trial_seconds_ > kTrialPart * seconds;
}

void Grid::CheckEstimate(absl::Time now) {
  if (launch_.stop || LeastMeanSeconds(samples_) <= 0) return;
  LaunchPace pace;
  pace.blocks = total_;
  pace.blocks_started = started_;
  pace.parallel = parallel_;
  pace.repeats = options_.repeats;
  pace.later = options_.later;
  pace.elapsed = now - started_at_;
  pace.left = options_.deadline - now;
  pace.samples = samples_;
  if (LeastRest(pace) > pace.left) End(GridResult::kTooLarge, DescribeTooLarge(pace));
}

void Grid::CollectStandings(Cluster& cluster) {
  if (result_.kind == GridResult::kDone || result_.kind == GridResult::kTooLarge) return;
  if (result_.kind == GridResult::kEndless && result_.mbarrier_cause.empty()) {
    result_.mbarrier_cause = cluster.MbarrierCause();
  }
  for (uint32_t rank = 0; rank < cluster.size(); ++rank) CollectStandings(cluster.block(rank));
}

void Grid::CollectStandings(const Block& block) {
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

void Grid::CollectCounts(Cluster& cluster) {
  if (!launch_.counted) return;
  result_.counts.resize(launch_.program->insts.size());
  for (uint32_t rank = 0; rank < cluster.size(); ++rank) {
    auto& counts = cluster.block(rank).counts();
    for (size_t i = 0; i < counts.size(); ++i) {
      result_.counts[i].warps += counts[i].warps;
      result_.counts[i].threads += counts[i].threads;
      result_.counts[i].passes += counts[i].passes;
      result_.counts[i].least_passes += counts[i].least_passes;
      counts[i] = Count();
    }
  }
}

}  // namespace

GridResult RunGrid(LaunchContext& launch, const GridOptions& options) { return Grid(launch, options).Run(); }

}  // namespace sassay::emulator
