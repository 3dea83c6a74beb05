// Carries decisions out, without keeping the engine waiting.
#ifndef SASSAY_MONITOR_ACTIONS_EXECUTOR_H_
#define SASSAY_MONITOR_ACTIONS_EXECUTOR_H_

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "monitor/actions/carry_out.h"
#include "monitor/rules/decision.h"

namespace sassay::monitor {

// What a decision is carried out with; CarryOut with its client in the program.
using CarryOutFunction = std::function<Outcome(const Decision&)>;

// One attempt for each decision it is given; whether and when to try again is the engine's to say (Engine::Due).
//
// Order: decisions on one GPU one after the other, as they were given; different GPUs, canaries, incidents and the
// service's restart each on a thread of their own, so that a canary that waits for its GPU or a restart that takes a
// minute holds up no pause. Life cycle: the destructor lets calls under way end and drops what waits (it is pending in
// the engine's journal). Threads: thread-safe; `done` is called from any thread after each outcome, quick.
class Executor {
 public:
  Executor(CarryOutFunction carry_out, std::function<void()> done);
  ~Executor();

  // Takes up those that are not under way already.
  void Submit(const std::vector<Decision>& due) ABSL_LOCKS_EXCLUDED(mutex_);
  // What has come since the last call. A decision counts as under way until its outcome was taken.
  std::vector<Outcome> TakeOutcomes() ABSL_LOCKS_EXCLUDED(mutex_);
  // Decisions under way, those that wait included.
  size_t under_way() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Lane;
  void RunLane(Lane& lane) ABSL_LOCKS_EXCLUDED(mutex_);

  const CarryOutFunction carry_out_;
  const std::function<void()> done_;
  mutable absl::Mutex mutex_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::set<uint64_t> under_way_ ABSL_GUARDED_BY(mutex_);
  std::vector<Outcome> outcomes_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, std::unique_ptr<Lane>> lanes_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace sassay::monitor

#endif  // SASSAY_MONITOR_ACTIONS_EXECUTOR_H_
