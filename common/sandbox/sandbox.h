// The one way in which we run what we do not trust: compilers on hostile source, captured host code, runners with
// candidate device code, tools that parse hostile files. Built on bubblewrap (namespaces, read-only root), libseccomp
// and rlimits.
//
// What the sandboxed program gets
//   * own user, pid, mount, network, ipc, uts and (where the kernel has them) cgroup namespaces; a session of its own;
//     no capability, no-new-privileges, and a seccomp filter over the system calls that widen the kernel's surface;
//   * read-only: /usr (with /bin, /lib, /lib64, /sbin), /etc/ld.so.cache, /etc/alternatives and what the policy adds.
//     There is no /home, /root, /etc/passwd, and everything else inside is read-only too, but for the policy's writable
//     paths and a bounded private /tmp;
//   * no network but a private loopback, which is up (compute-sanitizer needs it);
//   * it ends, with every descendant, when its Subprocess is killed or our process dies.
//
// What is guaranteed about resources
//   * `processes` holds for an ordinary user and for root alike: as root the program runs under the host's uid 65534,
//     because RLIMIT_NPROC does not bind the host's root. It counts per sandbox on kernels from 5.14 on (a user
//     namespace has its own count); on older kernels it counts every process of that uid on the host.
//   * `address_space_bytes` holds per process, not in total: memory in total is bounded by processes *
//   address_space_bytes.
//     We do not use cgroups: they are delegated on few machines, and a limit that holds only sometimes is worse than
//     none. Where the service itself runs in a cgroup with a memory limit, the sandbox is inside it.
//   * `file_bytes` holds per file, and tmp_bytes in total for /tmp; the total of a writable host path is not bounded.
#ifndef SASSAY_COMMON_SANDBOX_SANDBOX_H_
#define SASSAY_COMMON_SANDBOX_SANDBOX_H_

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/process/subprocess.h"

namespace sassay {

// What a sandboxed program may see and use. Default: nothing but the system's libraries and programs, read-only.
struct SandboxPolicy {
  // Absolute host paths visible read-only at (path inside). Missing ones are an error. As root they must be readable by
  // others (a directory made by TemporaryDirectory is not, one made below it is).
  std::vector<std::pair<std::string, std::string>> read_only;
  // Absolute host paths visible and writable at (path inside). As root WrapInSandbox gives them, with all they contain,
  // to uid 65534.
  std::vector<std::pair<std::string, std::string>> writable;
  // Paths inside that are covered by an empty folder; those that are not there are passed over.
  std::vector<std::string> hidden;
  // Device nodes (/dev/nvidia0 …).
  std::vector<std::string> devices;
  // Size of a private /tmp, and of /dev/shm; 0 for none.
  uint64_t tmp_bytes = 64 << 20;
  // Limits; 0 means unlimited. Address space must stay unlimited where CUDA runs.
  uint64_t address_space_bytes = 0;
  uint64_t file_bytes = 256 << 20;
  // Processes and threads; one more is taken by the sandbox itself.
  uint64_t processes = 64;
  uint64_t open_files = 256;
  // Per process; its end is SIGKILL.
  absl::Duration cpu_time = absl::InfiniteDuration();
  // Keep /proc (needed for $ORIGIN rpaths and by CUDA).
  bool mount_proc = true;
  // Allow personality (capture disables address randomisation).
  bool allow_personality = false;
  // Ends processes that it has started itself, and needs kill and setpgid for that also where no namespace of processes
  // keeps them inside (in_place.h).
  bool sends_signals = false;
};

// What this machine offers. `missing` says in words what is not there; empty if complete.
struct SandboxSupport {
  bool bubblewrap = false;
  bool user_namespaces = false;
  bool seccomp = false;
  // The program used.
  std::string bubblewrap_path;
  std::string missing;
  // What to type, as this machine's settings say; empty if complete.
  std::string remedy;
  // The version of Landlock that the kernel has; 0 for none.
  int landlock = 0;
  bool Complete() const { return missing.empty(); }
};

// Probes once per process by starting a sandbox. bubblewrap is looked for beside our own binary (../libexec, then the
// binary's folder; machines without the package carry it), then in PATH, then where OfferBubblewrap says. Thread-safe.
const SandboxSupport& ProbeSandbox();

// A last place to look for bubblewrap; `find` answers a path, or nothing. To be called before the first ProbeSandbox.
void OfferBubblewrap(std::function<std::string()> find);

// Named token for going on without a sandbox; the only way to get an unsandboxed Command out of WrapWithoutSandbox.
struct AllowUnsandboxed {
  std::string reason;  // shown in logs and verdict notes
  // Landlock and seccomp hold the program (ProbeSandbox().landlock says whether they can).
  bool landlock = false;
};

// Turns `command` into one that runs inside the sandbox, its argv, environment, working directory (default "/") and
// descriptors as given, all paths being those inside. Good for one start: the filter travels in a pipe-like descriptor.
// FAILED_PRECONDITION with ProbeSandbox().missing where the machine cannot; NOT_FOUND for a path of the policy that is
// not there; PERMISSION_DENIED for one that the sandboxed user could not read; INVALID_ARGUMENT for a relative one.
//
// A failure inside the sandbox before the program runs looks like the program's own: status 1 and a line on stderr that
// begins with "bwrap:", or 127 (no such program) and 126 (not executable) with one that begins with "prlimit:". So
// whoever draws a conclusion from a sandboxed program's failure asks SandboxFailure first.
absl::StatusOr<Command> WrapInSandbox(const Command& command, const SandboxPolicy& policy);

// UNAVAILABLE if `report` says that the sandbox did not come up and the program never ran, by the first words on its
// stderr; OK otherwise. A program that prints those words itself is believed: it can make its own run worthless,
// nothing else.
absl::Status SandboxFailure(const ExitReport& report);

// The program runs in place, with our rights, and sees the host's paths: those of the policy are not mapped. It gets
// rlimits and no-new-privileges; where the token says so, Landlock and seccomp, too (in_place.h says what they hold).
absl::StatusOr<Command> WrapWithoutSandbox(const Command& command, const SandboxPolicy& policy, AllowUnsandboxed token);

}  // namespace sassay

#endif  // SASSAY_COMMON_SANDBOX_SANDBOX_H_
