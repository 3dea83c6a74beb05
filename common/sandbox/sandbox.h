// The one way in which we run what we do not trust: compilers on hostile source, captured host code, runners with
// candidate device code, tools that parse hostile files. Built on bubblewrap (namespaces, read-only root), libseccomp
// and rlimits.
#ifndef SASSAY_COMMON_SANDBOX_SANDBOX_H_
#define SASSAY_COMMON_SANDBOX_SANDBOX_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/process/subprocess.h"

namespace sassay {

// What a sandboxed program may see and use. Default: nothing but the system's libraries and programs, read-only.
struct SandboxPolicy {
  // Host paths visible read-only at (path inside). Missing ones are an error.
  std::vector<std::pair<std::string, std::string>> read_only;
  // Host paths visible and writable at (path inside).
  std::vector<std::pair<std::string, std::string>> writable;
  // Device nodes (/dev/nvidia0 …).
  std::vector<std::string> devices;
  // Size of a private /tmp; 0 for none.
  uint64_t tmp_bytes = 64 << 20;
  // Limits; 0 means unlimited. Address space must stay unlimited where CUDA runs.
  uint64_t address_space_bytes = 0;
  uint64_t file_bytes = 256 << 20;
  uint64_t processes = 64;
  uint64_t open_files = 256;
  absl::Duration cpu_time = absl::InfiniteDuration();
  // Keep /proc (needed for $ORIGIN rpaths and by CUDA).
  bool mount_proc = true;
  // Bring up loopback inside the private network namespace (compute-sanitizer needs it).
  bool loopback = false;
  // Allow ptrace and personality (capture disables address randomisation).
  bool allow_personality = false;
};

// What this machine offers. `missing` says in words what is not there and how to get it; empty if complete.
struct SandboxSupport {
  bool bubblewrap = false;
  bool user_namespaces = false;
  bool seccomp = false;
  std::string missing;
  bool Complete() const { return missing.empty(); }
};

// Probes once per process by starting a sandbox.
const SandboxSupport& ProbeSandbox();

// Named token for going on without a sandbox; the only way to get an unsandboxed Command out of WrapInSandbox.
struct AllowUnsandboxed {
  std::string reason;  // shown in logs and verdict notes
};

// Turns `command` into one that runs inside the sandbox. FAILED_PRECONDITION with ProbeSandbox().missing where the
// machine cannot.
absl::StatusOr<Command> WrapInSandbox(const Command& command, const SandboxPolicy& policy);

// Applies only rlimits and no-new-privileges.
absl::StatusOr<Command> WrapWithoutSandbox(const Command& command, const SandboxPolicy& policy, AllowUnsandboxed token);

}  // namespace sassay

#endif  // SASSAY_COMMON_SANDBOX_SANDBOX_H_
