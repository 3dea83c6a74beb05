// Keeps one judge alive: starts it, speaks with it, and starts another when it dies.
#ifndef SASSAY_PROFILER_SERVICE_PIPELINE_JUDGE_SUPERVISOR_H_
#define SASSAY_PROFILER_SERVICE_PIPELINE_JUDGE_SUPERVISOR_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "profiler_service/evaluate/workers.h"
#include "profiler_service/wire/worker.pb.h"
#include "profiler_service/wire/worker_process.h"

namespace sassay::pipeline {

// Thread-safe: requests of several jobs take turns.
//
// Failure of Ask: UNAVAILABLE the judge died or could not be started (the next Ask starts another one; cases of the
// dead one are gone); DEADLINE_EXCEEDED it did not become free or did not answer in time (in the latter case it is
// killed).
class JudgeSupervisor : public evaluate::JudgePort {
 public:
  // Starts the first judge and waits for it: how a service finds out that a device is not there.
  static absl::StatusOr<std::unique_ptr<JudgeSupervisor>> Start(wire::WorkerOptions options,
                                                                absl::Duration start_timeout);

  absl::StatusOr<sassay::worker::JudgeReply> Ask(const sassay::worker::JudgeRequest& request,
                                                 std::vector<UniqueFd>& descriptors, absl::Time deadline) override
      ABSL_LOCKS_EXCLUDED(mutex_);
  uint64_t NewCase() override ABSL_LOCKS_EXCLUDED(mutex_);

  // What the first judge said about its device.
  const sassay::worker::DeviceDescription& device() const { return device_; }
  // Of the judge that lives now; 0 if none does.
  pid_t pid() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  JudgeSupervisor(wire::WorkerOptions options, absl::Duration start_timeout)
      : options_(std::move(options)), start_timeout_(start_timeout) {}
  absl::StatusOr<sassay::worker::JudgeReply> StartJudge();

  const wire::WorkerOptions options_;
  const absl::Duration start_timeout_;
  sassay::worker::DeviceDescription device_;

  absl::Mutex mutex_;
  // True while a thread speaks with the judge; that thread alone touches judge_.
  bool busy_ ABSL_GUARDED_BY(mutex_) = false;
  uint64_t cases_ ABSL_GUARDED_BY(mutex_) = 0;
  pid_t pid_ ABSL_GUARDED_BY(mutex_) = 0;
  std::unique_ptr<wire::WorkerProcess> judge_;
};

}  // namespace sassay::pipeline

#endif  // SASSAY_PROFILER_SERVICE_PIPELINE_JUDGE_SUPERVISOR_H_
