// Keeps one judge alive: starts it, speaks with it, and starts another when it dies.
#ifndef SASSAY_PROFILER_SERVICE_PIPELINE_LANES_JUDGE_SUPERVISOR_H_
#define SASSAY_PROFILER_SERVICE_PIPELINE_LANES_JUDGE_SUPERVISOR_H_

#include <sys/types.h>

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "profiler_service/evaluate/workers.h"
#include "profiler_service/wire/kill_switch.h"
#include "profiler_service/wire/live_runners.h"
#include "profiler_service/wire/worker.pb.h"
#include "profiler_service/wire/worker_process.h"

namespace sassay::pipeline {

// Thread-safe: requests of several cases are under way at once, so that one job's long reference delays nobody else. Of
// one case, one request at a time.
//
// Failure of Ask: UNAVAILABLE the judge died or could not be started (the next Ask starts another one; cases of the
// dead one are gone); DEADLINE_EXCEEDED it did not answer in time; CANCELLED the switch was pulled. After the last two
// the judge goes on, its answer is dropped, and the case must be dropped still: other jobs' cases live in the same
// judge, and one slow answer is no reason to take them away. It is killed only if it answers nothing at all for
// `silence`.
class JudgeSupervisor : public evaluate::JudgePort {
 public:
  // Called for every judge that starts, ends or does not start, on whatever thread sees it: quick.
  using Listener = std::function<void(wire::Happening, pid_t, absl::string_view reason)>;

  // Starts the first judge and waits for it: how a service finds out that a device is not there.
  static absl::StatusOr<std::unique_ptr<JudgeSupervisor>> Start(wire::WorkerOptions options,
                                                                absl::Duration start_timeout,
                                                                absl::Duration silence = absl::Minutes(3),
                                                                Listener listener = nullptr);
  ~JudgeSupervisor() override;

  absl::StatusOr<sassay::worker::JudgeReply> Ask(const sassay::worker::JudgeRequest& request,
                                                 std::vector<UniqueFd>& descriptors, absl::Time deadline) override {
    return Ask(request, descriptors, deadline, nullptr);
  }
  // A null switch is allowed.
  absl::StatusOr<sassay::worker::JudgeReply> Ask(const sassay::worker::JudgeRequest& request,
                                                 std::vector<UniqueFd>& descriptors, absl::Time deadline,
                                                 wire::KillSwitch* kill_switch) ABSL_LOCKS_EXCLUDED(mutex_);
  void Drop(uint64_t case_id) override ABSL_LOCKS_EXCLUDED(mutex_);
  uint64_t NewCase() override { return ++cases_; }

  // Ends the judge that lives; who waits for its answers is told that it is lost. Another one is started at once.
  void Restart(absl::string_view why) ABSL_LOCKS_EXCLUDED(mutex_);
  // For how long it has owed an answer without saying anything at all; zero if it owes none. Where that is longer than
  // a second it is asked for a sign of life, so that an answer which takes long is not silence; what it does on its
  // device it does on the thread that answers, which may take some seconds.
  absl::Duration Silence() ABSL_LOCKS_EXCLUDED(mutex_);

  // What the first judge said about its device.
  const sassay::worker::DeviceDescription& device() const { return device_; }
  // Of the judge that lives now; 0 if none does.
  pid_t pid() ABSL_LOCKS_EXCLUDED(mutex_);
  // Judges that ended by themselves, were killed for their silence, or could not start.
  uint64_t deaths() const { return witness_->deaths; }
  // Cases whose inputs and right outputs came from there (KEPT or MADE), all judges together.
  uint64_t states(sassay::worker::StateOrigin origin) const { return states_[origin]; }

 private:
  class Conversation;

  // What conversations share with their supervisor.
  struct Witness {
    std::atomic<uint64_t> deaths{0};
    Listener listener;
    void Tell(wire::Happening happening, pid_t pid, absl::string_view reason) const {
      if (listener) listener(happening, pid, reason);
    }
  };

  JudgeSupervisor(wire::WorkerOptions options, absl::Duration start_timeout, absl::Duration silence, Listener listener)
      : options_(std::move(options)), start_timeout_(start_timeout), silence_(silence) {
    witness_->listener = std::move(listener);
  }
  // The judge that lives, or one that a thread of its own starts while this waits.
  absl::StatusOr<std::shared_ptr<Conversation>> Current(absl::Time deadline, wire::KillSwitch* kill_switch)
      ABSL_LOCKS_EXCLUDED(mutex_);
  bool Alive() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void BeginStart() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const wire::WorkerOptions options_;
  const absl::Duration start_timeout_, silence_;
  const std::shared_ptr<Witness> witness_ = std::make_shared<Witness>();
  sassay::worker::DeviceDescription device_;
  std::atomic<uint64_t> cases_{0};
  std::array<std::atomic<uint64_t>, sassay::worker::StateOrigin_ARRAYSIZE> states_{};

  absl::Mutex mutex_;
  std::shared_ptr<Conversation> current_ ABSL_GUARDED_BY(mutex_);
  bool starting_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status why_not_started_ ABSL_GUARDED_BY(mutex_);
  std::thread starter_ ABSL_GUARDED_BY(mutex_);
  wire::KillSwitch stop_;  // ends a start under way
};

}  // namespace sassay::pipeline

#endif  // SASSAY_PROFILER_SERVICE_PIPELINE_LANES_JUDGE_SUPERVISOR_H_
