// How long clients wait once everything is well again.
//
// A recovery is a moment at which the last disturbance has ended: every process runs, every host reaches every other.
// Of each turn that a client had begun by then and that was not over, its wait ends when the client holds what shows
// that it is worked at: an event that a node wrote after the recovery (a stage begun or ended), the verdict, or the end
// of the turn. What a client hears late because its stream was slow to come back is part of the wait, and so is a
// submission that had not been accepted yet.
#ifndef SASSAY_TESTS_END_TO_END_RECOVERIES_H_
#define SASSAY_TESTS_END_TO_END_RECOVERIES_H_

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "sassay/v1/events.pb.h"

namespace sassay::testing {

// Nobody waits longer than a lease and five seconds.
inline absl::Duration LongestWait(absl::Duration lease) { return lease + absl::Seconds(5); }

// Thread-safe.
class Recoveries {
 public:
  // What a client does and sees, at the moment at which it does.
  void Begun(size_t turn) ABSL_LOCKS_EXCLUDED(mutex_);
  void Saw(size_t turn, const sassay::v1::Event& event) ABSL_LOCKS_EXCLUDED(mutex_);
  void Over(size_t turn) ABSL_LOCKS_EXCLUDED(mutex_);

  // Everything is well from now on. Returns when nobody who was under way waits any more, or after `patience`; who
  // still waits then is counted with what he has waited by then.
  void Note(absl::Duration patience) ABSL_LOCKS_EXCLUDED(mutex_);
  // The same for the verdict: from a recovery to the end of each turn that was under way. Tells how fast the work was,
  // not how long nobody worked.
  std::vector<absl::Duration> UntilOver() const ABSL_LOCKS_EXCLUDED(mutex_);
  // All waits of all recoveries, shortest first.
  std::vector<absl::Duration> Waits() const ABSL_LOCKS_EXCLUDED(mutex_);
  // The turns that waited longer than `bound`, with what was seen of them.
  std::string LongerThan(absl::Duration bound) const ABSL_LOCKS_EXCLUDED(mutex_);
  int count() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Turn {
    bool waits = false;  // since the last recovery
    bool over = false;
    absl::Time under_way_at = absl::InfinitePast();  // the first recovery that it saw
    std::string seen;
  };
  bool NobodyWaits() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return waiting_ == 0; }
  void EndWait(size_t number, Turn& turn) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  mutable absl::Mutex mutex_;
  std::map<size_t, Turn> turns_ ABSL_GUARDED_BY(mutex_);
  absl::Time recovered_at_ ABSL_GUARDED_BY(mutex_) = absl::InfiniteFuture();
  int recoveries_ ABSL_GUARDED_BY(mutex_) = 0;
  int waiting_ ABSL_GUARDED_BY(mutex_) = 0;
  std::map<size_t, absl::Duration> longest_ ABSL_GUARDED_BY(mutex_);  // by turn
  std::vector<absl::Duration> waits_ ABSL_GUARDED_BY(mutex_), until_over_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace sassay::testing

#endif  // SASSAY_TESTS_END_TO_END_RECOVERIES_H_
