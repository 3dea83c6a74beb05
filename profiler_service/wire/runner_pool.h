// Spare runners, started ahead of time.
//
// Why: creating a context takes about 0.3 s on a GPU, and a runner serves one candidate only. With a spare waiting, the
// candidate never pays for it.
#ifndef SASSAY_PROFILER_SERVICE_WIRE_RUNNER_POOL_H_
#define SASSAY_PROFILER_SERVICE_WIRE_RUNNER_POOL_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "common/sandbox/sandbox.h"
#include "profiler_service/wire/kill_switch.h"
#include "profiler_service/wire/live_runners.h"
#include "profiler_service/wire/runner_client.h"
#include "profiler_service/wire/started_runners.h"
#include "profiler_service/wire/worker.pb.h"

namespace sassay::wire {

struct RunnerPoolOptions {
  // Absolute path of profiler-runner.
  std::string runner_program;
  // Put in front of the runner's own command line (compute-sanitizer and its options); empty otherwise.
  std::vector<std::string> launcher;
  // A folder that the launcher may write to, under the same path inside the sandbox; empty for none.
  std::string writable_directory;
  // Where standard output of launcher and runner goes; -1 for nowhere. What candidates print does not go there.
  int stdout_fd = -1;
  // Besides the usual environment.
  std::map<std::string, std::string> environment;
  // The largest file that launcher and runner may write; 0 for the sandbox's usual limit.
  uint64_t file_bytes = 0;
  // Set where the operator allowed a machine without sandbox.
  absl::optional<AllowUnsandboxed> allow_unsandboxed;
  // What a fresh runner has to say "ready".
  absl::Duration start_timeout = absl::Seconds(60);
  // Counts every runner that is started with these options, under a tool too. A pool makes one where there is none.
  std::shared_ptr<StartedRunners> started;
  // Knows every runner that is started with these options while it lives. As above.
  std::shared_ptr<LiveRunners> live;
};

// How to start one runner for `device` ("cuda:0", "emulated:sm_90a") in `mode`: argv, environment and sandbox.
WorkerOptions RunnerWorkerOptions(const RunnerPoolOptions& options, absl::string_view device,
                                  sassay::worker::RunMode mode);

// Starts one runner and waits until it is ready. `kill_switch` (may be null) ends the waiting.
absl::StatusOr<std::unique_ptr<RunnerClient>> StartRunner(const RunnerPoolOptions& options, absl::string_view device,
                                                          sassay::worker::RunMode mode, absl::Time deadline,
                                                          KillSwitch* kill_switch = nullptr);

// Hands out runners. Thread-safe. Destruction kills the spares and logs how many runners were started.
//
// A thread for each device starts spares, so that no job's thread has to live as long as a runner and a device that
// hangs keeps no other one waiting. It stops trying for a while (one second, doubling to a minute) when its device
// refuses. Acquire never depends on it: without a spare it starts a runner itself.
class RunnerPool {
 public:
  explicit RunnerPool(RunnerPoolOptions options);
  ~RunnerPool();

  const RunnerPoolOptions& options() const { return options_; }

  // From now on `count` spares are kept for this device and mode.
  void Keep(absl::string_view device, sassay::worker::RunMode mode, uint32_t count);

  // A ready runner. Failures as StartRunner's: UNAVAILABLE the runner or its device is not there, with the reason;
  // FAILED_PRECONDITION no sandbox.
  absl::StatusOr<std::unique_ptr<RunnerClient>> Acquire(absl::string_view device, sassay::worker::RunMode mode,
                                                        absl::Time deadline, KillSwitch* kill_switch = nullptr);

  // Proof that the device works, and that the next Acquire gets a runner for which it did: a spare runs a kernel of
  // ours. Where there is none, or it cannot, as AddFresh.
  absl::Status Confirm(absl::string_view device, sassay::worker::RunMode mode, absl::Time deadline,
                       KillSwitch* kill_switch = nullptr);

