// One rule on one GPU (or the host): its conditions together, and what excuses its events.
#ifndef SASSAY_MONITOR_RULES_WATCH_RULE_WATCH_H_
#define SASSAY_MONITOR_RULES_WATCH_RULE_WATCH_H_

#include <deque>
#include <memory>
#include <vector>

#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "monitor/rules/watch/condition_watch.h"
#include "monitor/sources/source.h"
#include "sassay/v1/monitor.pb.h"

namespace sassay::monitor {

// An event that a conviction explains.
struct Excused {
  Sample event;
  Sample by;
};

// Thread-compatible; times are steady. Events that may still be excused wait, so the rule fires `excuse.within_s` late,
// with a window that begins at the event.
class RuleWatch {
 public:
  static constexpr size_t kMostWaiting = 256;

  // `rule` must outlive it.
  explicit RuleWatch(const v1::Rule& rule);

  const v1::Rule& rule() const { return rule_; }
  // A sample of one of the rule's signals, or of the one that excuses.
  void Take(const Sample& sample);
  // Time passes; returns what was excused since.
  std::vector<Excused> Advance(absl::Time now);

  // One condition is bad.
  bool bad() const;
  // A level is bad now, which an event never is: it has happened.
  bool LastsOn() const;
  // Where the window of the current bad time begins: reach_back_s and the last good sample are in it.
  absl::Time WindowBegin() const;
  absl::Time LastBad() const;
  // All conditions are good again and were so for clear_after_s; `since`: where the window ends. What a restarted
  // monitor still knows of the last bad sample (`last_bad`) counts like one that it took itself.
  absl::optional<absl::Time> HeldGoodSince(absl::Time now, absl::Time last_bad) const;
  // Where a window would begin that may yet turn out bad; nullopt if none may.
  absl::optional<absl::Time> DoubtSince() const;
  std::vector<Sample> Evidence() const;
  // The newest sample that the rule took.
  const Sample& newest() const { return newest_; }

 private:
  absl::Time Begin(absl::Time first_bad, absl::Time good_before) const;
  void Feed(const Sample& sample);
  bool Excuses(const Sample& excuse, const Sample& event, absl::Duration within) const;
  bool Excusable() const { return rule_.has_excuse(); }

  const v1::Rule& rule_;
  std::vector<std::unique_ptr<ConditionWatch>> conditions_;
  std::deque<Sample> waiting_;
  std::deque<Sample> excuses_;
  Sample newest_;
};

}  // namespace sassay::monitor

#endif  // SASSAY_MONITOR_RULES_WATCH_RULE_WATCH_H_
