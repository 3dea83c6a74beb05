// Until when one GPU was watched: the time up to which everything that must be read was read, without a gap that
// nothing proves healthy.
#ifndef SASSAY_MONITOR_RULES_WATCH_WATERMARK_H_
#define SASSAY_MONITOR_RULES_WATCH_WATERMARK_H_

#include <map>
#include <string>

#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "monitor/sources/source.h"
#include "sassay/v1/monitor.pb.h"

namespace sassay::monitor {

// A time that nobody can vouch for.
struct Unwatched {
  absl::Time from;
  absl::Time to;
};

// Thread-compatible; times are steady. Never goes back.
class Watermark {
 public:
  // `policy` must outlive it.
  explicit Watermark(const v1::WatermarkPolicy& policy) : policy_(policy) {}

  // A sample of this GPU, or of a source (signal source.silent_seconds).
  void Take(const Sample& sample);
  // Once, before the first sample: what a monitor before this one knew.
  void Restore(absl::Time through, absl::Time since, const std::map<std::string, double>& counters);

  // Moves on, but never past `limit` (the first bad sample that is not excluded). Returns a gap that turned out to be
  // unproven: whoever excludes it then lets the mark pass.
  absl::optional<Unwatched> Advance(absl::Time now, absl::Time limit);

  // InfinitePast while it cannot be said.
  absl::Time through() const { return through_; }
  // Since when that holds: of the time before the first reading, or in a gap that nothing proves, nothing is known.
  absl::Time since() const { return since_; }
  // Newest values of the cumulative counters.
  std::map<std::string, double> Counters() const;

 private:
  struct Counter {
    double value = 0;
    absl::Time unchanged_since;
    absl::Time newest;
  };
  void TakeProof(const Sample& sample);
  void TakeRequired(const Sample& sample);
  absl::Time Newest() const;
  bool Proven() const;
  bool ProofsCame() const;
  absl::optional<Unwatched> CloseGap(absl::Time now);

  const v1::WatermarkPolicy& policy_;
  std::map<std::string, absl::Time> signals_;
  std::map<std::string, absl::Time> sources_;
  std::map<std::string, Counter> counters_;
  absl::optional<Unwatched> gap_;
  absl::Time restored_ = absl::InfinitePast();
  absl::Time accounted_ = absl::InfinitePast();  // the end of the last gap, which other signals may fill later
  absl::Time through_ = absl::InfinitePast();
  absl::Time since_ = absl::InfinitePast();
};

}  // namespace sassay::monitor

#endif  // SASSAY_MONITOR_RULES_WATCH_WATERMARK_H_
