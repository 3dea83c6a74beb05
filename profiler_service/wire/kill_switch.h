// Cancellation of a stage that is waiting for a worker.
#ifndef SASSAY_PROFILER_SERVICE_WIRE_KILL_SWITCH_H_
#define SASSAY_PROFILER_SERVICE_WIRE_KILL_SWITCH_H_

#include <set>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "profiler_service/wire/runner_client.h"

namespace sassay::wire {

// Kills the runners that a job holds at the moment, and those that it takes later. Thread-safe.
//
// The thread that runs the job holds a Guard around each runner; any other thread calls Pull, and the job's pending
// call returns CANCELLED at once.
class KillSwitch {
 public:
  void Pull() {
    absl::MutexLock lock(&mutex_);
    pulled_ = true;
    for (RunnerClient* runner : runners_) runner->Kill();
  }
  bool pulled() const {
    absl::MutexLock lock(&mutex_);
    return pulled_;
  }

  // Keeps `runner` within reach of the switch while it lives. The runner must outlive it; a null switch is allowed.
  class Guard {
   public:
    Guard(KillSwitch* kill_switch, RunnerClient& runner) : switch_(kill_switch), runner_(runner) {
      if (switch_ == nullptr) return;
      absl::MutexLock lock(&switch_->mutex_);
      switch_->runners_.insert(&runner_);
      if (switch_->pulled_) runner_.Kill();
    }
    ~Guard() {
      if (switch_ == nullptr) return;
      absl::MutexLock lock(&switch_->mutex_);
      switch_->runners_.erase(&runner_);
    }
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;

   private:
    KillSwitch* const switch_;
    RunnerClient& runner_;
  };

 private:
  mutable absl::Mutex mutex_;
  bool pulled_ ABSL_GUARDED_BY(mutex_) = false;
  std::set<RunnerClient*> runners_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace sassay::wire

#endif  // SASSAY_PROFILER_SERVICE_WIRE_KILL_SWITCH_H_
