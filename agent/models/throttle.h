// How many calls may be under way at once, and since when the server wants peace.
//
// Why shared: a server that turns one caller away is as full for all others. Were each to find out for itself, every
// one of hundreds would be turned away in turn, again and again.
#ifndef SASSAY_AGENT_MODELS_THROTTLE_H_
#define SASSAY_AGENT_MODELS_THROTTLE_H_

#include <cstdint>
#include <map>

#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "common/rpc/stopper.h"

namespace sassay::agent {

// Lets callers in by their order of arrival, up to a limit that adapts: refusals halve it, once for each generation of
// calls, and each good answer raises it by its share (as TCP does), up to the limit that was set. While the server
// wants peace nobody is let in.
//
// Thread-safe. Waits end by events and deadlines alone.
class Throttle {
 public:
  // `limit`: 0 for none.
  explicit Throttle(uint32_t limit);

  // A place; given back on destruction.
  class Pass {
   public:
    Pass(Pass&& other) noexcept : throttle_(other.throttle_), entered_(other.entered_) { other.throttle_ = nullptr; }
    Pass& operator=(Pass&&) = delete;
    ~Pass();
    // The server answered.
    void Succeeded();
    // The server turned this call away and wants no other before `wait` is over.
    void Refused(absl::Duration wait);

   private:
    friend class Throttle;
    Pass(Throttle& throttle, absl::Time entered) : throttle_(&throttle), entered_(entered) {}
    Throttle* throttle_;
    absl::Time entered_;
  };

  // Blocks for a place. CANCELLED by the stopper.
  absl::StatusOr<Pass> Enter(Stopper& stopper);

  // Calls that may be under way now; for tests and notes.
  double width() const;
  // Callers that wait for a place.
  size_t waiting() const;

 private:
  struct Waiter {
    bool stopped = false;
  };

  absl::Time Now() const;
  bool MayEnter(uint64_t ticket) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const double limit_;
  mutable absl::Mutex mutex_;
  double width_ ABSL_GUARDED_BY(mutex_);
  uint32_t active_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t last_ticket_ ABSL_GUARDED_BY(mutex_) = 0;
  // Those who wait, by their order of arrival.
  std::map<uint64_t, Waiter> waiting_ ABSL_GUARDED_BY(mutex_);
  absl::Time peace_until_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
  absl::Time narrowed_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
};

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_MODELS_THROTTLE_H_
