// Who may use a device: many stages that only need it, as far as its memory goes, or one that wants it alone.
#ifndef SASSAY_PROFILER_SERVICE_PIPELINE_LANES_DEVICE_LEASE_H_
#define SASSAY_PROFILER_SERVICE_PIPELINE_LANES_DEVICE_LEASE_H_

#include <cstdint>
#include <functional>
#include <list>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace sassay::pipeline {

// A reader-writer lease that counts bytes. Of one kind, first come, first served: a large candidate is not starved by
// small ones. Who comes alone is let in whatever it needs; admission has bounded that. Thread-safe; must outlive what
// it handed out.
//
// Between the kinds each overtakes the other for a while, then no more. Others join those that share the device though
// somebody waits to have it alone: he waits for the longest of them (a kernel that hangs) anyway, and nobody should
// wait with him. Once it is empty, all who want it alone go one after another: it empties once for them all.
class DeviceLease {
 public:
  enum class Mode { kShared, kExclusive };

  // How long who waits may be overtaken by those who came later and want the other mode.
  struct Patience {
    absl::Duration exclusive = absl::Seconds(1);
    absl::Duration shared = absl::Seconds(10);
  };

  // `memory_bytes`: what all holders together may need.
  explicit DeviceLease(uint64_t memory_bytes) : DeviceLease(memory_bytes, Patience{}) {}
  DeviceLease(uint64_t memory_bytes, Patience patience) : memory_bytes_(memory_bytes), patience_(patience) {}

  // How the time went since the lease was made.
  struct Usage {
    absl::Duration exclusive;
    // Shared, and nobody waits to have it alone.
    absl::Duration shared;
    // Shared, while somebody waits to have it alone.
    absl::Duration awaited;
    uint64_t times_exclusive = 0;
  };
  Usage usage() const ABSL_LOCKS_EXCLUDED(mutex_);

  // Holds the lease until it is destroyed. Move-only.
  class Held {
   public:
    Held(Held&& other) noexcept
        : lease_(std::exchange(other.lease_, nullptr)), mode_(other.mode_), bytes_(other.bytes_) {}
    Held& operator=(Held&&) = delete;
    ~Held() {
      if (lease_ != nullptr) lease_->Release(mode_, bytes_);
    }

   private:
    friend class DeviceLease;
    Held(DeviceLease* lease, Mode mode, uint64_t bytes) : lease_(lease), mode_(mode), bytes_(bytes) {}
    DeviceLease* lease_;
    Mode mode_;
    uint64_t bytes_;
  };

  // Deadlines are SteadyNow's. DEADLINE_EXCEEDED, or CANCELLED within a moment after `cancelled` says so.
  absl::StatusOr<Held> Acquire(Mode mode, uint64_t bytes, absl::Time deadline, const std::function<bool()>& cancelled)
      ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Waiter {
    Mode mode;
    uint64_t bytes;
    uint64_t ticket;
    absl::Time since;
  };

  // Who waits longest for this mode; null if nobody does.
  const Waiter* First(Mode mode) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Who is to be let in now; null if nobody is.
  const Waiter* Next() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Whether `waiter` goes before `other`, who wants the other mode.
  bool Overtakes(const Waiter& waiter, const Waiter& other) const;
  // Books the time since the last change. Call before anything changes.
  void Account() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool Fits(uint64_t bytes) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Release(Mode mode, uint64_t bytes) ABSL_LOCKS_EXCLUDED(mutex_);

  const uint64_t memory_bytes_;
  const Patience patience_;
  mutable absl::Mutex mutex_;
  absl::CondVar changed_;
  int readers_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t held_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t tickets_ ABSL_GUARDED_BY(mutex_) = 0;
  std::list<Waiter> waiting_ ABSL_GUARDED_BY(mutex_);  // first come first
  bool writer_ ABSL_GUARDED_BY(mutex_) = false;
  Usage usage_ ABSL_GUARDED_BY(mutex_);
  absl::Time booked_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace sassay::pipeline

#endif  // SASSAY_PROFILER_SERVICE_PIPELINE_LANES_DEVICE_LEASE_H_
