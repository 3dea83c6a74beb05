// A user namespace in which root can become somebody who is bound by limits.
#ifndef SASSAY_COMMON_SANDBOX_USER_NAMESPACE_H_
#define SASSAY_COMMON_SANDBOX_USER_NAMESPACE_H_

#include <sys/types.h>

#include <memory>

#include "absl/status/statusor.h"
#include "common/base/fd.h"

namespace sassay::sandbox_internal {

// uid and gid, on the host and inside, under which a sandboxed program runs if we are root ("nobody").
inline constexpr uid_t kSandboxId = 65534;

// A descriptor of a fresh user namespace, child of ours, with ids 0 and kSandboxId mapped to themselves. For root only:
// two ids cannot be mapped without CAP_SETUID. Mounts can then be made as (namespaced) root, and the program started as
// kSandboxId, whom RLIMIT_NPROC binds and who owns nothing. Each sandbox has its own, so that its processes are counted
// alone.
absl::StatusOr<std::shared_ptr<UniqueFd>> MakeUserNamespace();

}  // namespace sassay::sandbox_internal

#endif  // SASSAY_COMMON_SANDBOX_USER_NAMESPACE_H_
