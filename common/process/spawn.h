// fork and exec, done so that a multithreaded parent survives it. Used by subprocess.cc alone.
#ifndef SASSAY_COMMON_PROCESS_SPAWN_H_
#define SASSAY_COMMON_PROCESS_SPAWN_H_

#include <sys/types.h>

#include <string>

#include "absl/status/statusor.h"
#include "common/base/fd.h"
#include "common/process/subprocess.h"

namespace sassay::process_internal {

struct Spawned {
  pid_t pid = -1;
  UniqueFd pidfd;
};

// Starts `command`, whose program is `program`, and returns once it has been exec'ed. The child leads a process group,
// has every signal at its default, and dies with this process.
//
// Every child is forked by one thread that never ends, because PDEATHSIG fires when the *thread* that forked ends. The
// fork is vfork: nothing of the parent's memory is copied, however large it is, and no atfork handler (gRPC has them)
// runs.
absl::StatusOr<Spawned> Spawn(const Command& command, const std::string& program);

}  // namespace sassay::process_internal

#endif  // SASSAY_COMMON_PROCESS_SPAWN_H_
