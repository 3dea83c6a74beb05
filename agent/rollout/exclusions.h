// Late exclusions: which of the run's verdicts the reliability monitor took back after they had been given.
#ifndef SASSAY_AGENT_ROLLOUT_EXCLUSIONS_H_
#define SASSAY_AGENT_ROLLOUT_EXCLUSIONS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "sassay/v1/events.pb.h"
#include "sassay/v1/verdict.pb.h"

namespace sassay::agent {

// A turn whose verdict does not count any more.
struct ExcludedTurn {
  uint32_t turn = 0;
  v1::Exclusion exclusion;
};

// Knows whose verdict each submission became, and what was excluded.
//
// An exclusion may come before the verdict that it concerns has been noted here; it is kept until then. Threads: safe.
class Exclusions {
 public:
  // `on_excluded` is told the trajectory's index, from the thread that calls Take, with no lock held.
  explicit Exclusions(std::function<void(size_t)> on_excluded) : on_excluded_(std::move(on_excluded)) {}

  // The turn of that trajectory counts with this verdict from now on. Verdicts that never saw the service are no
  // business of the monitor's.
  void Counts(size_t trajectory, uint32_t turn, const v1::Verdict& verdict) ABSL_LOCKS_EXCLUDED(mutex_);
  // An event of WatchExclusions. What is known already changes nothing.
  void Take(const v1::Event& event) ABSL_LOCKS_EXCLUDED(mutex_);
  // The earliest turn of the trajectory that was excluded and not yet rewound.
  std::optional<ExcludedTurn> Earliest(size_t trajectory) const ABSL_LOCKS_EXCLUDED(mutex_);
  // The trajectory goes on from `turn`: neither it nor later ones count now.
  void Rewound(size_t trajectory, uint32_t turn) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Counted {
    size_t trajectory;
    uint32_t turn;
    uint32_t attempt;
  };
  using Place = std::pair<size_t, uint32_t>;         // trajectory, turn
  using Attempt = std::pair<std::string, uint32_t>;  // submission, attempt

  const std::function<void(size_t)> on_excluded_;
  mutable absl::Mutex mutex_;
  std::map<std::string, Counted> counted_ ABSL_GUARDED_BY(mutex_);  // by submission
  std::map<Attempt, v1::Exclusion> early_ ABSL_GUARDED_BY(mutex_);  // bounded
  std::map<Place, v1::Exclusion> excluded_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_ROLLOUT_EXCLUSIONS_H_
