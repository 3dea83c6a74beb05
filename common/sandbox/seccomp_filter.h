// The system calls that a sandboxed program may not make.
#ifndef SASSAY_COMMON_SANDBOX_SECCOMP_FILTER_H_
#define SASSAY_COMMON_SANDBOX_SECCOMP_FILTER_H_

#include <memory>

#include "absl/status/statusor.h"
#include "common/base/fd.h"

namespace sassay::sandbox_internal {

// A descriptor from which the compiled BPF program can be read once; bubblewrap's --seccomp takes it.
//
// A list of what is refused, not of what is allowed: compilers and the CUDA driver use most of the rest, and a list of
// allowed calls breaks with every new glibc. Refused (EPERM) is what reaches into other processes, mounts, loads code
// into the kernel, makes namespaces, or belongs to subsystems with a history of kernel bugs that nobody here needs
// (io_uring, userfaultfd, bpf, keyctl, perf_event_open); socket families that network namespaces do not isolate (vsock)
// or that nobody needs; typing into a terminal (TIOCSTI). clone3 answers ENOSYS, since its flags cannot be seen by a
// filter; glibc then uses clone. Programs of another architecture (i386, x32) are killed. `allow_personality` leaves
// personality out of the list.
absl::StatusOr<std::shared_ptr<UniqueFd>> MakeSeccompFilter(bool allow_personality);

}  // namespace sassay::sandbox_internal

#endif  // SASSAY_COMMON_SANDBOX_SECCOMP_FILTER_H_
