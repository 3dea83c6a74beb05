// One condition of a rule on one GPU (or the host): whether it is bad, since when, and since when it is good again.
//
// Why apart from the rule: windows, hysteresis and "the first bad sample, which may lie before the detection" are the
// same for every rule, and are where a mistake would exclude the wrong turns.
#ifndef SASSAY_MONITOR_RULES_WATCH_CONDITION_WATCH_H_
#define SASSAY_MONITOR_RULES_WATCH_CONDITION_WATCH_H_

#include <deque>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "monitor/sources/source.h"
#include "sassay/v1/monitor.pb.h"

namespace sassay::monitor {

// Levels (a number that is read again and again) are bad from the sample that makes the window's aggregate pass the
// limit, and good from the one that brings it back past `clear`; without samples they stay what they are. Events
// (codes, COUNT, single samples of what only comes on occasion) are bad while there are enough of them in the window. A
// level that only comes on occasion (signals.h) is forgotten when nothing was heard for ten minutes or the window,
// whichever is longer.
//
// Thread-compatible; times are steady; keeps kMostSamples samples of its window at most (of more, the newest).
class ConditionWatch {
 public:
  static constexpr size_t kMostSamples = 1024;

  // `condition` must outlive it.
  explicit ConditionWatch(const v1::Condition& condition);

  // Whether a sample of the right signal and text is for this condition.
  bool Wants(const Sample& sample) const;
  // Takes a sample that it wants. One that is older than the newest is taken as if it came at the newest's time.
  void Take(const Sample& sample);
  // Time passes: windows slide.
  void Advance(absl::Time now);

  bool bad() const { return bad_; }
  bool event() const { return event_; }
  // Of the current, or else the last bad time; InfinitePast if there was none.
  absl::Time first_bad() const { return first_bad_; }
  absl::Time last_bad() const { return last_bad_; }
  // The last good sample before first_bad(); InfinitePast if there was none.
  absl::Time good_before() const { return good_before_; }
  // While good: the first good sample after a bad one, or the first at all.
  absl::Time good_since() const { return good_since_; }
  // Newest sample of any kind.
  absl::Time newest() const { return newest_; }
  // It was good for `hold`, as samples say (levels) or as none came (events); true where nothing was ever heard.
  bool Held(absl::Duration hold, absl::Time now) const;
  // The first sample of a window that may yet turn out bad; nullopt if there is none.
  absl::optional<absl::Time> DoubtSince() const;
  // The samples of the window and the good one before them, oldest first, eight at most, as of this GPU.
  std::vector<Sample> Evidence(const std::string& gpu) const;

 private:
  // A sample without what all of them have in common: there are many.
  struct Seen {
    absl::Time at;
    double value = 0;
    std::string text;
  };
  bool TextFits(const Sample& sample) const;
  bool Beyond(double value) const;
  bool Cleared(double value) const;
  bool BadByItself(const Seen& sample) const;
  absl::optional<double> Aggregate() const;
  bool IsCounter() const;
  bool StandsStill(double value) const;
  double Mean() const;
  double Best() const;
  double Middle() const;
  double Increase() const;
  absl::Time FirstBadOfWindow() const;
  void Judge(const Seen& sample);
  void TurnBad(absl::Time first, absl::Time last);
  void Trim(absl::Time now);
  void TakeEvent(const Seen& sample);

  const v1::Condition& condition_;
  const bool occasional_;
  const bool event_;
  const absl::Duration window_;
  const size_t min_samples_;
  // The samples of the window, and for windows the newest one before it.
  std::deque<Seen> samples_;
  absl::optional<Seen> last_good_;
  bool bad_ = false;
  absl::Time first_bad_ = absl::InfinitePast();
  absl::Time last_bad_ = absl::InfinitePast();
  absl::Time good_before_ = absl::InfinitePast();
  absl::Time good_since_ = absl::InfinitePast();
  absl::Time newest_ = absl::InfinitePast();
};

}  // namespace sassay::monitor

#endif  // SASSAY_MONITOR_RULES_WATCH_CONDITION_WATCH_H_