  // Starts a runner whatever there is already, and puts it where the next Acquire takes it: proof that the device takes
  // one, and none is wasted. A few more than Keep asked for are kept for some seconds; where it asked for none, it
  // is ended at once. Failures as Acquire's.
  absl::Status AddFresh(absl::string_view device, sassay::worker::RunMode mode, absl::Time deadline,
                        KillSwitch* kill_switch = nullptr);

  // Ends every runner of the device, whoever has it and also under a tool, as LiveRunners::End; spares take their
  // places anew. How many.
  uint32_t EndAll(absl::string_view device, absl::string_view why) ABSL_LOCKS_EXCLUDED(mutex_);

  // Ends the spares as a crash would, without the pool's knowledge.
  void KillSparesForTest();
  // Waits for a spare to be there; whether it came before `deadline`.
  bool AwaitSpareForTest(absl::string_view device, sassay::worker::RunMode mode, absl::Time deadline);

  const StartedRunners& started() const { return *options_.started; }
  LiveRunners& live() const { return *options_.live; }
  // Runners that could not start, and spares that died while they waited.
  uint64_t deaths() const { return deaths_; }

  // While it lives no start of a spare begins on `device`: what is about to be timed shall not wait for its end.
  class NoRefill {
   public:
    NoRefill(RunnerPool& pool, std::string device);
    ~NoRefill();
    NoRefill(const NoRefill&) = delete;
    NoRefill& operator=(const NoRefill&) = delete;

    const std::string& device() const { return device_; }

   private:
    RunnerPool& pool_;
    const std::string device_;
  };

  // While it lives no spare is started or ended on `device`: a context that comes or goes disturbs what is being timed.
  // Waits for a spare that is being started there, but not once the switch (may be null) is pulled.
  class Quiet {
   public:
    Quiet(RunnerPool& pool, std::string device, KillSwitch* kill_switch = nullptr);

   private:
    const NoRefill no_refill_;
  };

 private:
  using Key = std::pair<std::string, sassay::worker::RunMode>;
  struct Shelf {
    uint32_t wanted = 0;
    std::vector<std::unique_ptr<RunnerClient>> spares;
    absl::Time retry_at = absl::InfinitePast();
    absl::Time surplus_until = absl::InfinitePast();
    absl::Duration backoff = absl::Seconds(1);
  };

  // A device's thread.
  void Refill(const std::string& device) ABSL_LOCKS_EXCLUDED(mutex_);
  std::unique_ptr<RunnerClient> TakeSpare(const Key& key) ABSL_LOCKS_EXCLUDED(mutex_);
  // The device's shelf that needs a spare most, if any does: the emptiest for what it should hold. However fast plain
  // runners are used up, the one that is timed is not missing when its turn comes.
  absl::optional<Key> NextNeed(const std::string& device) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // A spare of the device that is one too many, and has been for a while; null if there is none.
  std::unique_ptr<RunnerClient> TakeSurplus(const std::string& device) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Shelve(const Key& key, absl::StatusOr<std::unique_ptr<RunnerClient>> runner) ABSL_LOCKS_EXCLUDED(mutex_);

  // Counts and logs a runner that was not to be had.
  absl::Status Note(const std::string& device, const absl::Status& status);

  const RunnerPoolOptions options_;
  std::atomic<uint64_t> deaths_{0};
  absl::Mutex mutex_;
  absl::CondVar changed_;
  // Ends the start of a spare when the pool goes away.
  KillSwitch stop_;
  std::map<Key, Shelf> shelves_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, int> quiet_ ABSL_GUARDED_BY(mutex_);
  // Devices on which a spare is being started or ended right now.
  std::set<std::string> busy_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::map<std::string, std::thread> refillers_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace sassay::wire

#endif  // SASSAY_PROFILER_SERVICE_WIRE_RUNNER_POOL_H_
