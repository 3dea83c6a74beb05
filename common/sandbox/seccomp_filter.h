// The system calls that a sandboxed program may not make.
#ifndef SASSAY_COMMON_SANDBOX_SECCOMP_FILTER_H_
#define SASSAY_COMMON_SANDBOX_SECCOMP_FILTER_H_

#include <memory>

#include "absl/status/statusor.h"
#include "common/base/fd.h"

namespace sassay::sandbox_internal {

struct SeccompOptions {
  bool allow_personality = false;
  // There are no namespaces around the program: refuse what they would keep inside, and what Landlock does not govern.
  bool in_place = false;
  // In place only. Allow kill and leaving the process group.
  bool allow_signals = false;
  // Landlock keeps signals among those that it holds, so kill is harmless.
  bool signals_stay_inside = false;
};

// A descriptor from which the compiled BPF program can be read once; bubblewrap's --seccomp takes it.
//
// A list of what is refused, not of what is allowed: compilers and the CUDA driver use most of the rest, and a list of
// allowed calls breaks with every new glibc. Refused (EPERM) is what reaches into other processes, mounts, loads code
// into the kernel, makes namespaces, or belongs to subsystems with a history of kernel bugs that nobody here needs
// (io_uring, userfaultfd, bpf, keyctl, perf_event_open); socket families that network namespaces do not isolate (vsock)
// or that nobody needs; typing into a terminal (TIOCSTI). clone3 answers ENOSYS, since its flags cannot be seen by a
// filter; glibc then uses clone. Programs of another architecture (i386, x32) are killed.
// In place every socket is refused, and so are changes to modes, owners, times and attributes of files, System V and
// POSIX queues and shared memory, other processes' limits and priorities, signals to others and leaving the process
// group.
absl::StatusOr<std::shared_ptr<UniqueFd>> MakeSeccompFilter(const SeccompOptions& options);

}  // namespace sassay::sandbox_internal

#endif  // SASSAY_COMMON_SANDBOX_SECCOMP_FILTER_H_
