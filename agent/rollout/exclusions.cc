#include "agent/rollout/exclusions.h"

namespace sassay::agent {
namespace {

// Other clients of the same tenant have exclusions too, which nobody here will ask for.
constexpr size_t kMostEarly = 10'000;

}  // namespace

void Exclusions::Counts(size_t trajectory, uint32_t turn, const v1::Verdict& verdict) {
  if (verdict.submission_id().empty()) return;
  absl::MutexLock lock(&mutex_);
  counted_[verdict.submission_id()] = {trajectory, turn, verdict.attempt()};
  const auto begin = early_.lower_bound({verdict.submission_id(), 0});
  const auto end = early_.upper_bound({verdict.submission_id(), verdict.attempt()});
  if (begin == end) return;
  if (std::prev(end)->first.second == verdict.attempt()) excluded_[{trajectory, turn}] = std::prev(end)->second;
  early_.erase(begin, end);
}

void Exclusions::Take(const v1::Event& event) {
  const v1::Excluded& excluded = event.excluded();
  std::optional<size_t> trajectory;
  {
    absl::MutexLock lock(&mutex_);
    const auto found = counted_.find(event.submission_id());
    if (found == counted_.end()) {
      if (early_.size() < kMostEarly) early_[{event.submission_id(), excluded.attempt()}] = excluded.exclusion();
    } else if (found->second.attempt == excluded.attempt()) {
      excluded_[{found->second.trajectory, found->second.turn}] = excluded.exclusion();
      trajectory = found->second.trajectory;
    }
  }
  if (trajectory.has_value()) on_excluded_(*trajectory);
}

std::optional<ExcludedTurn> Exclusions::Earliest(size_t trajectory) const {
  absl::MutexLock lock(&mutex_);
  const auto found = excluded_.lower_bound({trajectory, 0});
  if (found == excluded_.end() || found->first.first != trajectory) return std::nullopt;
  return ExcludedTurn{found->first.second, found->second};
}

void Exclusions::Rewound(size_t trajectory, uint32_t turn) {
  absl::MutexLock lock(&mutex_);
  excluded_.erase(excluded_.lower_bound({trajectory, turn}), excluded_.lower_bound({trajectory + 1, 0}));
  for (auto entry = counted_.begin(); entry != counted_.end();) {
    const bool gone = entry->second.trajectory == trajectory && entry->second.turn >= turn;
    entry = gone ? counted_.erase(entry) : std::next(entry);
  }
}

}  // namespace sassay::agent
