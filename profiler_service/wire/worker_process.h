// A worker: a child process of the service (judge or runner) that answers requests over a Channel.
#ifndef SASSAY_PROFILER_SERVICE_WIRE_WORKER_PROCESS_H_
#define SASSAY_PROFILER_SERVICE_WIRE_WORKER_PROCESS_H_

#include <sys/types.h>

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "common/base/fd.h"
#include "common/process/subprocess.h"
#include "common/sandbox/sandbox.h"
#include "google/protobuf/message_lite.h"
#include "profiler_service/wire/channel.h"

namespace sassay::wire {

// What to start.
struct WorkerOptions {
  // How messages call it: "runner", "judge".
  std::string name;
  // The program finds its channel at kWorkerChannelFd. argv[0] with a slash must be visible inside the sandbox.
  std::vector<std::string> argv;
  std::map<std::string, std::string> environment;
  // Larger answers are DATA_LOSS.
  uint32_t most_reply_bytes = kMaxReplyBytes;
  // Where the worker's standard output goes; -1 for nowhere. Standard error is the service's own.
  int stdout_fd = -1;
  // Absent: the worker is trusted (the judge) and runs with the service's own rights.
  absl::optional<SandboxPolicy> sandbox;
  // Set where the operator allowed a machine without sandbox; used only if the machine cannot sandbox.
  absl::optional<AllowUnsandboxed> allow_unsandboxed;
};

// A running worker. Destruction kills it with everything it started; it also ends by itself when the service does.
// Deadlines are SteadyNow's.
//
// Threads: one thread calls; Kill from any thread, also during a call, which then returns CANCELLED at once, and
// TakeAway. Failure of Call: CANCELLED after Kill; DEADLINE_EXCEEDED the worker is late (it has been killed);
// UNAVAILABLE the worker ended by itself, with its name, exit status or signal; DATA_LOSS it sent something that is no
// reply (it has been killed). After a failure the worker is of no further use.
class WorkerProcess {
 public:
  // Starts the process; does not wait for its first message. FAILED_PRECONDITION where a sandbox is wanted, the machine
  // has none and no token allows to go on.
  static absl::StatusOr<std::unique_ptr<WorkerProcess>> Start(const WorkerOptions& options);
  ~WorkerProcess();

  // Sends and waits for the reply. Returns the descriptors beside the reply.
  absl::StatusOr<std::vector<UniqueFd>> Call(const google::protobuf::MessageLite& request,
                                             absl::Span<const int> descriptors, google::protobuf::MessageLite& reply,
                                             absl::Time deadline);
  // Waits for a message that nobody asked for: the "ready" of a fresh worker.
  absl::StatusOr<std::vector<UniqueFd>> Receive(google::protobuf::MessageLite& message, absl::Time deadline);

  // For conversations in which replies come in any order: one thread at a time sends, another one alone receives from
  // the second end that Listen gives. A failed Send kills the worker, so that the listener sees the end.
  absl::Status Send(const google::protobuf::MessageLite& request, absl::Time deadline);
  absl::StatusOr<Channel> Listen() const;
  // Why the worker is lost, as Call's failures say it, for the listener's first failure.
  absl::Status Explain(const absl::Status& status);

  // Whether the process has not ended yet.
  bool Alive() const;
  // SIGKILL to the worker and everything it started. Idempotent.
  void Kill();
  // The same by somebody other than its user, to whom it is lost: calls return UNAVAILABLE with `why`.
  void TakeAway(absl::string_view why) ABSL_LOCKS_EXCLUDED(mutex_);
  // Waits for the end of a worker that was told, by closing its channel, that there is no more to do. How it ended, in
  // words; used where the exit status matters (compute-sanitizer). DEADLINE_EXCEEDED (and killed) if it stays.
  absl::StatusOr<ExitReport> CloseAndWait(absl::Time deadline);

  const std::string& name() const { return name_; }
  pid_t pid() const { return process_.pid(); }
  int pidfd() const { return process_.pidfd(); }

 private:
  WorkerProcess(std::string name, Subprocess process, Channel channel);
  std::string HowItEnded();
  // Why it was taken away, if it was.
  absl::optional<std::string> taken() const ABSL_LOCKS_EXCLUDED(mutex_);

  const std::string name_;
  Subprocess process_;
  Channel channel_;
  std::atomic<bool> killed_{false};
  mutable absl::Mutex mutex_;
  absl::optional<std::string> taken_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace sassay::wire

#endif  // SASSAY_PROFILER_SERVICE_WIRE_WORKER_PROCESS_H_
