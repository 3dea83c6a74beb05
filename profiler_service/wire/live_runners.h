// The runners that there are now: to end all of a device's together, and to tell whoever watches how they are.
#ifndef SASSAY_PROFILER_SERVICE_WIRE_LIVE_RUNNERS_H_
#define SASSAY_PROFILER_SERVICE_WIRE_LIVE_RUNNERS_H_

#include <sys/types.h>

#include <functional>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "common/base/fd.h"
#include "profiler_service/wire/worker_process.h"

namespace sassay::wire {

// What happens to a worker process.
enum class Happening {
  kStarted,
  // As it was told, or was no longer needed.
  kEnded,
  // By itself, or killed by somebody else; what it sent was no reply.
  kDied,
  kFailedToStart,
  // Killed because it did not answer.
  kKilledSilent,
};

// What a device's runners are doing.
struct RunnersSeen {
  // Of each runner its own process and, where it is sandboxed, the outermost one of its sandbox, as this process
  // counts; until it has been seen to end.
  std::vector<pid_t> pids;
  // How long the slowest one is past the deadline of what it was asked, or past its end; zero if none is.
  absl::Duration overdue;
};

// Thread-safe; entries keep it alive.
class LiveRunners : public std::enable_shared_from_this<LiveRunners> {
 public:
  // Called on whatever thread sees it, for every runner: quick.
  using Listener = std::function<void(absl::string_view device, Happening, pid_t, absl::string_view reason)>;

  static std::shared_ptr<LiveRunners> Create(Listener listener = nullptr) {
    return std::shared_ptr<LiveRunners>(new LiveRunners(std::move(listener)));
  }

  // One runner, from the start of its process to the end of its use.
  class Entry {
   public:
    ~Entry();
    // It has said so. `ended` becomes readable when the runner's own process has ended; may be invalid.
    void Ready(const UniqueFd& ended);
    // Something was asked that it should have answered by `due`; InfiniteFuture when it has.
    void Asked(absl::Time due);
    // A candidate went wrong on it, as it says.
    void Troubled();
    // It came to an end that is worth telling: the first one counts.
    void Lost(Happening happening, absl::string_view reason);
    // Its own process, or that of its sandbox if that is all that is known.
    pid_t pid() const;

   private:
    friend class LiveRunners;
    Entry(std::shared_ptr<LiveRunners> runners, std::string device, WorkerProcess& process);

    const std::shared_ptr<LiveRunners> runners_;
    const std::string device_;
    WorkerProcess& process_;
    // The rest is guarded by the runners' mutex.
    pid_t pid_ = 0;
    UniqueFd ended_;
    absl::Time due_ = absl::InfiniteFuture();
    bool told_ = false;   // how it ended
    bool taken_ = false;  // by End
  };

  // `process` outlives the entry.
  std::unique_ptr<Entry> Add(absl::string_view device, WorkerProcess& process) ABSL_LOCKS_EXCLUDED(mutex_);

  // Takes the device's runners away from whoever has them, whose calls return UNAVAILABLE, and kills them. How many.
  uint32_t End(absl::string_view device, absl::string_view why) ABSL_LOCKS_EXCLUDED(mutex_);

  RunnersSeen Look(absl::string_view device) ABSL_LOCKS_EXCLUDED(mutex_);
  // The runner on which a candidate went wrong last there; 0 if none did.
  pid_t last_troubled(absl::string_view device) const ABSL_LOCKS_EXCLUDED(mutex_);
  void Tell(absl::string_view device, Happening happening, pid_t pid, absl::string_view reason) const {
    if (listener_) listener_(device, happening, pid, reason);
  }

 private:
  // What is not used any more, but may still be there.
  struct Ending {
    std::string device;
    pid_t pid;
    UniqueFd ended;
    absl::Time since;
  };

  explicit LiveRunners(Listener listener) : listener_(std::move(listener)) {}
  void ForgetEnded() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Listener listener_;
  mutable absl::Mutex mutex_;
  std::set<Entry*> entries_ ABSL_GUARDED_BY(mutex_);
  std::list<Ending> endings_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, pid_t> troubled_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace sassay::wire

#endif  // SASSAY_PROFILER_SERVICE_WIRE_LIVE_RUNNERS_H_
