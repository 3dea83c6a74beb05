// The service as a child of the monitor: started, restarted when it dies, and ended by force when it hangs.
#ifndef SASSAY_MONITOR_ACTIONS_SUPERVISOR_H_
#define SASSAY_MONITOR_ACTIONS_SUPERVISOR_H_

#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "common/process/subprocess.h"

namespace sassay::monitor {

struct SupervisorOptions {
  std::vector<std::string> command;
  // Between the end of one service and the start of the next: the first time, and at most; doubled each time, and back
  // to the first after a service that lived for `steady`.
  absl::Duration first_wait = absl::Seconds(1);
  absl::Duration longest_wait = absl::Minutes(1);
  absl::Duration steady = absl::Minutes(5);
  // How long a killed process may take to be gone.
  absl::Duration kill_patience = absl::Seconds(10);
  // How long the service may take to end when the monitor ends.
  absl::Duration drain = absl::Seconds(15);
  // Told of each end of the service: "killed by signal 9 (Killed)".
  std::function<void(const std::string& how)> on_exit = [](const std::string&) {};
};

// Life cycle: Start makes the first service and a thread that watches it. The destructor asks the service to end
// (SIGTERM), and kills it after `drain`. The service does not outlive the monitor: the kernel sends it SIGTERM when the
// monitor dies, and the next monitor starts another one, which loses nothing. What it kills is the process group that
// it made, and nothing else. Threads: thread-safe. Failure: Start says why the program cannot be started; later
// failures are waited out and tried again.
class Supervisor {
 public:
  static absl::StatusOr<std::unique_ptr<Supervisor>> Start(SupervisorOptions options);
  ~Supervisor();

  // Kills the service and waits until it is gone; the watching thread starts the next one at once. UNAVAILABLE where
  // the kernel does not let it die.
  absl::Status Restart(const std::string& reason) ABSL_LOCKS_EXCLUDED(mutex_);
  // 0 while none lives.
  pid_t pid() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  explicit Supervisor(SupervisorOptions options);
  absl::Status StartService() ABSL_LOCKS_EXCLUDED(mutex_);
  void Watch() ABSL_LOCKS_EXCLUDED(mutex_);
  void Note(const std::string& how) ABSL_LOCKS_EXCLUDED(mutex_);
  bool WaitBeforeStart() ABSL_LOCKS_EXCLUDED(mutex_);

  const SupervisorOptions options_;
  mutable absl::Mutex mutex_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  bool given_up_ ABSL_GUARDED_BY(mutex_) = false;  // of a service that is ending: it hangs in the kernel
  bool restart_now_ ABSL_GUARDED_BY(mutex_) = false;
  pid_t pid_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t started_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Duration wait_ ABSL_GUARDED_BY(mutex_);
  absl::Time started_at_ ABSL_GUARDED_BY(mutex_);
  // Of the watching thread, but for Kill, which may be called from any; replaced while no pid_ is set.
  std::unique_ptr<Subprocess> service_;
  std::thread watcher_;
};

// Runs `command` by the shell and waits for it for a minute: how a service is restarted that somebody else supervises
// ("systemctl restart sassay-profiler").
absl::Status RunRestartCommand(const std::string& command);

}  // namespace sassay::monitor

#endif  // SASSAY_MONITOR_ACTIONS_SUPERVISOR_H_
