// The service's lanes: which job goes where, and which device takes nothing for now.
//
// Why: a device that fails at once is always the emptiest. Left to itself it would take every submission's attempts
// while the others idle.
#ifndef SASSAY_PROFILER_SERVICE_PIPELINE_LANES_LANES_H_
#define SASSAY_PROFILER_SERVICE_PIPELINE_LANES_LANES_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "profiler_service/pipeline/lanes/lane.h"
#include "profiler_service/wire/kill_switch.h"

namespace sassay::pipeline {

// Thread-safe. Owns the lanes; must outlive the seats. A lane that was reported sick takes nothing until a thread of
// this class has seen a fresh runner come up on it, which it tries every `probe_every`.
class Lanes {
 public:
  // A job waits so long at a time when no lane that it may have is open.
  static constexpr absl::Duration kClosedPatience = absl::Minutes(1);

  Lanes(std::vector<std::unique_ptr<Lane>> lanes, absl::Duration probe_every,
        absl::Duration closed_patience = kClosedPatience);
  ~Lanes();

  // A job's place on a lane, given back when it is destroyed. Move-only.
  class Seat {
   public:
    Seat(Seat&& other) noexcept
        : lanes_(std::exchange(other.lanes_, nullptr)), index_(other.index_), abandoned_(other.abandoned_) {}
    Seat& operator=(Seat&&) = delete;
    ~Seat() {
      if (lanes_ != nullptr) lanes_->Leave(index_);
    }
    Lane& lane() const { return lanes_->lane(index_); }
    size_t index() const { return index_; }
    // OK, or why the job has lost its workers (Lanes::Abandon): whatever it sees from then on says nothing about its
    // candidate.
    absl::Status lost() const { return lanes_->WhyLost(index_, abandoned_); }

   private:
    friend class Lanes;
    Seat(Lanes* lanes, size_t index, uint64_t abandoned) : lanes_(lanes), index_(index), abandoned_(abandoned) {}
    Lanes* lanes_;
    const size_t index_;
    const uint64_t abandoned_;
  };

  size_t size() const { return places_.size(); }
  Lane& lane(size_t index) const { return *places_[index].lane; }
  // Seats of all lanes together.
  uint32_t seats() const;

  // Waits for a seat on one of `fitting` (indices): the emptiest, and one whose label is among `earlier` (where the job
  // failed before) only if no other takes jobs. UNAVAILABLE at the deadline if none does, with the reason;
  // DEADLINE_EXCEEDED if those that do stayed full; ABORTED if none was open for the time of patience, one of them only
  // because it is closed: the time until the deadline is better kept; CANCELLED within a moment after `cancelled` says
  // so.
  absl::StatusOr<Seat> Take(const std::vector<size_t>& fitting, const std::vector<std::string>& earlier,
                            absl::Time deadline, const std::function<bool()>& cancelled) ABSL_LOCKS_EXCLUDED(mutex_);
  // A fresh runner did not come up there.
  void Sick(size_t index, const absl::Status& why) ABSL_LOCKS_EXCLUDED(mutex_, listener_mutex_);
  int jobs(size_t index) const ABSL_LOCKS_EXCLUDED(mutex_);
  // It takes jobs, and has a free seat.
  bool has_room(size_t index) const ABSL_LOCKS_EXCLUDED(mutex_);

  // A lane that is closed takes no further job; those that have a seat there go on. `why` is what jobs say that find no
  // other lane. Idempotent; the last `why` stands.
  void Close(size_t index, absl::string_view why) ABSL_LOCKS_EXCLUDED(mutex_, listener_mutex_);
  void Open(size_t index) ABSL_LOCKS_EXCLUDED(mutex_, listener_mutex_);
  // Takes away the workers of the jobs that have a seat there: each gives up at once, and its attempt is lost.
  void Abandon(size_t index, absl::string_view why) ABSL_LOCKS_EXCLUDED(mutex_);
  // How many jobs there may be at once: seats of lanes that are open and well, and those that jobs still have on
  // others.
  uint32_t open_seats() const ABSL_LOCKS_EXCLUDED(mutex_);
  // As Gpus::OnSeatsChange.
  void OnSeatsChange(std::function<void(uint32_t)> listener) ABSL_LOCKS_EXCLUDED(mutex_, listener_mutex_);

 private:
  struct Place {
    std::unique_ptr<Lane> lane;
    int jobs = 0;
    absl::Status sick;
    absl::Time probe_at = absl::InfinitePast();
    absl::optional<std::string> closed;  // why
    uint64_t abandoned = 0;              // how often
    std::string why_abandoned;           // the last time

    bool takes() const { return sick.ok() && !closed.has_value(); }
  };

  bool Free(size_t index) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The seat to take now; size() if there is none.
  size_t Best(const std::vector<size_t>& fitting, const std::vector<std::string>& earlier) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Whether jobs wait because somebody wants them to.
  bool Closed(const std::vector<size_t>& fitting) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status WhyNone(const std::vector<size_t>& fitting) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status WhyLost(size_t index, uint64_t abandoned) const ABSL_LOCKS_EXCLUDED(mutex_);
  void Leave(size_t index) ABSL_LOCKS_EXCLUDED(mutex_, listener_mutex_);
  void TellSeats() ABSL_LOCKS_EXCLUDED(mutex_, listener_mutex_);
  void Watch() ABSL_LOCKS_EXCLUDED(mutex_, listener_mutex_);
  // Waits until a sick lane is due; size() when this object goes away.
  size_t NextDue() ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status Probe(Lane& lane);

  const absl::Duration probe_every_, closed_patience_;
  std::vector<Place> places_;  // the lanes themselves never change; the rest is guarded
  mutable absl::Mutex mutex_;
  absl::CondVar changed_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  wire::KillSwitch stop_;  // ends a probe under way
  absl::Mutex listener_mutex_
      ABSL_ACQUIRED_BEFORE(mutex_);  // held while it is called: one after another, none after its end
  std::function<void(uint32_t)> listener_ ABSL_GUARDED_BY(listener_mutex_);
  std::thread watcher_;
};

}  // namespace sassay::pipeline

#endif  // SASSAY_PROFILER_SERVICE_PIPELINE_LANES_LANES_H_
