#include "common/sandbox/user_namespace.h"

#include <fcntl.h>
#include <linux/sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"

namespace sassay::sandbox_internal {
namespace {

// A child in a new user namespace that does nothing until it is killed. Only system calls after the fork: the parent
// may be multithreaded.
pid_t ForkIntoNamespace() {
  long pid = syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, nullptr, nullptr, nullptr, nullptr);
  if (pid != 0) return static_cast<pid_t>(pid);
  syscall(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  for (;;) syscall(SYS_pause);
}

absl::Status WriteMap(const std::string& path) {
  std::string map = absl::StrCat("0 0 1\n", kSandboxId, " ", kSandboxId, " 1\n");
  UniqueFd file(open(path.c_str(), O_WRONLY | O_CLOEXEC));
  // The kernel takes a map in one write only.
  if (file.valid() && write(file.get(), map.data(), map.size()) == static_cast<ssize_t>(map.size())) {
    return absl::OkStatus();
  }
  return absl::ErrnoToStatus(errno, absl::StrCat("cannot map ids 0 and ", kSandboxId, " in a user namespace"));
}

absl::StatusOr<std::shared_ptr<UniqueFd>> SetUp(const std::string& process) {
  RETURN_IF_ERROR(WriteMap(process + "/uid_map"));
  RETURN_IF_ERROR(WriteMap(process + "/gid_map"));
  auto fd = std::make_shared<UniqueFd>(open((process + "/ns/user").c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd->valid()) return absl::ErrnoToStatus(errno, "cannot open a user namespace");
  return fd;
}

}  // namespace

absl::StatusOr<std::shared_ptr<UniqueFd>> MakeUserNamespace() {
  pid_t pid = ForkIntoNamespace();
  if (pid < 0) return absl::ErrnoToStatus(errno, "cannot make a user namespace");
  auto result = SetUp(absl::StrCat("/proc/", pid));
  kill(pid, SIGKILL);
  while (waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
  }
  return result;
}

}  // namespace sassay::sandbox_internal
