// Bounds how many threads do the same thing at once: answers under way, compilers, submissions.
#ifndef SASSAY_AGENT_ROLLOUT_SLOTS_H_
#define SASSAY_AGENT_ROLLOUT_SLOTS_H_

#include <cstddef>
#include <deque>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace sassay::agent {

// A counted set of places, given in the order in which they were asked for.
//
// Life cycle: Close ends all waiting, for good; places that are held stay held. Threads: safe.
class Slots {
 public:
  explicit Slots(size_t count) : free_(count) {}

  // One place, given back on destruction; nothing if the slots were closed.
  class Place {
   public:
    Place() = default;
    explicit Place(Slots* slots) : slots_(slots) {}
    Place(Place&& other) noexcept : slots_(std::exchange(other.slots_, nullptr)) {}
    Place& operator=(Place&& other) noexcept;
    ~Place() { Release(); }
    explicit operator bool() const { return slots_ != nullptr; }
    void Release();

   private:
    Slots* slots_ = nullptr;
  };

  // Waits for a place.
  Place Take() ABSL_LOCKS_EXCLUDED(mutex_);
  void Close() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Waiter {
    absl::CondVar called;
    bool given = false;
  };
  void GiveBack() ABSL_LOCKS_EXCLUDED(mutex_);

  absl::Mutex mutex_;
  size_t free_ ABSL_GUARDED_BY(mutex_);
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  std::deque<Waiter*> waiting_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_ROLLOUT_SLOTS_H_
