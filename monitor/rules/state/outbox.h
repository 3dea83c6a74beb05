// Decisions that nobody has carried out yet.
//
// Why: the service may be away for hours. What was decided about a GPU meanwhile is replaced by what is decided later,
// in the right order; an exclusion or an incident is never dropped.
#ifndef SASSAY_MONITOR_RULES_STATE_OUTBOX_H_
#define SASSAY_MONITOR_RULES_STATE_OUTBOX_H_

#include <cstdint>
#include <list>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "monitor/rules/decision.h"

namespace sassay::monitor {

// Thread-compatible; waiting goes by the steady clock, windows inside decisions by the wall clock.
class Outbox {
 public:
  static constexpr absl::Duration kFirstPause = absl::Milliseconds(250);
  static constexpr absl::Duration kLongestPause = absl::Seconds(30);
  // Handed out for so long without an answer: handed out again.
  static constexpr absl::Duration kForgotten = absl::Seconds(90);
  // More pending revisions of incidents than this: only the newest of each incident is kept.
  static constexpr size_t kMostRevisions = 1000;

  // Adds one and gives it an id. Replaced by it are: older holds (pause, resume, release, quarantine) of the GPU, an
  // older exclusion of the same incident and GPU, an older canary or restart of the same GPU. `announces`: false for an
  // exclusion whose begin was said before.
  void Add(Decision decision, bool announces = true);
  // As restored, with its id.
  void Restore(Decision decision);

  // What may be carried out now, oldest first; each is handed out once, and again after a failure or if it was
  // forgotten.
  std::vector<Decision> HandOut(absl::Time now);

  // The decision with this id, as long as it is pending; null otherwise.
  const Decision* Find(uint64_t id) const;
  // It was done, or is given up.
  void Done(uint64_t id);
  // It failed: again after a pause.
  void Failed(uint64_t id, absl::Time now);

  // The earliest begin (wall clock) of a window on this GPU of which the service does not know yet; InfiniteFuture if
  // it knows all.
  absl::Time UnknownSince(const std::string& gpu) const;
  // Pending ones of a GPU (or of the host), oldest first.
  std::vector<Decision> Of(const std::string& gpu) const;

  uint64_t next_id() const { return next_id_; }
  void RestoreNextId(uint64_t id) { next_id_ = id > next_id_ ? id : next_id_; }
  size_t size() const { return entries_.size(); }

 private:
  struct Entry {
    Decision decision;
    bool under_way = false;
    bool replaced = false;  // kept only until the answer comes, as what replaced it waits for that
    bool unknown = false;   // an exclusion that the service has not heard of at all
    absl::Time handed_out = absl::InfinitePast();
    absl::Time not_before = absl::InfinitePast();
    absl::Duration pause = kFirstPause;
  };
  using Entries = std::list<Entry>;
  Entries::iterator At(uint64_t id);
  bool Waits(const Entry& entry) const;
  bool Replace(const Decision& by);
  void Shrink();

  Entries entries_;
  uint64_t next_id_ = 1;
};

}  // namespace sassay::monitor

#endif  // SASSAY_MONITOR_RULES_STATE_OUTBOX_H_
