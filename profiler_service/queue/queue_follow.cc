// What the queue does where other processes use the same store: whoever is attached here hears of what runs elsewhere,
// and what runs here hears of what was decided elsewhere.
#include <algorithm>

#include "absl/strings/match.h"
#include "common/base/status_macros.h"
#include "profiler_service/queue/queue.h"
#include "spdlog/spdlog.h"

namespace sassay::queue {
namespace {

// A process settles its own timings within Finality::kPatience; what is older was left behind by one that is gone.
const absl::Duration kLeftBehind = 2 * Finality::kPatience;

// Those leases of owners that begin with `prefix` which are `meant`; how many.
absl::StatusOr<int> TakeBackEach(store::Store& store, absl::string_view prefix,
                                 const std::function<bool(const store::Lease&)>& meant,
                                 const std::function<absl::Status(const store::Lease&)>& take_back) {
  ASSIGN_OR_RETURN(const std::vector<store::Lease> leases, store.LeasesOf(prefix));
  int count = 0;
  for (const store::Lease& lease : leases) {
    if (!meant(lease)) continue;
    RETURN_IF_ERROR(take_back(lease));
    ++count;
  }
  return count;
}

}  // namespace

absl::StatusOr<int> Queue::TakeBackOf(absl::string_view prefix, absl::string_view but, PreviousProcess how) {
  const bool crashed = how == PreviousProcess::kCrashed;
  return TakeBackEach(
      store_, prefix, [&](const store::Lease& lease) { return but.empty() || !absl::StartsWith(lease.owner, but); },
      [&](const store::Lease& lease) {
        return crashed ? TakeBack(lease, "the process that ran it crashed", store::Ended::kCrashed)
                       : TakeBack(lease, "the process that ran it was killed", store::Ended::kKilled);
      });
}

absl::StatusOr<int> Queue::TakeBackUnheard(absl::string_view prefix,
                                           const std::function<bool(const store::Lease&)>& unheard) {
  return TakeBackEach(store_, prefix, unheard, [this](const store::Lease& lease) {
    return TakeBack(lease, "word of its lease did not reach the node", store::Ended::kStopped);
  });
}

absl::Status Queue::TakeBackPredecessors(PreviousProcess previous) {
  if (store_.shared() && options_.owner_prefix.empty()) return absl::OkStatus();
  // A store of this process alone has no leases but its predecessors'.
  ASSIGN_OR_RETURN(const int recovered, TakeBackOf(store_.shared() ? options_.owner_prefix : "", "", previous));
  if (recovered > 0) spdlog::info("recovered {} submissions that were running when the service ended", recovered);
  return absl::OkStatus();
}

void Queue::Follow(const store::Changes& changes) {
  if (changes.work || changes.everything) OfferWork(1);
  const absl::Status looked = changes.everything ? feed_.LookAtAll() : feed_.Look(changes.submissions);
  if (!looked.ok()) spdlog::warn("cannot read what other processes wrote, looking again soon: {}", looked.ToString());
  if (changes.holds || changes.everything) holds_.Ring();
  if (changes.exclusions || changes.everything) LookForExclusions();
  if (changes.incidents || changes.everything) RingIfNew(store_.LastIncident(), incident_place_, incidents_);
  if (changes.everything || RunsOneOf(changes.cancelling)) NoteDeadline(absl::InfinitePast());
}

bool Queue::RunsOneOf(const std::vector<std::string>& ids) const {
  absl::MutexLock lock(&mutex_);
  return std::any_of(ids.begin(), ids.end(), [this](const std::string& id) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return running_.count(id) > 0;
  });
}

void Queue::LookForExclusions() {
  if (running() > 0) {
    const auto windows = store_.OpenWindows();
    if (windows.ok()) {
      for (const store::BadWindow& window : *windows) InterruptIn(window);
    }
  }
  RingIfNew(store_.LastExcluded(), exclusion_place_, exclusions_);
}

void Queue::RingIfNew(const absl::StatusOr<uint64_t>& last, uint64_t& known, Bell& bell) {
  if (!last.ok() || *last == known) return;
  known = *last;
  bell.Ring();
}

void Queue::SettleWhatWasLeftBehind() {
  if (!options_.mine) return;
  const auto timings = store_.Provisionals();
  if (!timings.ok()) return;
  for (const store::Provisional& timing : *timings) {
    if (IsMine(timing.gpu) || options_.now() - timing.ended_at < kLeftBehind) continue;
    SettleTiming(timing, "its node ended before a reliability monitor had vouched for its GPU");
  }
}

}  // namespace sassay::queue
