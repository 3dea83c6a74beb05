// Ends what one trajectory waits for.
#ifndef SASSAY_AGENT_ROLLOUT_TRAJECTORY_STOPS_H_
#define SASSAY_AGENT_ROLLOUT_TRAJECTORY_STOPS_H_

#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "common/rpc/stopper.h"

namespace sassay::agent {

// Two stoppers: an answer under way is paid for and may be let arrive while everything else stops, also the waits
// before an answer is asked for again. Who stops `asking` has stopped `judging`.
//
// Stoppers know no way back, and a trajectory that was rewound goes on: Renew gives new ones. Threads: safe; who waits
// on a stopper holds it.
class TrajectoryStops {
 public:
  std::shared_ptr<Stopper> asking() const {
    absl::MutexLock lock(&mutex_);
    return asking_;
  }
  std::shared_ptr<Stopper> judging() const {
    absl::MutexLock lock(&mutex_);
    return judging_;
  }
  void StopJudging() { judging()->Stop(); }
  void StopAll() {
    judging()->Stop();
    asking()->Stop();
  }
  void Renew() {
    absl::MutexLock lock(&mutex_);
    asking_ = std::make_shared<Stopper>();
    judging_ = std::make_shared<Stopper>();
  }

 private:
  mutable absl::Mutex mutex_;
  std::shared_ptr<Stopper> asking_ ABSL_GUARDED_BY(mutex_) = std::make_shared<Stopper>();
  std::shared_ptr<Stopper> judging_ ABSL_GUARDED_BY(mutex_) = std::make_shared<Stopper>();
};

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_ROLLOUT_TRAJECTORY_STOPS_H_
