// Child processes that always end: every child leads its own process group (inside the sandbox it is in a pid namespace
// of its own as well), has a deadline and bounded output, and is killed with everything it started.
#ifndef SASSAY_COMMON_PROCESS_SUBPROCESS_H_
#define SASSAY_COMMON_PROCESS_SUBPROCESS_H_

#include <signal.h>
#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/base/fd.h"

namespace sassay {

// What to start. argv[0] is looked up in this process's PATH unless it has a slash. Plain data; copy it to start it
// twice (a Command from WrapInSandbox is good for one start, see there).
struct Command {
  std::vector<std::string> argv;
  // The whole environment of the child; nothing is inherited.
  std::map<std::string, std::string> environment;
  // Empty: the parent's.
  std::string working_directory;
  // (descriptor in the parent, number in the child). Every other descriptor above 2 is closed in the child. Numbers 0,
  // 1 and 2 are /dev/null unless they are named here.
  std::vector<std::pair<int, int>> inherit_fds;
  // Descriptors of inherit_fds that live as long as the command does.
  std::vector<std::shared_ptr<UniqueFd>> owned_fds;
  // (RLIMIT_*, soft and hard limit), set between fork and exec.
  std::vector<std::pair<int, uint64_t>> rlimits;
  // PR_SET_NO_NEW_PRIVS: no setuid program can raise the child.
  bool no_new_privileges = false;
  // What the kernel refuses from then on, taken on last before exec; needs no_new_privileges. A ruleset of
  // landlock_create_ruleset (-1: none), and a filter as struct sock_filter after struct sock_filter (empty: none).
  int landlock_rules = -1;
  std::string seccomp_program;
  // What the kernel sends to the child when we die (PDEATHSIG). Another one than SIGKILL is for a program that then
  // ends what it has started.
  int signal_at_our_death = SIGKILL;
};

// How a child ended and what it printed.
struct ExitReport {
  enum class Kind { kExited, kSignaled, kTimedOut };
  Kind kind = Kind::kExited;
  int exit_code = 0;      // kExited
  int signal_number = 0;  // kSignaled; SIGKILL with kTimedOut
  // Only from RunToCompletion.
  std::string stdout_text;
  std::string stderr_text;
  bool output_truncated = false;  // more than output_limit_bytes was printed; the rest was read and dropped
  // The last up to 64 KiB of what was dropped of stderr: why a program gave up stands at the end.
  std::string stderr_tail;
  absl::Duration wall;
  absl::Duration cpu;  // user and system time of the child and of those of its children that it waited for
  uint64_t peak_resident_bytes = 0;  // of the largest process among them
  bool Succeeded() const { return kind == Kind::kExited && exit_code == 0; }
};

// "exited with status 3", "killed by signal 11 (Segmentation fault)", "killed after 10s".
std::string DescribeExit(const ExitReport& report);

// A running child.
//
// Life cycle: Start returns after the child's exec succeeded. When the child ends, whatever it left in its process
// group is killed with it. Destruction kills and reaps; a child that cannot die (stuck in a driver) is left to a
// background thread after a second. When this process dies, even by SIGKILL, the kernel kills the child (PDEATHSIG;
// tied to a thread of ours that never ends, not to the thread that called Start). What nothing but a sandbox's pid
// namespace contains: descendants that left the group (setsid), and descendants at the sudden death of this process.
// Threads: compatible; Kill may be called from any thread at any time before destruction.
// Start is safe in a multithreaded parent: between fork and exec only async-signal-safe calls are made and no atfork
// handler runs.
class Subprocess {
 public:
  // NOT_FOUND if argv[0] or the working directory does not exist, PERMISSION_DENIED if it may not be run,
  // INVALID_ARGUMENT for an empty argv or a string with a NUL.
  static absl::StatusOr<Subprocess> Start(const Command& command);
  Subprocess(Subprocess&&) noexcept;
  Subprocess& operator=(Subprocess&&) noexcept;
  ~Subprocess();

  pid_t pid() const;
  // A pidfd, readable when the child has ended. Owned by this object.
  int pidfd() const;
  // SIGKILL to the whole process group. Idempotent; does nothing after the end was seen by Wait.
  void Kill();
  // Waits until the child has ended; DEADLINE_EXCEEDED (child keeps running) at `deadline`. May be called again after
  // the end and answers the same.
  absl::StatusOr<ExitReport> Wait(absl::Time deadline);

 private:
  struct State;
  explicit Subprocess(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// Whether somebody asked to stop; asked every 50 ms by who waits. Empty: nobody does.
using StopAsked = std::function<bool()>;

// Starts, feeds `stdin_text`, collects output (each stream up to `output_limit_bytes`), kills at `timeout` or when
// `stop` says so (kTimedOut both). Output that descendants print after the child's end is not waited for. A Status is
// our own trouble: the program could not be started.
absl::StatusOr<ExitReport> RunToCompletion(const Command& command, absl::Duration timeout,
                                           uint64_t output_limit_bytes = 1 << 20, absl::string_view stdin_text = "",
                                           const StopAsked& stop = {});

// From now on every RunToCompletion of this process, running or called later, kills its child and returns CANCELLED.
// For a program that was told to end: its callers unwind, and what they made for a while goes away. There is no way
// back. Thread-safe.
void CancelEveryRun();

// The file that argv[0] `program` stands for; NOT_FOUND.
absl::StatusOr<std::string> FindProgram(absl::string_view program);

}  // namespace sassay

#endif  // SASSAY_COMMON_PROCESS_SUBPROCESS_H_
