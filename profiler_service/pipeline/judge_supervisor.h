// Keeps one judge alive: starts it, speaks with it, and starts another when it dies.
#ifndef SASSAY_PROFILER_SERVICE_PIPELINE_JUDGE_SUPERVISOR_H_
#define SASSAY_PROFILER_SERVICE_PIPELINE_JUDGE_SUPERVISOR_H_

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "profiler_service/evaluate/workers.h"
#include "profiler_service/wire/kill_switch.h"
#include "profiler_service/wire/worker.pb.h"
#include "profiler_service/wire/worker_process.h"

namespace sassay::pipeline {

// Thread-safe: requests of several cases are under way at once, so that one job's long reference delays nobody else. Of
// one case, one request at a time.
//
// Failure of Ask: UNAVAILABLE the judge died or could not be started (the next Ask starts another one; cases of the
// dead one are gone); DEADLINE_EXCEEDED it did not answer in time (it is killed); CANCELLED the switch was pulled (the
// judge goes on and its answer is dropped; the case must be dropped still).
class JudgeSupervisor : public evaluate::JudgePort {
 public:
  // Starts the first judge and waits for it: how a service finds out that a device is not there.
  static absl::StatusOr<std::unique_ptr<JudgeSupervisor>> Start(wire::WorkerOptions options,
                                                                absl::Duration start_timeout);
  ~JudgeSupervisor() override;

  absl::StatusOr<sassay::worker::JudgeReply> Ask(const sassay::worker::JudgeRequest& request,
                                                 std::vector<UniqueFd>& descriptors, absl::Time deadline) override {
    return Ask(request, descriptors, deadline, nullptr);
  }
  // A null switch is allowed.
  absl::StatusOr<sassay::worker::JudgeReply> Ask(const sassay::worker::JudgeRequest& request,
                                                 std::vector<UniqueFd>& descriptors, absl::Time deadline,
                                                 wire::KillSwitch* kill_switch) ABSL_LOCKS_EXCLUDED(mutex_);
  uint64_t NewCase() override { return ++cases_; }

  // What the first judge said about its device.
  const sassay::worker::DeviceDescription& device() const { return device_; }
  // Of the judge that lives now; 0 if none does.
  pid_t pid() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  class Conversation;

  JudgeSupervisor(wire::WorkerOptions options, absl::Duration start_timeout)
      : options_(std::move(options)), start_timeout_(start_timeout) {}
  absl::StatusOr<std::shared_ptr<Conversation>> Current() ABSL_LOCKS_EXCLUDED(mutex_);

  const wire::WorkerOptions options_;
  const absl::Duration start_timeout_;
  sassay::worker::DeviceDescription device_;
  std::atomic<uint64_t> cases_{0};

  absl::Mutex mutex_;  // held while a judge starts
  std::shared_ptr<Conversation> current_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace sassay::pipeline

#endif  // SASSAY_PROFILER_SERVICE_PIPELINE_JUDGE_SUPERVISOR_H_
