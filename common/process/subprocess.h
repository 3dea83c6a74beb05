// Child processes that always end: every child is its own process group (or the init of its own pid namespace), has a
// deadline, bounded output, and is killed with everything it started when its owner goes away.
#ifndef SASSAY_COMMON_PROCESS_SUBPROCESS_H_
#define SASSAY_COMMON_PROCESS_SUBPROCESS_H_

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/base/fd.h"

namespace sassay {

// What to start. argv[0] is looked up in PATH unless it has a slash.
struct Command {
  std::vector<std::string> argv;
  // The whole environment of the child; nothing is inherited.
  std::map<std::string, std::string> environment;
  // Empty: the parent's.
  std::string working_directory;
  // (descriptor in the parent, number in the child). Every other descriptor above 2 is closed in the child.
  std::vector<std::pair<int, int>> inherit_fds;
};

// How a child ended and what it printed.
struct ExitReport {
  enum class Kind { kExited, kSignaled, kTimedOut };
  Kind kind = Kind::kExited;
  int exit_code = 0;      // kExited
  int signal_number = 0;  // kSignaled
  std::string stdout_text;
  std::string stderr_text;
  bool output_truncated = false;  // more than output_limit_bytes was printed; the rest was read and dropped
  absl::Duration wall;
  bool Succeeded() const { return kind == Kind::kExited && exit_code == 0; }
};

// A running child. Destruction kills it. Thread-compatible; Kill may be called from any thread.
class Subprocess {
 public:
  // stdin is /dev/null. stdout and stderr go to /dev/null unless `capture_output` (then see RunToCompletion) or
  // remapped by inherit_fds. NOT_FOUND if argv[0] does not exist.
  static absl::StatusOr<Subprocess> Start(const Command& command);
  Subprocess(Subprocess&&) noexcept;
  Subprocess& operator=(Subprocess&&) noexcept;
  ~Subprocess();

  pid_t pid() const;
  // A pidfd, readable when the child has ended.
  int pidfd() const;
  // SIGKILL to the whole process group. Idempotent.
  void Kill();
  // Waits until the child has ended; DEADLINE_EXCEEDED (child keeps running) at `deadline`.
  absl::StatusOr<ExitReport> Wait(absl::Time deadline);

 private:
  struct State;
  explicit Subprocess(State* state);
  State* state_;
};

// Starts, collects output (each stream up to `output_limit_bytes`), kills at `timeout`.
absl::StatusOr<ExitReport> RunToCompletion(const Command& command, absl::Duration timeout,
                                           uint64_t output_limit_bytes = 1 << 20, absl::string_view stdin_text = "");

}  // namespace sassay

#endif  // SASSAY_COMMON_PROCESS_SUBPROCESS_H_
