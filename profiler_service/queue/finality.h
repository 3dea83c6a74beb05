// When a timing is final.
//
// A GPU that throttles may be noticed up to a second after a timing has ended there. Holding every verdict back for
// that second would slow everybody down for the few that are excluded; so a verdict goes out with a PROVISIONAL timing,
// and TimingSettled follows when the monitor has vouched for its GPU beyond its end, or cannot any more.
#ifndef SASSAY_PROFILER_SERVICE_QUEUE_FINALITY_H_
#define SASSAY_PROFILER_SERVICE_QUEUE_FINALITY_H_

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "profiler_service/store/store.h"
#include "sassay/v1/control.pb.h"
#include "sassay/v1/verdict.pb.h"

namespace sassay::queue {

// Of a timing on a GPU that no monitor watched.
inline constexpr char kNobodyWatched[] = "no reliability monitor watched this GPU";
// Of one that was under way when a monitor began to watch its GPU, or began again.
inline constexpr char kWatchedInPart[] = "the reliability monitor watched its GPU only in part";

// Time of day, and the time for waiting (common/base/steady_time.h).
struct Clocks {
  std::function<absl::Time()> wall;
  std::function<absl::Time()> steady;
};

// Thread-safe. Owns no thread: Tick is called at NextDue.
//
// Times: monitor and store speak of the wall clock, which somebody may set at any moment: a watermark of after a jump
// forward has passed every timing of before it. So each of their times is taken as an age when it is heard, and what
// is compared are steady times. A timing of a process before this one counts as ended when this one began.
class Finality {
 public:
  // A monitor that has said nothing about a GPU for so long does not watch it.
  static constexpr absl::Duration kSilence = absl::Seconds(10);
  // One that speaks but cannot vouch for a GPU is not waited for longer.
  static constexpr absl::Duration kPatience = absl::Seconds(60);

  // Writes TimingSettled. Called without locks held; whatever came of it, the timing is forgotten here unless Retry
  // brings it back.
  using Settle = std::function<void(const store::Provisional& timing, absl::string_view warning)>;

  Finality(Clocks clocks, Settle settle);

  // Takes over what was open when the service ended, on GPUs that are `mine`; the monitor has kSilence to speak again.
  absl::Status Start(store::Store& store, const std::function<bool(absl::string_view gpu)>& mine);

  // The monitor's word: settles what its watermarks have passed.
  void Report(const sassay::v1::ReportHealthRequest& report) ABSL_LOCKS_EXCLUDED(mutex_);
  // Whether a monitor has spoken of this GPU within kSilence.
  bool Watched(absl::string_view gpu) const ABSL_LOCKS_EXCLUDED(mutex_);
  // Its last word on a GPU that it watches.
  absl::optional<sassay::v1::GpuHealth> Health(absl::string_view gpu) const ABSL_LOCKS_EXCLUDED(mutex_);

  // For how long no monitor has said that this GPU is unwell: it said that it was healthy until a moment ago, or
  // nothing. At most since this object was made.
  absl::Duration unblamed(absl::string_view gpu) const ABSL_LOCKS_EXCLUDED(mutex_);
  // Since a monitor last spoke, of whatever GPU; InfiniteDuration before it has.
  absl::Duration silent() const ABSL_LOCKS_EXCLUDED(mutex_);
  // Timings that are not final.
  size_t open() const ABSL_LOCKS_EXCLUDED(mutex_);

  // Makes the timing of a verdict that is reached now PROVISIONAL where somebody watches, and says so where nobody
  // does.
  void Mark(absl::string_view gpu, sassay::v1::Verdict& verdict) const ABSL_LOCKS_EXCLUDED(mutex_);

  // A verdict with a PROVISIONAL timing is durable.
  void Add(const store::Provisional& timing) ABSL_LOCKS_EXCLUDED(mutex_);
  // It could not be settled: the next Report or Tick tries again.
  void Retry(const store::Provisional& timing) ABSL_LOCKS_EXCLUDED(mutex_);
  // It was excluded.
  void Drop(absl::string_view id) ABSL_LOCKS_EXCLUDED(mutex_);

  // Settles, with a warning, what nobody will vouch for.
  void Tick() ABSL_LOCKS_EXCLUDED(mutex_);
  // When Tick has something to do, by the wall clock as it is now; InfiniteFuture if nothing is open.
  absl::Time NextDue() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  // Steady times, but for what `health` and `timing` say.
  struct Word {
    absl::Time heard;
    absl::Time through = absl::InfinitePast();  // while it cannot be said
    absl::Time since = absl::InfinitePast();    // where it is not said
    sassay::v1::GpuHealth health;
  };
  struct Open {
    absl::Time seated;
    absl::Time ended;
    store::Provisional timing;
  };
  struct Settled {
    store::Provisional timing;
    std::string warning;
  };

  Word Hear(const sassay::v1::GpuHealth& health) const;
  Open Take(const store::Provisional& timing, absl::Time ended) const;
  // The warning with which the monitor's word settles it, mostly none; nothing where it does not.
  absl::optional<std::string> Vouched(const Open& open) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool WatchedLocked(absl::string_view gpu) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Time SilentFrom(absl::string_view gpu) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Takes out of `open_` what `warning_of` answers for: nothing leaves it, a text (empty or not) settles it.
  std::vector<Settled> TakeOut(const std::function<absl::optional<std::string>(const Open&)>& warning_of)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void SettleAll(const std::vector<Settled>& settled) const;

  const Clocks clocks_;
  const Settle settle_;
  const absl::Time started_;
  void NoteUnwell(const sassay::v1::GpuHealth& health) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  mutable absl::Mutex mutex_;
  std::map<std::string, Word, std::less<>> words_ ABSL_GUARDED_BY(mutex_);         // by GPU
  std::map<std::string, absl::Time, std::less<>> unwell_ ABSL_GUARDED_BY(mutex_);  // by GPU: when that was last said
  std::map<std::string, Open, std::less<>> open_ ABSL_GUARDED_BY(mutex_);          // by submission
};

}  // namespace sassay::queue

#endif  // SASSAY_PROFILER_SERVICE_QUEUE_FINALITY_H_
