#include "profiler_service/emulator/exec/block.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "absl/strings/str_cat.h"
#include "profiler_service/emulator/exec/access.h"
#include "profiler_service/emulator/exec/cluster.h"

namespace sassay::emulator {
namespace {

constexpr uint32_t kTurn = 1 << 14;  // instructions a warp runs before the next one's turn
constexpr uint32_t kPollingRounds = 16;
// How often all waits at mbarriers time out, with no progress between, before the block counts as deadlocked.
constexpr uint32_t kTimedOutRounds = 64;

}  // namespace

void Block::Start(LaunchContext& launch, uint64_t index, Cluster& cluster, uint32_t rank, uint32_t past) {
  launch_ = &launch;
  cluster_ = &cluster;
  rank_ = rank;
  index_ = index;
  const Extent& grid = launch.grid;
  position_.x = static_cast<uint32_t>(index % grid.x);
  position_.y = static_cast<uint32_t>(index / grid.x % grid.y);
  position_.z = static_cast<uint32_t>(index / grid.x / grid.y);
  threads_ = static_cast<uint32_t>(launch.block.count());
  warp_count_ = (threads_ + kLanes - 1) / kLanes;
  polling_rounds_ = timed_out_rounds_ = 0;
  endless_ = false;
  shared_.Reset({.bytes = launch.shared_bytes(),
                 .warps = warp_count_,
                 .checked = launch.checked,
                 .rank = rank,
                 .blocks = static_cast<uint32_t>(launch.cluster.count()),
                 .past = past});
  copies_.Reset();
  mbarriers_.Reset();
  barriers_.fill(Barrier());
  extensions_.clear();
  hints_.fill(nullptr);
  if (launch.counted) counts_.resize(launch.program->insts.size());
  while (warps_.size() < warp_count_) warps_.push_back(std::make_unique<Warp>(*this));
  warps_.resize(warp_count_);
  for (uint32_t i = 0; i < warp_count_; ++i) warps_[i]->Start(launch, i, threads_ - i * kLanes);
}

bool Block::idle() const {
  return std::all_of(warps_.begin(), warps_.end(),
                     [](const auto& warp) { return warp->done() || warp->blocked() || warp->idle(); });
}

void Block::BeginShare(bool undisturbed) {
  watching_ = launch_->watch_loops.load(std::memory_order_relaxed);
  if (!undisturbed) {
    ++changes_;
    for (auto& warp : warps_) warp->WorldChanged();
  }
  share_began_ = changes_;
}

Block::Result Block::Run(uint32_t turns_given, bool undisturbed) {
  BeginShare(undisturbed);
  for (uint32_t turns = 0; turns < turns_given;) {
    bool alive = false, ran = false, only_polling = true;
    for (auto& warp : warps_) {
      if (warp->done()) continue;
      alive = true;
      if (warp->blocked()) continue;
      const Warp::Result result = warp->Run(kTurn);
      if (launch_->stop.load(std::memory_order_relaxed)) return Result::kStopped;
      ran |= result != Warp::Result::kBlocked;
      only_polling &= result == Warp::Result::kPolling;
      turns += result == Warp::Result::kRan;
    }
    if (!alive) return End();
    if (endless_) return Result::kEndless;
    const bool all_blocked =
        std::all_of(warps_.begin(), warps_.end(), [](const auto& warp) { return warp->done() || warp->blocked(); });
    if (!ran && all_blocked) {
      const bool any_left = std::any_of(warps_.begin(), warps_.end(), [](const auto& warp) { return !warp->done(); });
      if (TimeOutMbarrierWaits()) continue;
      return any_left ? Result::kDeadlocked : End();
    }
    polling_rounds_ = only_polling && ran ? polling_rounds_ + 1 : 0;
    if (polling_rounds_ < kPollingRounds && !(watching_ && clean() && idle())) continue;
    polling_rounds_ = 0;
    for (auto& warp : warps_) warp->TimeOutAtMbarriers();
    return Result::kYielded;
  }
  return Result::kHadShare;
}

Block::Result Block::End() {
  for (const auto& [type, extension] : extensions_) extension->BlockEnds(*this);
  if (launch_->checked) ReportStillToCome(*this);
  return Result::kDone;
}

void Block::WakeUnits() {
  NoteOutside();
  for (auto& warp : warps_) warp->WakeUnits();
}

void Block::Arrive(Warp& warp, uint32_t id, uint32_t wanted, uint32_t lanes, bool waits, uint32_t votes) {
  NoteOutside();
  Barrier& barrier = barriers_[id];
  barrier.active = true;
  barrier.wanted = wanted;
  barrier.lanes[warp.index()] |= lanes;
  if (waits) barrier.waiting[warp.index()] |= lanes;
  barrier.votes += std::popcount(votes & lanes);
  barrier.arrivals += std::popcount(lanes);
  if (!waits && (barrier.lanes[warp.index()] & warp.live()) == warp.live()) {
    ++barrier.arrived[warp.index()];
    barrier.lanes[warp.index()] = 0;
  }
  TryComplete(id);
}

void Block::LanesLeft() {
  NoteOutside();
  for (uint32_t id = 0; id < kBarriers; ++id) {
    if (barriers_[id].active) TryComplete(id);
  }
  cluster_->LanesLeft();
}

void Block::WakeAtMbarrier(uint32_t offset) {
  for (uint32_t i = 0; i < warp_count_; ++i) warps_[i]->WakeAtMbarrier(offset);
}

// A wait (mbarrier.try_wait) may return without its phase being over, and code may then do something else; so nobody
// waits for ever until all have been through that for a while, and nothing has come of it.
bool Block::TimeOutMbarrierWaits() {
  if (timed_out_at_ != progress_) timed_out_rounds_ = 0;
  timed_out_at_ = progress_;
  if (++timed_out_rounds_ > kTimedOutRounds) return false;
  bool any = false;
  for (auto& warp : warps_) any |= warp->TimeOutAtMbarriers();
  return any;
}

// ": warp 4, which arrived there before, has exited" for those that have not arrived in the present phase.
std::string Block::WhereArriversAre(uint32_t offset) const {
  if (mbarriers_.Check(offset) != Mbarriers::Trouble::kNone) return "";
  const Mbarrier& barrier = mbarriers_.At(offset);
  if (barrier.word.pending == 0) return "";
  if (barrier.arrivers.empty()) return ": no warp has ever arrived there";
  std::vector<std::pair<std::string, std::string>> states;  // what they do, and who
  for (const auto& [who, phase] : barrier.arrivers) {
    if (phase == barrier.phase) continue;
    const auto& [rank, index] = who;
    const Block& block = cluster_->block(rank);
    const Warp& warp = *block.warps_[index];
    std::string state = warp.done() ? "has exited" : "is running";
    for (const Split& split : warp.splits()) {
      if (!warp.done() && split.mask != 0) state = absl::StrCat("is ", block.Describe(warp, split));
    }
    const std::string name =
        absl::StrCat("warp ", index, &block == this ? "" : absl::StrCat(" of block ", block.index_));
    const auto known = std::find_if(states.begin(), states.end(), [&](const auto& s) { return s.first == state; });
    if (known == states.end()) {
      states.emplace_back(state, name);
    } else {
      absl::StrAppend(&known->second, ", ", name);
    }
  }
  std::string text;
  for (const auto& [state, names] : states) {
    absl::StrAppend(&text, text.empty() ? ": " : "; ", names, ", arrived there before and now ", state);
  }
  return text;
}

// Of several that wait, the first whose barrier tells something that is wrong.
Mbarriers::Cause Block::MbarrierCause() const {
  Mbarriers::Cause cause;
  for (const auto& warp : warps_) {
    for (const Split& split : warp->splits()) {
      if (split.state != Split::kMbarrier || split.mask == 0) continue;
      Mbarriers::Cause found = mbarriers_.LikelyCause(split.barrier, split.wanted != 0);
      if (!found.text.empty()) absl::StrAppend(&found.text, WhereArriversAre(split.barrier));
      if (found.certain) return found;
      if (cause.text.empty()) cause = std::move(found);
    }
  }
  return cause;
}

std::string Block::NameOfShared(uint32_t offset) const { return DescribeShared(*launch_, offset); }

// A warp has arrived once all its live lanes have; it counts as 32 threads, as on hardware.
void Block::TryComplete(uint32_t id) {
  Barrier& barrier = barriers_[id];
  uint64_t arrived = 0, needed = 0;
  uint32_t participants = 0;
  for (auto& warp : warps_) {
    const uint32_t lanes = barrier.lanes[warp->index()];
    if (!warp->done()) needed += kLanes;
    arrived += uint64_t{kLanes} * barrier.arrived[warp->index()];
    if (barrier.arrived[warp->index()] > 0) participants |= 1u << warp->index();
    if (lanes == 0 || warp->done()) continue;
    if ((lanes & warp->live()) != warp->live()) continue;
    arrived += kLanes;
    participants |= 1u << warp->index();
  }
  if (barrier.wanted != 0) needed = (barrier.wanted + kLanes - 1) / kLanes * kLanes;
  if (arrived < needed || participants == 0) return;
  const Barrier complete = barrier;
  barrier = Barrier();
  shared_.Join(participants);
  for (auto& warp : warps_) {
    if (complete.waiting[warp->index()] == 0) continue;
    if (launch_->checked) ReportDivergence(id, *warp);
    warp->Release(id, complete.votes, complete.votes == complete.arrivals, complete.votes != 0);
  }
}

void Block::ReportDivergence(uint32_t id, Warp& warp) {
  const Split* first = nullptr;
  for (const Split& split : warp.splits()) {
    if (split.state != Split::kBarrier || split.barrier != id) continue;
    if (first == nullptr || first->pc == split.pc) {
      first = &split;
      continue;
    }
    const Inst& here = first->frame->code->insts[first->pc];
    const Inst& there = split.frame->code->insts[split.pc];
    // Without .aligned the lanes of a warp may wait at different barrier instructions.
    if (here.c == 0 && there.c == 0) continue;
    constexpr auto kCode = sassay::v1::VERDICT_CODE_BARRIER_DIVERGENCE;
    if (!launch_->report.Wants(kCode, here.id, index_)) return;
    Misuse misuse;
    misuse.code = kCode;
    misuse.message =
        absl::StrCat("threads of one warp wait at barrier ", id, " in different places, some of them at ", kOtherPlace);
    misuse.where = warp.PlaceOf(here, std::countr_zero(first->mask));
    misuse.other = warp.PlaceOf(there, std::countr_zero(split.mask));
    misuse.has_other = true;
    launch_->report.Add(std::move(misuse));
    return;
  }
}

std::string Block::Describe(const Warp& warp, const Split& split) const {
  std::string lanes =
      split.mask == warp.live() ? "" : absl::StrCat(" (lanes 0x", absl::Hex(split.mask, absl::kZeroPad8), ")");
  for (const auto& [type, extension] : extensions_) {
    const std::string waiting = extension->Waiting(warp.index());
    if (!waiting.empty()) return absl::StrCat(waiting, lanes);
  }
  switch (split.state) {
    case Split::kBarrier: {
      const Barrier& barrier = barriers_[split.barrier];
      uint32_t arrived = 0;
      for (uint32_t mask : barrier.lanes) arrived += std::popcount(mask);
      for (uint32_t warps : barrier.arrived) arrived += warps * kLanes;
      const uint32_t wanted = barrier.wanted != 0 ? barrier.wanted : threads_;
      return absl::StrCat("waiting at barrier ", split.barrier, ", where ", arrived, " of ", wanted, " threads are",
                          lanes);
    }
    case Split::kMbarrier:
      return absl::StrCat("waiting for parity ", split.wanted, " of ", mbarriers_.Describe(split.barrier), lanes);
    case Split::kWarpSync:
      return absl::StrCat("waiting for lanes 0x", absl::Hex(split.wanted & warp.live() & ~split.mask, absl::kZeroPad8),
                          " of its warp", lanes);
    case Split::kUnit:
      if (cluster_->Waits(warp, rank_, split.mask)) return absl::StrCat(cluster_->DescribeWait(), lanes);
      return absl::StrCat("waiting for a unit of the multiprocessor", lanes);
    default:
      return absl::StrCat("running", lanes);
  }
}

}  // namespace sassay::emulator
