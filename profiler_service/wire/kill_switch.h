// Cancellation of a stage that is waiting for a worker.
#ifndef SASSAY_PROFILER_SERVICE_WIRE_KILL_SWITCH_H_
#define SASSAY_PROFILER_SERVICE_WIRE_KILL_SWITCH_H_

#include <functional>
#include <set>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "profiler_service/wire/runner_client.h"

namespace sassay::wire {

// Kills the runners that a job holds at the moment, and those that it takes later, and wakes it where it waits for
// something else. Thread-safe.
//
// The thread that runs the job holds a Guard around each runner or wait; any other thread calls Pull, and the job's
// pending call returns CANCELLED at once. A guard's action runs with the switch locked: it must not touch the switch.
class KillSwitch {
 public:
  void Pull() {
    absl::MutexLock lock(&mutex_);
    pulled_ = true;
    for (const Guard* guard : guards_) guard->action_();
  }
  bool pulled() const {
    absl::MutexLock lock(&mutex_);
    return pulled_;
  }

  // Keeps `runner`, or any other action, within reach of the switch while it lives. The runner must outlive it; a null
  // switch is allowed.
  class Guard {
   public:
    Guard(KillSwitch* kill_switch, RunnerClient& runner) : Guard(kill_switch, [&runner] { runner.Kill(); }) {}
    Guard(KillSwitch* kill_switch, std::function<void()> action) : switch_(kill_switch), action_(std::move(action)) {
      if (switch_ == nullptr) return;
      absl::MutexLock lock(&switch_->mutex_);
      switch_->guards_.insert(this);
      if (switch_->pulled_) action_();
    }
    ~Guard() {
      if (switch_ == nullptr) return;
      absl::MutexLock lock(&switch_->mutex_);
      switch_->guards_.erase(this);
    }
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;

   private:
    friend class KillSwitch;
    KillSwitch* const switch_;
    const std::function<void()> action_;
  };

 private:
  mutable absl::Mutex mutex_;
  bool pulled_ ABSL_GUARDED_BY(mutex_) = false;
  std::set<const Guard*> guards_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace sassay::wire

#endif  // SASSAY_PROFILER_SERVICE_WIRE_KILL_SWITCH_H_
