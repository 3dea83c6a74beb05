// A run: many trajectories at once, until all have ended or something stops them.
#ifndef SASSAY_AGENT_ROLLOUT_ROLLOUT_H_
#define SASSAY_AGENT_ROLLOUT_ROLLOUT_H_

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "agent/rollout/trajectory_worker.h"

namespace sassay::agent {

// How much at once, and how patiently.
struct RolloutOptions {
  // Answers under way.
  size_t parallel = 1;
  // Trajectories that are worked on; each has a thread, which mostly waits.
  size_t in_flight = 500;
  RetryPolicy infrastructure = {absl::Seconds(1), absl::Minutes(1), absl::Minutes(30)};
  Language language = Language::kCuda;
  std::function<absl::Time()> now;
};

// What a run is made of; all of it outlives the Rollout.
struct RolloutParts {
  RunFolder& folder;
  Model& model;
  Judge& judge;
  Board& board;
  std::function<std::string(const v1::Verdict&, const v1::Workload&)> notes;
  // Watches for late exclusions until it is stopped; empty: nobody does.
  std::function<void(Stopper&, const std::function<void(const v1::Event&)>&)> watch_exclusions;
  // Tells of what was excluded before this run went on, all of it before it returns; empty: a run that is new.
  std::function<absl::Status(Stopper&, const std::function<void(const v1::Event&)>&)> past_exclusions;
};

// Runs trajectories, each in a thread that blocks. Generation and profiling overlap because nothing but places
// (answers, compilers, submissions) couples one trajectory to another.
//
// Life cycle: Run once. Threads: Interrupt from any. Failure: Run returns OK when every trajectory has ended; CANCELLED
// after Interrupt; else what stopped the run: UNAVAILABLE when the patience with infrastructure or provider is used up,
// or a refusal that concerns the whole run. In every case the folder can be resumed.
class Rollout {
 public:
  Rollout(RolloutParts parts, RolloutOptions options, std::vector<TrajectorySpec> specs, Spending& spending);

  absl::Status Run();
  // The first time no question is asked any more, answers under way (which are paid for) may arrive, and everything
  // else stops at once; the second time they are cut off too.
  void Interrupt(int times);

 private:
  struct Place {
    TrajectoryStops stops;
    bool working = false;
    bool queued = true;
  };
  void AskWhatWasExcluded();
  void Serve();
  bool TakeNext(size_t& index) ABSL_LOCKS_EXCLUDED(mutex_);
  void Finish(size_t index, const absl::Status& status) ABSL_LOCKS_EXCLUDED(mutex_);
  void OnExcluded(size_t index) ABSL_LOCKS_EXCLUDED(mutex_);
  void Stop(const absl::Status& why) ABSL_LOCKS_EXCLUDED(mutex_);

  const RolloutParts parts_;
  const RolloutOptions options_;
  const std::vector<TrajectorySpec> specs_;
  Slots answers_;
  Slots readers_;
  Exclusions exclusions_;
  std::atomic<bool> closing_ = false;
  Stopper asking_what_was_excluded_;
  RolloutContext context_;

  absl::Mutex mutex_;
  std::vector<std::unique_ptr<Place>> places_;
  std::deque<size_t> waiting_ ABSL_GUARDED_BY(mutex_);
  size_t working_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_ROLLOUT_ROLLOUT_H_
