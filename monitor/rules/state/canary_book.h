// The canaries of one GPU: when the next one runs, and what its times mean.
//
// Why not a plain rule: one time is noisy by about 1 %, and a slow-down of 3 % must be found without holding a healthy
// GPU for noise. A suspicious time is repeated, and the majority decides.
#ifndef SASSAY_MONITOR_RULES_STATE_CANARY_BOOK_H_
#define SASSAY_MONITOR_RULES_STATE_CANARY_BOOK_H_

#include <deque>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "sassay/v1/monitor.pb.h"

namespace sassay::monitor {

// Nanoseconds of the two kernels; 0 where there is none.
struct CanaryTimes {
  double tensor_ns = 0;
  double memory_ns = 0;
};

// What a canary, repeated where necessary, came to.
struct CanaryVerdict {
  bool clean = false;
  absl::Time at;  // steady: the suspicious one that began it, or else the last
  double tensor_ratio =
      0;  // over what it is compared with; above 1 is slower; 0 where there is nothing to compare with
  double memory_ratio = 0;
  double tensor_peer_ratio = 0;
  double memory_peer_ratio = 0;
};

// Thread-compatible; times are steady.
class CanaryBook {
 public:
  // `policy` must outlive it.
  explicit CanaryBook(const v1::CanaryPolicy& policy) : policy_(policy) {}

  // One is wanted, whatever the period says.
  void Want() { wanted_ = true; }
  // Whether one is to be asked for now: wanted, the period is over (if `healthy`), or a suspicion is to be confirmed.
  bool IsDue(absl::Time now, bool healthy) const;
  // It was asked for; nothing is due until it came, failed or the time-out is over.
  void Asked(absl::Time now);
  // It ran: compared with this GPU's history or, while that is short, with `peers` (medians of the other GPUs of the
  // model). nullopt while it has to be repeated. A clean verdict joins the history if `remember`.
  absl::optional<CanaryVerdict> Took(absl::Time at, const CanaryTimes& times, const CanaryTimes& peers, bool remember);
  // It did not run; asked again at `again`.
  void Failed(absl::Time again);
  // There can be none here.
  void SetImpossible() { impossible_ = true; }
  bool impossible() const { return impossible_; }

  // Since when a suspicion is being confirmed.
  absl::optional<absl::Time> DoubtSince() const;
  // Of the history; zeros while it is too short.
  const CanaryTimes& Reference() const { return reference_; }
  absl::Time last() const { return last_; }
  const absl::optional<CanaryVerdict>& verdict() const { return verdict_; }

  // For the journal.
  const std::deque<CanaryTimes>& history() const { return history_; }
  void Restore(std::deque<CanaryTimes> history, absl::Time last, bool impossible);

 private:
  struct Run {
    absl::Time at;
    CanaryTimes ratios;
  };
  // How many of the runs are suspicious, by one of the two kernels.
  size_t Suspicious(double CanaryTimes::*kernel) const;
  bool Decided(bool& clean) const;
  CanaryVerdict Conclude(bool clean) const;
  void Remember();
  void SetReference();

  const v1::CanaryPolicy& policy_;
  std::deque<CanaryTimes> history_;
  CanaryTimes reference_;
  std::vector<Run> runs_;
  std::vector<CanaryTimes> times_;
  absl::optional<CanaryVerdict> verdict_;
  bool wanted_ = true;
  bool impossible_ = false;
  absl::Time asked_ = absl::InfinitePast();
  bool in_flight_ = false;
  absl::Time not_before_ = absl::InfinitePast();
  absl::Time last_ = absl::InfinitePast();
};

}  // namespace sassay::monitor

#endif  // SASSAY_MONITOR_RULES_STATE_CANARY_BOOK_H_
