// What holds a program where namespaces cannot be made (Ubuntu 24.04 denies them to ordinary users, containers to
// most): Landlock, a wider seccomp filter and rlimits. The program sees the host's paths and runs with our rights, and
// still
//   * reads and runs nothing but what the policy names, /usr with its links, /etc/ld.so.cache, /etc/alternatives, and
//   harmless files of /dev and
//     /proc (`#include "/etc/passwd"` finds no file);
//   * writes nothing but the policy's writable paths, and changes modes, owners, times and attributes of nothing;
//   * opens no socket, so it reaches neither a network nor a daemon's socket file; no shared memory or queues of System
//   V and POSIX;
//   * looks into no process, and signals none outside (on kernels before 6.12: none at all, unless the policy says
//   `sends_signals`);
//   * has no capabilities, also as root.
// What is less than in namespaces: paths and the host's process numbers are seen (stat tells that a file is there, not
// what it says); /tmp is not its own, so what wants temporary files gets TMPDIR; folders that the policy hides are
// seen; as root `processes` does not hold; a descendant that outlives a killed parent is found by its process group
// alone, so leaving it (setsid, setpgid) is refused unless the policy says `sends_signals`.
#ifndef SASSAY_COMMON_SANDBOX_IN_PLACE_H_
#define SASSAY_COMMON_SANDBOX_IN_PLACE_H_

#include "absl/status/status.h"
#include "common/process/subprocess.h"
#include "common/sandbox/sandbox.h"

namespace sassay::sandbox_internal {

// The version of Landlock that the kernel has and lets us use; 0 for none.
int LandlockVersion();

// Adds all that to `command`, which has rlimits already, with what this version of Landlock can do; tests ask for older
// ones. NOT_FOUND for a path of the policy that is not there; FAILED_PRECONDITION without Landlock, and as root without
// setpriv.
absl::Status HoldInPlace(const SandboxPolicy& policy, Command& command, int version = LandlockVersion());

}  // namespace sassay::sandbox_internal

#endif  // SASSAY_COMMON_SANDBOX_IN_PLACE_H_
